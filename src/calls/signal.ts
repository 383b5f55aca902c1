import type { Custom } from '../events/bodies.ts'
import type { StageResult } from '../events/enums.ts'

/**
 * Signals are the language of all connectors: facts about channels (legs), neutral between PBXs. `atUs` is the time of
 * the fact (the PBX's time stamp corrected by its clock offset, else the arrival time); `arrivedUs` is its arrival
 * here, the time base of settling.
 */
export type At = { readonly atUs: number; readonly arrivedUs: number }

/** The party at the far end of a channel. `virtual`: half of a Local or loopback channel, never seen outside. */
export type Endpoint = {
  readonly kind: 'extension' | 'external' | 'virtual'
  /** The extension, or the outside number; `null` if unknown (anonymous). */
  readonly number: string | null
  readonly name: string | null
}

/** A channel in the list that a PBX gives on request. */
export type SnapshotChannel = {
  readonly id: string
  /** The PBX's id of the channel's call, if it has one. */
  readonly linkedId: string | null
  readonly endpoint: Endpoint
  /** The dialled number, if the channel is a caller's. */
  readonly dialledNumber: string | null
  /** The PBX dialled this channel; `source` is the dialling channel, if the snapshot has it. */
  readonly callee: boolean
  readonly source: string | null
  /** Its dialler consults it, and has left another party waiting. */
  readonly consulted?: boolean
  /** The PBX rang this channel by itself (with `callee`: rings it so), for no caller. */
  readonly originated?: boolean
  /** With `callee`: it is rung for a page. */
  readonly paged?: boolean
  /** The number that the rung party sees, if the snapshot reports it. */
  readonly shown?: string | null
  /** Present in a virtual channel: its other half, and which half this is. */
  readonly pair?: { readonly id: string; readonly half: 1 | 2 }
  readonly up: boolean
  readonly ringing: boolean
  /** Its party has put the other one on hold; absent if the snapshot does not report it. */
  readonly onHold?: boolean
  readonly bridge: string | null
  /** The extension of the dialplan at which a caller is now, if the snapshot reports it. */
  readonly place?: string
  /** The channel whose place in the dialplan a caller took by a transfer, if the snapshot reports it. */
  readonly insteadOf?: string
  /** The extension that rings several phones for this channel, at once or in turn, if the snapshot reports it. */
  readonly group?: string
  /** Words of what a caller's extension dials or has dialled as a group, the extensions among them. */
  readonly dials?: readonly string[]
  /** It no longer rings the parties that an earlier `group` reported. */
  readonly rungAll?: boolean
  /** The number of the party that answered this caller last, if the snapshot reports it. */
  readonly answeredBy?: string
  /** The extension whose group this dialled channel answered, if the snapshot reports it. */
  readonly answeredGroup?: string
  /** The application in which a caller is, if the snapshot reports it. */
  readonly activity?: Activity
  /** When the channel was created; `null` if the snapshot does not report it. */
  readonly startedUs: number | null
  /** The channel's tenant value, if the PBX serves several customers. */
  readonly tenant?: string | null
}

/** A caller waits in a queue, leaves a message, or is in a conference. */
export type Activity =
  | { readonly kind: 'queue'; readonly queue: string; readonly name?: string | null }
  | { readonly kind: 'voicemail' }
  /** `conference`: its name, if the snapshot does not show it as a bridge. */
  | { readonly kind: 'conference'; readonly conference?: string }
  /** None of these. */
  | { readonly kind: 'other' }

/** The end of a channel. */
export type End = {
  /** The Q.850 cause, `null` if the PBX gave none. */
  readonly code: number | null
  /** The result of an unanswered dial that ends like this. */
  readonly result: StageResult
  /** The PBX stopped this channel itself when its dial was over: the reason is elsewhere. */
  readonly withdrawn: boolean
  /** A transfer that explains this end may still be reported. */
  readonly mayTransfer: boolean
  /** The number to which the call was forwarded. */
  readonly forwardedTo: string | null
  /** A snapshot lacked the channel: nobody saw its end. */
  readonly unseen?: true
}

export type ChannelSignal =
  /** A new channel. `originated`: the PBX creates it by itself, for no caller (click-to-call). */
  | {
      readonly kind: 'channel'
      readonly id: string
      readonly linkedId: string | null
      readonly endpoint: Endpoint
      readonly dialledNumber: string | null
      readonly originated: boolean
      /** The number that the rung party sees. */
      readonly shown: string | null
      /** The channel's tenant value, if the PBX serves several customers. */
      readonly tenant?: string | null
      /** A later event shows it: the event of its beginning was not seen, or could not be trusted. */
      readonly unseen?: true
    }
  /** A call begins that is not followed: its channels are not reported. `id`: the PBX's id of the call. */
  | { readonly kind: 'not_followed'; readonly id: string }
  /** A channel that seemed to be originated turned out to be a caller's. */
  | { readonly kind: 'called_in'; readonly id: string }
  /** The number that a channel dialled, or is rung to call, belongs to this extension. */
  | { readonly kind: 'calls_extension'; readonly id: string; readonly endpoint: Endpoint }
  /** The channel's tenant value has changed. */
  | { readonly kind: 'tenant'; readonly id: string; readonly value: string }
  /** The PBX now counts the channel as part of another call. */
  | { readonly kind: 'linked'; readonly id: string; readonly linkedId: string }
  /** The channel is in another extension of the dialplan. */
  | {
      readonly kind: 'extension_changed'
      readonly id: string
      readonly extension: string
      /** The dialplan chose it for a caller who dialled no number. */
      readonly chosen?: boolean
    }
  /** The PBX learned the number or name of a caller, where it had none; `null`: it did not learn this. */
  | {
      readonly kind: 'caller_learned'
      readonly id: string
      readonly number: string | null
      readonly name: string | null
    }
  /** The channel's extension rings several phones, at once or in turn: a group of its own. */
  | { readonly kind: 'group'; readonly id: string; readonly place: string }
  /** The channel no longer rings the parties that an earlier `group` reported. */
  | { readonly kind: 'rung_all'; readonly id: string }
  /** The extension from which the channel made the dials that were reported with `placeFollows`. */
  | { readonly kind: 'dialled_from'; readonly id: string; readonly place: string }
  /** Two halves of a Local or loopback channel: `one` is dialled, `two` runs the dialplan. */
  | { readonly kind: 'pair'; readonly one: string; readonly two: string }
  | {
      readonly kind: 'dial_begin'
      readonly source: string | null
      readonly dest: string
      readonly endpoint: Endpoint
      readonly shown: string | null
      /** The dialplan extension that dials, if the PBX reports it with the dial. */
      readonly place?: string | null
      /** The next event of the dialling channel shows that extension. */
      readonly placeFollows?: boolean
      /** The called extension forwards all its calls to this party. */
      readonly forwarded?: boolean
      /** Whether a queue rings it, if the PBX reports that with each dial. */
      readonly byQueue?: boolean
      /** A conference calls this party in: there is no caller, and this party is not one either. */
      readonly forConference?: boolean
      /** It is rung for a page; the pager meets it in a conference. */
      readonly paged?: boolean
      /** The phone has to answer by itself, for one caller: an intercom. */
      readonly intercom?: boolean
    }
  | { readonly kind: 'ringing'; readonly id: string }
  /** The channel is up. If it is a caller's, the PBX answered, not a person. */
  | { readonly kind: 'up'; readonly id: string }
  /** A dial is over; `answered` if this party, and no other, got the call. */
  | {
      readonly kind: 'dial_end'
      readonly source: string | null
      readonly dest: string
      readonly result: StageResult
      readonly forwardedTo: string | null
      /** It happened earlier, while there was no connection. */
      readonly unseen?: true
      /** Corrects or confirms the reported end of a dial. */
      readonly amends?: true
      /** The PBX corrects or confirms it a moment later. */
      readonly provisional?: boolean
    }
  /** A dial for which the PBX created no channel. */
  | { readonly kind: 'dial_failed'; readonly source: string; readonly endpoint: Endpoint; readonly result: StageResult }
  | {
      readonly kind: 'bridged'
      readonly id: string
      readonly bridge: string
      /** A conference: its members need not belong to one call. */
      readonly conference: boolean
      /** A place to wait (parking): not a conversation. */
      readonly holding: boolean
      /** The channel that this one replaces. */
      readonly insteadOf?: string | null
    }
  | { readonly kind: 'unbridged'; readonly id: string; readonly bridge: string }
  | { readonly kind: 'hold'; readonly id: string; readonly onHold: boolean }
  | {
      readonly kind: 'blind_transfer'
      readonly transferer: string | null
      readonly transferee: string | null
      readonly to: string
      /** The name of the extension with that number, if the PBX shows it. */
      readonly name?: string | null
      /** The transferer joins too, and stays in the call (three-way). */
      readonly stays?: boolean
    }
  | {
      readonly kind: 'attended_transfer'
      readonly transferers: readonly string[]
      readonly transferee: string | null
      readonly target: string | null
      /** A three-way call: the party that brought the others together stays in it. */
      readonly stays?: boolean
      /** The target was reached through a virtual channel, which ends with the transferer. */
      readonly through?: boolean
    }
  /**
   * The channel was parked: the slot, who parked it (`null`: itself), and the number whose dialling would have parked
   * it by a transfer.
   */
  | {
      readonly kind: 'parked'
      readonly id: string
      readonly slot: string
      readonly parker: Endpoint | null
      readonly to: string
    }
  /** The channel took over another call: a pick-up, a retrieved parking, an intercept. */
  | { readonly kind: 'joined'; readonly id: string; readonly into: string }
  /** The channel's party listens in on another call. */
  | { readonly kind: 'listens'; readonly id: string }
  /**
   * A party that takes over one call after the other (an agent who stays on the line) has left the last one and waits.
   */
  | { readonly kind: 'waits_again'; readonly id: string }
  /**
   * `entry` identifies this visit to the queue, if the PBX does: its end may be reported after the next one has begun.
   */
  | {
      readonly kind: 'queue_joined'
      readonly id: string
      readonly queue: string
      /** The queue's display name, if the PBX has one. */
      readonly name?: string | null
      readonly position: number | null
      readonly entry?: string | null
    }
  /**
   * `queue`: its name; `null` if the PBX does not report it, for the queue that was joined last. `final`: this is the
   * reason; otherwise a better one may follow.
   */
  | {
      readonly kind: 'queue_left'
      readonly id: string
      readonly queue: string | null
      readonly result: 'abandoned' | 'timeout' | 'other' | null
      readonly final?: boolean
      readonly entry?: string | null
    }
  | { readonly kind: 'member'; readonly dest: string; readonly name: string | null }
  /** Voicemail answered, or a conference was entered. */
  | { readonly kind: 'voicemail'; readonly id: string }
  | { readonly kind: 'conference'; readonly id: string; readonly conference: string }
  /**
   * `whileBridged`: it records only while the channel is in a bridge. `appends`: to the present content of the file.
   */
  | {
      readonly kind: 'recording_started'
      readonly id: string
      readonly path: string | null
      readonly whileBridged?: boolean
      readonly appends?: boolean
    }
  | {
      readonly kind: 'recording_stopped'
      readonly id: string
      readonly path: string | null
      readonly durationMs: number | null
      readonly kept: boolean
    }
  /** The path of a recording, reported separately from its start. */
  | { readonly kind: 'recording_path'; readonly id: string; readonly path: string }
  | { readonly kind: 'variable'; readonly id: string; readonly name: string; readonly value: string }
  /** The dialplan says something, in a channel or in none. */
  | { readonly kind: 'custom'; readonly id: string; readonly custom: Custom }
  | { readonly kind: 'custom_without_call'; readonly custom: Custom }
  /** The far end of this channel hung up by itself; the PBX hangs up the others. */
  | { readonly kind: 'hangup_requested'; readonly id: string }
  | { readonly kind: 'hangup'; readonly id: string; readonly end: End }

type ConnectionSignal =
  /** Logged in. `boot` identifies this run of the PBX; `first`: the first connection of this process. */
  | { readonly kind: 'connected'; readonly first: boolean; readonly boot: string | null }
  | { readonly kind: 'disconnected' }
  /** A snapshot: all channels that are up. `uncertain`: channels with an unreliable row; they may be up. */
  | { readonly kind: 'snapshot'; readonly channels: readonly SnapshotChannel[]; readonly uncertain?: readonly string[] }
  /** Time passes. */
  | { readonly kind: 'tick' }

export type Signal = At & (ChannelSignal | ConnectionSignal)

/** The facts of a snapshot beside its rows. */
export type AboutSnapshot<Frame> = {
  /**
   * Channels that were created during the request: they are left out, since the events that wait behind the snapshot
   * report all of them.
   */
  readonly created?: ReadonlySet<string> | undefined
  /** Channels without a reliable row. */
  readonly uncertain?: readonly string[] | undefined
  /**
   * The events that came before the answer to the connection's first request and are read after it, in order. The
   * snapshot is put back to the moment before them: the first event of a channel shows its state at that time.
   */
  readonly earlier?: readonly Frame[] | undefined
  /** The arrival of the first earlier event, in microseconds. */
  readonly earlierUs?: number | undefined
}

/**
 * Translates the frames of one connection into signals. Collects facts that the protocol spreads over several frames;
 * does no I/O.
 */
export type Translator<Frame> = {
  event(frame: Frame, arrivedUs: number): Signal[]
  /** Translates the rows of a complete snapshot into signals. */
  snapshot(rows: readonly Frame[], arrivedUs: number, about?: AboutSnapshot<Frame>): Signal[]
  /** Translates like `snapshot`, in small steps between which no other frame may be translated. */
  snapshotInSteps?(...snapshot: Parameters<Translator<Frame>['snapshot']>): Generator<void, Signal[]>
  /** Returns the signals of events that have waited long enough for others. */
  release?(nowUs: number): Signal[]
}
