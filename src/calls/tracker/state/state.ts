import type { CallResult, Direction, HangupBy, HangupCause, StageKind, StageResult } from '../../../lib/call-enums.ts'
import type { NewId } from '../../../lib/id.ts'
import type { ToE164 } from '../../e164.ts'
import type { CallRecord, Party as PartyBody } from '../../event.ts'
import type { End, Endpoint } from '../../signal.ts'
import type { Tenants } from './account-decision.ts'
import type { Timers } from './timers.ts'

/**
 * The tracker's state: plain data that survives JSON, so that a live call is stored with its channels and read back.
 * Ids stand in for references; times are microseconds, `null` when unseen.
 */

/** A party as it is known; the bodies have its number in E.164 form too. */
export type Party = Omit<PartyBody, 'e164' | 'contact'>

/** An attempt of the PBX to reach the channel that holds it. */
export type Dial = {
  source: string | null
  /** The transferer that began it, once it goes on for the transferee. */
  handedOverBy: string | null
  /** The dialplan extension that it is made from; `null` if the PBX does not report it with each dial. */
  place: string | null
  /** The next event of the dialling channel shows that extension. */
  placeFollows: boolean
  /** The extension that was called forwards to the party. */
  forwarded: boolean
  /** A queue rings the party, or not; `null` if the PBX does not report it with each dial. */
  byQueue: boolean | null
  /** A conference calls the party in. */
  forConference: boolean
  /** It is rung for a page. */
  paged: boolean
  beganUs: number | null
  beganArrivedUs: number
  rangUs: number | null
  answeredUs: number | null
  endedUs: number | null
  result: StageResult | null
  forwardedTo: string | null
  /** The stage that shows it; `null` while its origin is not known, and for virtual channels always. */
  stageId: string | null
  /** It transferred the call away: its party is out of it, though the channel may stay for a while. */
  leftUs: number | null
}

export type Channel = {
  id: string
  callId: string | null
  linkedId: string | null
  endpoint: Endpoint
  /** The value by which it shows its customer, where the PBX serves several. */
  tenant: string | null
  dialledNumber: string | null
  shown: string | null
  originated: boolean
  /** It is up on its own account: a caller whom the PBX answered, or a callee who answered. */
  upUs: number | null
  /** When it rang, if that was reported before its dial. */
  rangUs: number | null
  bridge: string | null
  /** The bridge is a conference or a place to wait. */
  inConference: boolean
  inHoldingBridge: boolean
  conference: string | null
  onHold: boolean
  /** When a snapshot came that showed the opposite of `onHold`; `null`: the last one did not. */
  holdDoubtUs: number | null
  /** It was in a bridge with another party of this call. */
  spoke: boolean
  /** The parties that it talked with, the last one last, and when it last stopped talking with one. */
  talked: readonly string[]
  talkedUs: number | null
  /** The extension that rings several phones for it, where the PBX shows that. */
  group: string | null
  /** The place where it is parked. */
  slot: string | null
  /** Half of a virtual channel that was made for a consultation, and is part of the call since a transfer. */
  adopted: boolean
  /** It is in a queue, and for which party is not known yet. */
  queuing: { queue: string; name?: string | null; position: number | null; entry: string | null; atUs: number } | null
  /** The other half of a virtual channel, and which half this is. */
  pair: string | null
  half: 1 | 2 | null
  dial: Dial | null
  goneUs: number | null
  goneArrivedUs: number | null
  end: End | null
  hungUpItself: boolean
  /** Not in the last list, and not heard of since; when that list came. */
  missingUs: number | null
}

export type Stage = {
  id: string
  parentId: string | null
  kind: StageKind
  target: string | null
  name: string | null
  attempt: number
  startedUs: number | null
  rangUs: number | null
  answeredUs: number | null
  /** Entry of its party into the present conversation: its answer, or the transfer that brought it there. */
  enteredUs: number | null
  endedUs: number | null
  result: StageResult | null
  forwardedTo: string | null
  /** Channels that reached or tried to reach the party: one for each of its devices. */
  legs: string[]
  /** The channel that it rings for, which a group or queue belongs to. */
  source: string | null
  /** Since when it is rung for that channel, where a transfer handed it over. */
  sinceUs: number | null
  /** Of a group that the PBX shows: the channel for which it rings its members, at once or in turn. */
  shownBy: string | null
  /** Of a group: the channel, perhaps a virtual half, whose place in the dialplan will name it; `null` once it does. */
  dialler: string | null
  rang: boolean
  answered: boolean
  ended: boolean
  /** Arrival time until which its end may wait for what explains it. */
  settlingSinceUs: number | null
  /** The time of its end, while that is settling. */
  overUs: number | null
  /** The events of it that were emitted. */
  emitted: { started: boolean; answered: boolean; ended: boolean }
  /** The agent's own phone in click-to-call: its answer is not the call's. */
  own: boolean
}

export type QueueState = {
  stageId: string
  /** The channel in the queue: the caller, or a virtual half for it. */
  channel: string
  name: string
  /** Where in the dialplan the channel was when it joined. */
  place?: string | null
  /** Names this way through the queue; `null` if the PBX does not. */
  entry: string | null
  position: number | null
  joinedUs: number
  leftUs: number | null
  leftArrivedUs: number | null
  result: 'abandoned' | 'timeout' | 'other' | null
  /** The caller left it by himself, and is elsewhere in the dialplan. */
  leftByKey: boolean
  /** The PBX gave the reason with the leaving. */
  final: boolean
  answeredUs: number | null
}

export type RecordingState = {
  id: string
  channel: string
  path: string | null
  /** `null` until it begins to record. */
  startedUs: number | null
  endedUs: number | null
  /** The length that the PBX reported. */
  durationMs: number | null
  kept: boolean
  /** It records only while its channel is in a bridge. */
  whileBridged: boolean
  /** The length of what it recorded before it paused, and since when it records again. */
  recordedUs: number
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
  /** The account that gets its events: a call never changes it. `null`: nobody gets them. */
  account: string | null
  /** The value that decided that, where the PBX serves several accounts. */
  tenant: string | null
  /** Arrival time until which its account may still show; `null`: it is decided. */
  accountDueUs: number | null
  pbxId: string
  linkedIds: string[]
  boot: string | null
  /** The channel the call began with; `null` while only virtual ones are known. */
  root: string | null
  channels: string[]
  parentId: string | null
  /** Of a consultation: the channel that asks, which is in the first call too. */
  consultedBy: string | null
  mergedFrom: readonly string[]
  /** It went on in another call other than by an attended transfer: which one, and what it had come to by then. */
  mergedInto: { id: string | null; result: CallResult | null } | null
  /** The PBX began it, by ringing one of its parties. */
  clickToCall: boolean
  /** It rang the outside party first (a dialler, a call-back): who its agent is shows later. */
  customerFirst: boolean
  /** The PBX rings a phone by itself for a page, whose call is not known yet. */
  paged: boolean
  /** A party was parked by the one it talked with: a transfer, unless the PBX reports that by itself. */
  parking: { by: string; transferee: string; to: string; atUs: number; dueUs: number } | null
  /** After an attended transfer: the parties that the PBX may ring back, or again, for the party that waits. */
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
  stages: Stage[]
  /** Stages that were forgotten because there were too many. */
  stagesOmitted: number
  queues: readonly QueueState[]
  recordings: readonly RecordingState[]
  transfers: readonly TransferState[]
  /** Parties that pressed hold or resume, until that is emitted. */
  holds: readonly { channel: string; onHold: boolean; atUs: number; arrivedUs: number }[]
  transferCount: number
  /** The transfers that were emitted or are about to be: a PBX reports the same one several times. */
  transferred: readonly { key: string; by: string | null; atUs: number }[]
  recorded: boolean
  voicemail: boolean
  pbxAnswered: boolean
  variables: Readonly<Record<string, string>>
  partial: boolean
  /** The end was not seen: why it is over. */
  lost: HangupCause | null
  /** The first party that hung up by itself. */
  hungUpBy: HangupBy | null
  sequence: number
  /** The time and id of its last event: later ones are never before it, whatever a clock does. */
  last: { readonly atUs: number; readonly id: string } | null
  emitted: boolean
  /** Arrival times at which the call's start, end and record are due. */
  startDueUs: number | null
  endDueUs: number | null
  saveDueUs: number | null
  saveLatestUs: number | null
  ended: boolean
}

/** A link between two calls that the PBX's ids show, and that an event may still explain. */
export type PendingLink = { channel: string; callId: string; atUs: number; dueUs: number; unseen: boolean }

export type TrackerState = {
  readonly pbx: string
  /** The owner of its calls; on a PBX with `tenants` of those that show no customer (`null`: nobody). */
  readonly account: string | null
  readonly tenants: Tenants | null
  readonly calls: Map<string, Call>
  readonly channels: Map<string, Channel>
  readonly byLinkedId: Map<string, string>
  /** Channels in each bridge. */
  readonly bridges: Map<string, string[]>
  /** Conferences by name, and the channels in them. */
  readonly conferences: Map<string, Set<string>>
  /** Numbers that turned out to be extensions. */
  readonly extensions: Set<string>
  /** Ends of channels that were not known (yet), and when they came. */
  readonly earlyEnds: Map<string, { atUs: number; arrivedUs: number; end: End }>
  readonly pendingLinks: PendingLink[]
  /** Channels that hold, and the calls in which a channel of another call asks a party (`consultedBy`). */
  readonly onHold: Set<string>
  readonly parked: Set<string>
  readonly consultations: Map<string, Set<string>>
  /** Calls that changed since their events were last emitted. */
  readonly dirty: Set<string>
  /** The arrival time at which each call is due again. */
  readonly timers: Timers
  /** Calls whose stored state is no longer true, and those that are gone for good. */
  readonly changed: Set<string>
  readonly removed: Set<string>
  /** Calls that ended inside another by an attended transfer, and stages of theirs whose end is still to be emitted. */
  readonly parting: { call: Call; stages: Stage[] }[]
  /** The values of calls that began and are nobody's. */
  readonly withoutAccount: (string | null)[]
  /** Records of calls that ended inside another. */
  readonly merged: { account: string; record: CallRecord }[]
  /** Signals until it is looked again whether too many calls are up. */
  signalsUntilLimit: number
  /** How many calls were ended because there were too many. */
  endedEarly: number
  boot: string | null
  /** Times of the last signal of a channel, and of the last one before this connection. */
  heardUs: number | null
  lostUs: number | null
  /** The first list of this connection closes what it lacks at once: first connect of the process, or a new boot. */
  closeAtOnce: boolean
  /** Arrival time of the last signal, and when it happened. */
  nowUs: number
  atUs: number
  newId: NewId
  /** Returns the E.164 form of an outside number, `null` if there is none. */
  readonly toE164: ToE164
}

export const ANONYMOUS: Party = { number: null, name: null, extension: null }

/** Returns the party at an endpoint. */
export function partyOf({ kind, number, name }: Endpoint): Party {
  return { number, name, extension: kind === 'extension' ? number : null }
}

/** Returns a party of which only the number is known. */
export function partyOfNumber(number: string, extension = false): Party {
  return { number, name: null, extension: extension ? number : null }
}

/** Returns whether two parties have the same number and extension; names may differ. */
export const sameParty = (a: Party | undefined, b: Party): boolean =>
  a !== undefined && a.number === b.number && a.extension === b.extension

/** Returns whether a channel is half of a Local or loopback channel. */
export const isVirtual = (channel: Channel): boolean => channel.endpoint.kind === 'virtual'
/** Returns whether a stage is that of a party, not of a group or queue. */
export const isPartyStage = ({ kind }: Stage): boolean => kind === 'user' || kind === 'external'
/** Returns whether a channel has not ended. */
export const isUp = (channel: Channel): boolean => channel.goneUs === null

/** The least time between two lists of which neither has a channel that counts as gone. */
export const SECOND_LIST_US = 1_900_000
