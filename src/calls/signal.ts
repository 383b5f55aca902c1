import type { StageResult } from '../lib/call-enums.ts'

/**
 * Signals are the language of every connector: facts about channels (legs), in the words of neither PBX. `atUs` is when
 * it happened (the PBX's stamp corrected by its clock's offset, else the arrival), `arrivedUs` when it reached us:
 * settling runs on the latter.
 */
export type At = { readonly atUs: number; readonly arrivedUs: number }

/** The party at the far end of a channel. `virtual`: half of a Local or loopback channel, never seen outside. */
export type Endpoint = {
  readonly kind: 'extension' | 'external' | 'virtual'
  /** The extension, or the outside number; `null` when it is not known (anonymous). */
  readonly number: string | null
  readonly name: string | null
}

/** A channel as a PBX lists it when it is asked what is up. */
export type SnapshotChannel = {
  readonly id: string
  /** The PBX's id of the call it belongs to, if it has such. */
  readonly linkedId: string | null
  readonly endpoint: Endpoint
  /** The number that was dialled, if the channel is a caller's. */
  readonly dialledNumber: string | null
  /** It was dialled by the PBX; `source` is the channel that dialled it, where the snapshot has it. */
  readonly callee: boolean
  readonly source: string | null
  /** The PBX rang it for no other channel, and it has dialled another one itself. */
  readonly originated?: boolean
  /** Of a virtual channel: its other half, and which half this is. */
  readonly pair?: { readonly id: string; readonly half: 1 | 2 }
  readonly up: boolean
  readonly ringing: boolean
  /** Its party has put the other one on hold; absent where the snapshot does not have it. */
  readonly onHold?: boolean
  readonly bridge: string | null
  /** Creation of the channel; `null` if the snapshot does not have it. */
  readonly startedUs: number | null
  /** The value by which it shows its customer, where the PBX serves several. */
  readonly tenant?: string | null
}

/** The end of a channel. */
export type End = {
  /** Q.850, `null` if the PBX gave none. */
  readonly code: number | null
  /** The result that the end means for a dial that nobody answered. */
  readonly result: StageResult
  /** The PBX stopped this channel itself, when its dial was over: the reason is to be found elsewhere. */
  readonly withdrawn: boolean
  /** A transfer that explains this end may still be reported. */
  readonly mayTransfer: boolean
  /** Number it was forwarded to. */
  readonly forwardedTo: string | null
}

export type ChannelSignal =
  /** First sight of a channel. `originated`: the PBX makes it itself, for nobody's call (click-to-call). */
  | {
      readonly kind: 'channel'
      readonly id: string
      readonly linkedId: string | null
      readonly endpoint: Endpoint
      readonly dialledNumber: string | null
      readonly originated: boolean
      /** The number shown to the party that is rung. */
      readonly shown: string | null
      /** The value by which it shows its customer, where the PBX serves several. */
      readonly tenant?: string | null
    }
  /** A channel that seemed to be originated called in by itself. */
  | { readonly kind: 'called_in'; readonly id: string }
  /** That value of a channel is another now. */
  | { readonly kind: 'tenant'; readonly id: string; readonly value: string }
  /** The PBX now counts the channel to another call. */
  | { readonly kind: 'linked'; readonly id: string; readonly linkedId: string }
  /** The channel is in another extension of the dialplan. */
  | { readonly kind: 'extension_changed'; readonly id: string; readonly extension: string }
  /** The extension at which the channel is rings several phones, at once or in turn: a group of its own. */
  | { readonly kind: 'group'; readonly id: string; readonly place: string }
  /** The extension at which the channel was when it made the dials whose `place` was to follow. */
  | { readonly kind: 'dialled_from'; readonly id: string; readonly place: string }
  /** Two halves of a Local or loopback channel: `one` is dialled, `two` runs the dialplan. */
  | { readonly kind: 'pair'; readonly one: string; readonly two: string }
  | {
      readonly kind: 'dial_begin'
      readonly source: string | null
      readonly dest: string
      readonly endpoint: Endpoint
      readonly shown: string | null
      /** The dialplan extension that dials, where the PBX reports it with the dial. */
      readonly place?: string | null
      /** The PBX shows that extension with the next event of the dialling channel. */
      readonly placeFollows?: boolean
      /** The extension that was called forwards all its calls to this party. */
      readonly forwarded?: boolean
      /** A queue rings it, or not, where the PBX reports it with each dial. */
      readonly byQueue?: boolean
      /** A conference calls it in: nobody called, and who is called is no caller either. */
      readonly forConference?: boolean
      /** It is rung for a page: who pages meets it in a conference. */
      readonly paged?: boolean
    }
  | { readonly kind: 'ringing'; readonly id: string }
  /** The channel is up. For a caller's channel that is the PBX's answer, not a person's. */
  | { readonly kind: 'up'; readonly id: string }
  /** A dial is over; `answered` when this party, and no other, got the call. */
  | {
      readonly kind: 'dial_end'
      readonly source: string | null
      readonly dest: string
      readonly result: StageResult
      readonly forwardedTo: string | null
      /** It happened before, while nobody listened. */
      readonly unseen?: true
      /** Corrects the end of a dial that was reported before. */
      readonly amends?: true
    }
  /** A dial for which the PBX made no channel. */
  | { readonly kind: 'dial_failed'; readonly source: string; readonly endpoint: Endpoint; readonly result: StageResult }
  | {
      readonly kind: 'bridged'
      readonly id: string
      readonly bridge: string
      /** A conference: who is in it does not belong to one call. */
      readonly conference: boolean
      /** A place to wait (parking): not a conversation. */
      readonly holding: boolean
      /** The channel whose place it takes. */
      readonly insteadOf?: string | null
    }
  | { readonly kind: 'unbridged'; readonly id: string; readonly bridge: string }
  | { readonly kind: 'hold'; readonly id: string; readonly onHold: boolean }
  | {
      readonly kind: 'blind_transfer'
      readonly transferer: string | null
      readonly transferee: string | null
      readonly to: string
      /** The transferer goes there too, and stays in the call (three-way). */
      readonly stays?: boolean
    }
  | {
      readonly kind: 'attended_transfer'
      readonly transferers: readonly string[]
      readonly transferee: string | null
      readonly target: string | null
      /** A three-way call: who brought the others together stays in it. */
      readonly stays?: boolean
      /** The target was reached through a virtual channel, which goes with the transferer. */
      readonly through?: boolean
    }
  /**
   * The channel was parked: in which place, by whom (`null`: by itself), and what would have been dialled to transfer
   * it there.
   */
  | {
      readonly kind: 'parked'
      readonly id: string
      readonly slot: string
      readonly parker: Endpoint | null
      readonly to: string
    }
  /**
   * The channel took over a call that was not its own: pick-up, parking retrieved, intercept. `through`: what it took
   * is not the caller's channel but a virtual half behind which a member of a group was rung.
   */
  | { readonly kind: 'joined'; readonly id: string; readonly into: string; readonly through?: boolean }
  /** A party that took over calls, as an agent who stays on the line does, has left the last one and waits again. */
  | { readonly kind: 'waits_again'; readonly id: string }
  /** `entry` names this way through the queue, where the PBX does: its end may be reported after the next one began. */
  | {
      readonly kind: 'queue_joined'
      readonly id: string
      readonly queue: string
      /** Its display name, where the PBX has one. */
      readonly name?: string | null
      readonly position: number | null
      readonly entry?: string | null
    }
  /**
   * `queue`: its name, `null` where the PBX does not report it: the one that was joined last. `final`: the PBX gives
   * the reason with it; else a better one may follow.
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
  /** `whileBridged`: it records only while the channel is in a bridge. `appends`: to what the file has already. */
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
  /** The path of a recording, reported apart from its start. */
  | { readonly kind: 'recording_path'; readonly id: string; readonly path: string }
  | { readonly kind: 'variable'; readonly id: string; readonly name: string; readonly value: string }
  /** The far end of this channel hung up by itself: the others are hung up by the PBX. */
  | { readonly kind: 'hangup_requested'; readonly id: string }
  | { readonly kind: 'hangup'; readonly id: string; readonly end: End }

export type ConnectionSignal =
  /** Logged in. `boot` names this run of the PBX; `first`: the first connection of this process. */
  | { readonly kind: 'connected'; readonly first: boolean; readonly boot: string | null }
  | { readonly kind: 'disconnected' }
  /** A snapshot: all that is up. `uncertain`: channels whose row cannot be trusted; they may be up. */
  | { readonly kind: 'snapshot'; readonly channels: readonly SnapshotChannel[]; readonly uncertain?: readonly string[] }
  /** Time passes. */
  | { readonly kind: 'tick' }

export type Signal = At & (ChannelSignal | ConnectionSignal)

/**
 * Turns the frames of one connection into signals. It keeps what the protocol scatters over several frames, and does no
 * I/O.
 */
export type Translator<Frame> = {
  event(frame: Frame, arrivedUs: number): Signal[]
  /**
   * Turns the rows of a complete snapshot into signals. Channels that were `created` while it was requested are left
   * out: the events that wait behind the snapshot report all of them. Of those that are `uncertain` there is no row
   * that can be trusted.
   */
  snapshot(
    rows: readonly Frame[],
    arrivedUs: number,
    created?: ReadonlySet<string>,
    uncertain?: readonly string[],
  ): Signal[]
  /** Returns the signals of events that waited for others, once they have waited long enough. */
  release?(nowUs: number): Signal[]
}
