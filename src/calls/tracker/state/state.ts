import type { CallRecord, Custom, Party as PartyBody } from '../../../events/bodies.ts'
import type { CallResult, Direction, HangupBy, HangupCause, StageKind, StageResult } from '../../../events/enums.ts'
import type { NewId } from '../../../lib/id.ts'
import type { Timers } from '../../../lib/timers.ts'
import type { ToE164 } from '../../e164.ts'
import type { End, Endpoint } from '../../signal.ts'
import type { Stamp } from '../picture/groups.ts'
import type { Tenants } from './account-decision.ts'

/**
 * The tracker's state: plain data that survives JSON, so that a live call is stored with its channels and read back.
 * Ids stand in for references; times are microseconds, `null` when unseen. A time is one of the PBX's, by the wall
 * clock, unless its name or comment says that it is an arrival: that is by the steady clock, so the two are never
 * compared.
 */

/** A party as it is known; bodies have its number in E.164 form too. */
export type Party = Omit<PartyBody, 'e164' | 'contact'>

/** An attempt of the PBX to reach the channel that has this dial. */
export type Dial = {
  source: string | null
  /** The transferer that began the dial, if it goes on for the transferee. */
  handedOverBy: string | null
  /** The dialplan extension that dials; `null` if the PBX does not report it with each dial. */
  place: string | null
  /** The next event of the dialling channel shows that extension. */
  placeFollows: boolean
  /** The called extension forwards to this party. */
  forwarded: boolean
  /** The PBX reports that no queue rings the party; not every PBX reports it with each dial. */
  notByQueue: boolean
  /** A conference calls the party in. */
  forConference: boolean
  /** It is rung for a page. */
  paged: boolean
  /** Its phone answers by itself: an intercom. */
  intercom: boolean
  beganUs: number | null
  /** The time of the list that first showed a dial whose begin was not seen: the begin was then, or before. */
  foundUs: number | null
  /** The order of what happened at the same microsecond: of the begin, the answer and the end. */
  beganSeq: number
  answeredSeq: number
  endedSeq: number
  beganArrivedUs: number
  rangUs: number | null
  answeredUs: number | null
  /** A list shows the ringing, or the answer: it was at `rangUs` or `answeredUs`, or before. */
  foundRinging: boolean
  foundAnswered: boolean
  endedUs: number | null
  result: StageResult | null
  /** The PBX is about to confirm or correct this result. */
  provisional: boolean
  forwardedTo: string | null
  /** The stage that shows it; `null` while its origin is unknown, and always for virtual channels. */
  stageId: string | null
}

/** The PBX shows that an extension rings a group. */
export type Ringing = {
  place: string
  from: Stamp
  until: Stamp | null
  isNewAttempt: boolean
}

export type Channel = {
  id: string
  callId: string | null
  linkedId: string | null
  endpoint: Endpoint
  /** The tenant value of the channel, if the PBX serves several customers. */
  tenant: string | null
  /** The signal that reported its beginning; 0 if a list showed it first. */
  seenSeq: number
  dialledNumber: string | null
  /** Where it was in the dialplan before, and since when; empty if it never moved. */
  moves: readonly ({ to: string | null } & Stamp)[]
  shown: string | null
  /** The extension that it calls, or is rung to call, if the PBX knows the number as one. */
  calls: Endpoint | null
  originated: boolean
  /** When the channel itself was up: a caller that the PBX answered, or a callee that answered. */
  upUs: number | null
  /** When it rang, if that was reported before its dial. */
  rangUs: number | null
  bridge: string | null
  /** Its bridge is a conference or a place to wait. */
  inConference: boolean
  inHoldingBridge: boolean
  conference: string | null
  onHold: boolean
  /** When a snapshot contradicted `onHold`; `null` if the last one did not. */
  holdDoubtUs: number | null
  /** It was in a bridge with another party of this call. */
  spoke: boolean
  /** The parties that it talked with, the latest last, and when its last conversation with one of them ended. */
  talked: readonly string[]
  talkedUs: number | null
  /** How its extension rings several phones, as often as the PBX showed it. */
  ringing: readonly Ringing[]
  /** The slot in which it is parked. */
  slot: string | null
  /** Half of a virtual channel that was created for a consultation and joined the call by a transfer. */
  adopted: boolean
  /** It is in a queue, for a party that is not known yet. */
  queuing: { queue: string; name?: string | null; position: number | null; entry: string | null; atUs: number } | null
  /** The other half of a virtual channel, and which half this is. */
  pair: string | null
  half: 1 | 2 | null
  dial: Dial | null
  goneUs: number | null
  goneSeq: number
  goneArrivedUs: number | null
  end: End | null
  hungUpItself: boolean
  /** When its party left the call by a transfer; the channel may stay up for a while. */
  leftUs: number | null
  /** When a snapshot first lacked it, with no signal of it since; and the arrival of that snapshot. */
  missingUs: number | null
  missingArrivedUs: number | null
}

export type Stage = {
  id: string
  parentId: string | null
  /** Its place (`parentId`) does not follow from its dials: a party that took the call over, or that goes on alone. */
  placed: boolean
  /** Identifies a group that follows from the dials of its members. */
  key: string | null
  kind: StageKind
  target: string | null
  name: string | null
  attempt: number
  /** When it was dialled first, if its queue or group rings it again; the other times are of the last ringing. */
  firstUs: number | null
  /** It is dialled again: that waits for the event of its end. */
  again: boolean
  startedUs: number | null
  rangUs: number | null
  answeredUs: number | null
  /** When its party joined the present conversation: its answer, or a transfer. */
  enteredUs: number | null
  endedUs: number | null
  result: StageResult | null
  forwardedTo: string | null
  /** Channels that tried to reach the party: one for each of its devices. */
  legs: string[]
  /** The channel for which it rings; a group's or queue's channel. */
  source: string | null
  /** Since when it rings for that channel, if a transfer handed it over. */
  sinceUs: number | null
  /** The channel for which a group's members ring, at once or in turn, if the PBX shows the group. */
  shownBy: string | null
  /** The PBX rings it anew, as another attempt: this one is over. */
  rungOut: boolean
  /**
   * The channel, maybe a virtual half, whose dialplan extension will name the group; `null` once it has a name. Of a
   * party for which the PBX created no channel, the dialler.
   */
  dialler: string | null
  /** The order in which the PBX reported that it created no channel; absent if it did, or if it is not known. */
  failedSeq?: number
  rang: boolean
  answered: boolean
  ended: boolean
  /** Arrival time since which its end waits for an explanation. */
  settlingSinceUs: number | null
  /** The time of its end, while that is settling. */
  overUs: number | null
  /** Which of its events were emitted. */
  emitted: { started: boolean; answered: boolean; ended: boolean }
  /** The agent's own phone in click-to-call: its answer does not answer the call. */
  own: boolean
}

export type QueueState = {
  stageId: string
  /** The channel in the queue: the caller, or a virtual half for it. */
  channel: string
  name: string
  /** The channel's dialplan extension when it joined. */
  place?: string | null
  /** Identifies this visit to the queue; `null` if the PBX does not. */
  entry: string | null
  position: number | null
  joinedUs: number
  leftUs: number | null
  leftArrivedUs: number | null
  result: 'abandoned' | 'timeout' | 'other' | null
  /** A snapshot showed that the caller had left; the reason was not seen. */
  leftUnseen?: boolean
  /** The caller left by pressing a key, and is elsewhere in the dialplan. */
  leftByKey: boolean
  /** The PBX reported the reason when the caller left. */
  final: boolean
  answeredUs: number | null
}

export type RecordingState = {
  id: string
  channel: string
  path: string | null
  /** `null` until it begins to record, and if that was not seen. */
  startedUs: number | null
  endedUs: number | null
  /** The length that the PBX reported. */
  durationMs: number | null
  kept: boolean
  /** It records only while its channel is in a bridge. */
  whileBridged: boolean
  /** The recorded length before the last pause, `null` if a part was not seen; and when it resumed. */
  recordedUs: number | null
  sinceUs: number | null
}

export type TransferState = {
  kind: 'blind' | 'attended'
  by: Party
  transferee: Party | null
  to: Party
  otherCallId: string | null
  atUs: number
}

/** Its `readonly` lists and variables are replaced, never changed in place: most calls share the empty ones. */
export type Call = {
  id: string
  /** The version of these types with which it was stored. */
  model: 2
  /** The account that gets its events; never changes. `null`: no account. */
  account: string | null
  /** The tenant value that decided the account, if the PBX serves several. */
  tenant: string | null
  /** Arrival time until which the account may still show; `null`: it is decided. */
  accountDueUs: number | null
  pbxId: string
  linkedIds: string[]
  boot: string | null
  /** The channel with which the call began; `null` while only virtual ones are known. */
  root: string | null
  channels: string[]
  parentId: string | null
  /** The channel that began a consultation, which also belongs to the first call. */
  consultedBy: string | null
  mergedFrom: readonly string[]
  /** It went on in another call, other than by an attended transfer: that call, and the result so far. */
  mergedInto: { id: string | null; result: CallResult | null } | null
  /** The PBX began it by ringing one of its parties. */
  clickToCall: boolean
  /** The PBX rang the outside party first (a dialler, a call-back): its agent shows later. */
  customerFirst: boolean
  /** The PBX rings a phone by itself for a page whose call is not known yet. */
  paged: boolean
  /** A party was parked by its partner in the conversation: a transfer, unless the PBX reports one itself. */
  parking: { by: string; transferee: string; to: string; atUs: number; dueUs: number } | null
  /** After an attended transfer: the parties that the PBX may ring back, or again, for the waiting party. */
  recall: { by: string | null; to: string | null; transferee: string } | null
  direction: Direction | null
  /** The direction is certain: a party was dialled, or the call came from a trunk. */
  directionKnown: boolean
  from: Party
  to: Party
  did: string | null
  startedUs: number | null
  answeredUs: number | null
  endedUs: number | null
  answeredBy: Party | null
  /** The parties that handled it, as its last event shows them. */
  handled: readonly Party[]
  /** A snapshot showed it in a conference with others: since when was not seen. */
  metUnseen: boolean
  stages: Stage[]
  /** The number of stages that were dropped because there were too many. */
  stagesOmitted: number
  queues: readonly QueueState[]
  recordings: readonly RecordingState[]
  transfers: readonly TransferState[]
  /** The custom events of the dialplan that are not emitted yet. */
  customs: readonly { custom: Custom; atUs: number }[]
  /** Holds and resumes that are not emitted yet. */
  holds: readonly { channel: string; onHold: boolean; atUs: number; arrivedUs: number }[]
  transferCount: number
  /** The transfers that were emitted or are about to be, since a PBX reports each one several times. */
  transferred: readonly { key: string; by: string | null; atUs: number }[]
  recorded: boolean
  voicemail: boolean
  pbxAnswered: boolean
  variables: Readonly<Record<string, string>>
  /** A part of it was not reported, other than its end (`lost`). */
  unseen: boolean
  /** Why the call is over, if its end was missed. */
  lost: HangupCause | null
  /** The first party that hung up by itself. */
  hungUpBy: HangupBy | null
  sequence: number
  /** Time and id of its last event: later events are never before it, whatever the clocks do. */
  last: { readonly atUs: number; readonly id: string } | null
  emitted: boolean
  /** Arrival times at which the call's start, end and record are due. */
  startDueUs: number | null
  endDueUs: number | null
  saveDueUs: number | null
  saveLatestUs: number | null
  ended: boolean
}

/** A link between two calls by the PBX's ids, which an event may still explain. */
export type PendingLink = { channel: string; callId: string; atUs: number; dueUs: number; unseen: boolean }

export type TrackerState = {
  readonly pbx: string
  /** The account of its calls; with `tenants`, the account of calls that show no customer (`null`: none). */
  readonly account: string | null
  readonly tenants: Tenants | null
  readonly calls: Map<string, Call>
  readonly channels: Map<string, Channel>
  readonly byLinkedId: Map<string, string>
  /** The channels in each bridge. */
  readonly bridges: Map<string, string[]>
  /** The channels in each conference, by its name. */
  readonly conferences: Map<string, Set<string>>
  /** Numbers that turned out to be extensions. */
  readonly extensions: Set<string>
  /** Ends of channels that were unknown (so far), with their arrival times. */
  readonly earlyEnds: Map<string, { atUs: number; arrivedUs: number; end: End }>
  readonly pendingLinks: PendingLink[]
  /** Channels on hold, and the calls in which a channel of another call asks a party (`consultedBy`). */
  readonly onHold: Set<string>
  readonly parked: Set<string>
  readonly consultations: Map<string, Set<string>>
  /** Calls with new facts that may change the groups and queues of their stages. */
  readonly unplaced: Set<string>
  /** Calls that changed since their events were last emitted. */
  readonly dirty: Set<string>
  /** Arrival time of the last signal, or row of a list, of each call. */
  readonly heardOf: Map<string, number>
  /** The arrival time at which each call is due again. */
  readonly timers: Timers
  /** Calls whose stored state is out of date, and calls that are gone for good. */
  readonly changed: Set<string>
  readonly removed: Set<string>
  /** Calls that ended inside another by an attended transfer, and their stages whose end is still to be emitted. */
  readonly parting: { call: Call; stages: Stage[] }[]
  /** Tenant values of new calls without an account. */
  readonly withoutAccount: (string | null)[]
  /** Records of calls that ended inside another. */
  readonly merged: { account: string; record: CallRecord }[]
  /** Signals until the next check for too many live channels. */
  signalsUntilLimit: number
  /** The number of calls that were ended because too many channels were live. */
  endedEarly: number
  /** The most calls that are followed at a time. */
  readonly maxCalls: number
  /** The PBX's ids of calls that began beyond `maxCalls`, since there was last room. */
  readonly unfollowed: Set<string>
  /** The number of calls that were not followed. */
  notFollowed: number
  boot: string | null
  /** When the last signal of a channel happened, and the last one before this connection. */
  heardUs: number | null
  lostUs: number | null
  /** The arrival time at which the present connection was made. */
  connectedArrivedUs: number | null
  /** The signal with which this connection began: what began after it is reported by events from then on. */
  connectedSeq: number
  /**
   * The first snapshot of this connection ends all that it lacks at once: the process's first connection, or a new
   * boot.
   */
  closeAtOnce: boolean
  /** The number of signals so far. */
  seq: number
  /** Arrival time of the last signal, and when it happened. */
  nowUs: number
  /** The earliest end of a wait of the call that is being processed. */
  wakeUs: number
  atUs: number
  newId: NewId
  /** Returns the E.164 form of an outside number, `null` if the number has no such form. */
  readonly toE164: ToE164
}

export const ANONYMOUS: Party = { number: null, name: null, extension: null }

/** Returns the party at an endpoint. */
export function partyOf({ kind, number, name }: Endpoint): Party {
  return { number, name, extension: kind === 'extension' ? number : null }
}

/** Returns a party with its number as the only fact. */
export function partyOfNumber(number: string, extension = false): Party {
  return { number, name: null, extension: extension ? number : null }
}

/** Returns whether two parties have the same number and extension; names may differ. */
export const sameParty = (a: Party | undefined, b: Party): boolean =>
  a !== undefined && a.number === b.number && a.extension === b.extension

/** Returns whether a channel is half of a Local or loopback channel. */
export const isVirtual = (channel: Channel): boolean => channel.endpoint.kind === 'virtual'
/** Returns whether a stage is for a party, not a group or queue. */
export const isPartyStage = ({ kind }: Stage): boolean => kind === 'user' || kind === 'external'
/** Returns whether a channel has not ended. */
export const isUp = (channel: Channel): boolean => channel.goneUs === null

/** The least time between two snapshots that lack a channel before it counts as gone. */
export const SECOND_LIST_US = 1_900_000
