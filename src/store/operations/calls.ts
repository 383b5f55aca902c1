import type { Direction } from '../../events/enums.ts'
import type { EventFacts } from '../../events/filter.ts'
import type { EventKind } from '../../events/kinds.ts'
import type { Fence } from './cluster.ts'
import { DELIVERIES_PER_EVENT } from './queue.ts'
import type { RecordingRecord } from './recordings.ts'

// Calls as they happen, stored with the deliveries of their events in one commit, and the records of saved ones.

/** An event to store. `body` is the request's body as it will be sent. */
export type NewEvent = {
  readonly uuid: string
  readonly callId: string
  readonly name: EventKind
  readonly sequence: number
  readonly atUs: number
  readonly body: string
  /** The fields that filters compare. Without them only webhooks without a filter get the event. */
  readonly facts?: EventFacts
}

/** A call whose record is complete. `record` is JSON: `{ call, stages, recordings }`. */
export type SavedCall = {
  readonly id: string
  readonly savedUs: number
  readonly direction: Direction
  readonly fromNumber: string | null
  readonly toNumber: string | null
  /** The numbers in E.164 as the record has them. */
  readonly fromE164?: string | null
  readonly toE164?: string | null
  /** The facts by which lists are filtered. The record has them, too. */
  readonly facts?: CallFacts
  readonly record: string
}

/** The facts of a saved call by which lists of calls are filtered and counted. */
export type CallFacts = {
  /** `null`: the call is older than this fact. */
  readonly pbx: string | null
  readonly result: string | null
  readonly missed: boolean
  /**
   * Those who took part: on the first line their extensions, on the second the numbers that the call was from and to,
   * each between two spaces; then all names and further numbers, a line for each.
   */
  readonly who: string
}

/** The part of a batch for one account: emitted events, and calls whose record is complete. */
export type AccountBatch = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  readonly saved: readonly SavedCall[]
}

/** A live call as it is stored: `state` is the JSON of a StoredCall. */
export type LiveCallRow = { readonly id: string; readonly state: string }

/** A phone, trunk, agent or queue as it is stored: `state` is JSON, `null` to remove it. */
export type SubjectRow = { readonly id: string; readonly state: string | null }

/** The changes at one PBX since the last commit. */
export type CallBatch = {
  readonly pbx: string
  readonly parts: readonly AccountBatch[]
  /** Live calls as they are now, and the ids of calls that have ended. */
  readonly live: readonly LiveCallRow[]
  readonly removed: readonly string[]
  /** Recordings as they are now. Stored recordings change only while they are pending. */
  readonly recordings?: readonly RecordingRecord[]
  /** Phones, trunks, agents and queues as they are now. */
  readonly subjects?: readonly SubjectRow[]
  readonly nowSteadyUs: number
}

/**
 * The id of a stored event, and its webhooks in the order of its deliveries. `null`: it was not stored, since no
 * webhook of its account asks for its kind.
 */
export type PlacedEvent = { readonly id: number | null; readonly webhookIds: readonly number[] }

export const NOT_STORED: PlacedEvent = { id: null, webhookIds: [] }

/** A stored event with its deliveries, complete for sending. */
export type StoredEvent = NewEvent & {
  readonly id: number
  readonly accountId: number
  /** When the schedule of its deliveries began. */
  readonly sinceSteadyUs: number
  readonly deliveries: readonly { readonly id: number; readonly webhookId: number }[]
}

/** Puts together a batch and the places of its events. */
export function storedEventsOf({ parts, nowSteadyUs }: CallBatch, placed: readonly PlacedEvent[]): StoredEvent[] {
  const events = parts.flatMap(({ accountId, events }) => events.map((event) => ({ ...event, accountId })))
  return events.flatMap((event, index) => {
    const place = placed[index]
    if (place === undefined || place.id === null) return []
    const { id, webhookIds } = place
    const deliveries = webhookIds.map((webhookId, at) => ({ id: id * DELIVERIES_PER_EVENT + at, webhookId }))
    return [{ ...event, id, sinceSteadyUs: nowSteadyUs, deliveries }]
  })
}

/** The page and the command line show this many characters of a call's id: its end. */
export const SHORT_ID_LENGTH = 8
/** More calls than ever share the end of their random ids. */
export const MAX_CALLS_ENDING = 100

export type CallFilter = {
  readonly direction?: Direction | undefined
  /** A number that the call was from or to: as the PBX spells it, or in E.164. */
  readonly number?: string | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

/** The position at which the page before ended. */
export type CallPosition = { readonly savedUs: number; readonly id: string }

export type CallRow = CallPosition & { readonly record: string }

/** A saved call as lists are filtered by it. */
export type CallFactsRow = CallPosition &
  Omit<CallFacts, 'who'> & {
    readonly direction: Direction
    /** `null`: a node of an earlier version has saved the call, and its record has to be read. */
    readonly who: string | null
  }

/** Calls of an account in a time, newest first, below a position. */
export type CallScan = Pick<CallFilter, 'sinceUs' | 'untilUs'> & {
  readonly accountId: number
  readonly after: CallPosition | undefined
  readonly limit: number
}

/** Calls of a part of a scan with the same facts, their parties apart. */
export type CallCount = Omit<CallFacts, 'who'> & {
  readonly direction: Direction
  readonly count: number
  /** The ids of the missed calls; empty for other calls. */
  readonly missedIds: readonly string[]
  /** Nodes of an earlier version have saved the calls, and their records have to be read. */
  readonly lacksFacts: boolean
}

/** The account that got a live call's start. */
export type LiveCallAccount = { readonly callId: string; readonly accountId: number; readonly account: string }

/** A PBX that left calls open, with an account that got the start of one. */
export type OrphanedPbx = { readonly pbx: string; readonly accountId: number; readonly account: string }

export type CallStore = {
  /**
   * Stores events with one delivery for each webhook whose switch is on and whose filter matches, live calls, call
   * records and recordings, in one commit. Returns where the events are, in their order, part by part. If it rejects
   * because an answer was lost, the same batch can be given again: it is stored once.
   */
  batchStore(batch: CallBatch, fence?: Fence): Promise<PlacedEvent[]>
  /** Returns the phones, trunks, agents and queues of a PBX as they were stored last (JSON). */
  subjectStateList(pbx: string): Promise<{ readonly id: string; readonly state: string }[]>
  /** Returns the live calls of a PBX as they were stored last, in the order of their ids. */
  liveCallList(pbx: string): Promise<LiveCallRow[]>
  /** Returns whose each live call of a PBX is: the account that got its start. */
  liveCallListAccounts(pbx: string): Promise<LiveCallAccount[]>
  /** Returns the PBXs that left calls open and are not in this list. */
  orphanedPbxList(watched: readonly string[]): Promise<OrphanedPbx[]>
  /** Returns saved calls of an account that match, newest first, below a position, at most `limit`. */
  callList(query: {
    accountId: number
    filter: CallFilter
    after: CallPosition | undefined
    limit: number
  }): Promise<CallRow[]>
  /** Returns the facts of saved calls of an account, all that are there, newest first, at most `limit`. */
  callScan(scan: CallScan): Promise<CallFactsRow[]>
  /**
   * Counts the calls that `callScan` would return; `next`: the position of the last one, `null` at the end.
   */
  callCount(scan: CallScan): Promise<{ counts: CallCount[]; next: CallPosition | null }>
  /** Returns these saved calls of an account in the order of the ids; unknown ones are left out. */
  callGetMany(query: { accountId: number; ids: readonly string[] }): Promise<CallRow[]>
  /**
   * Returns which of these missed calls are still to be called back: the number of the caller is known, no call from
   * inside has reached it since, and none from it was answered since.
   */
  callListToCallBack(query: { accountId: number; ids: readonly string[] }): Promise<string[]>
  /** Returns the ids of saved calls of an account that are from or to a number (as in CallFilter), newest first. */
  callListIdsOfNumber(query: { accountId: number; number: string; limit: number }): Promise<string[]>
  /**
   * Returns the ids of calls with events that end in a text of at least SHORT_ID_LENGTH characters (in any case), the
   * newest first, at most MAX_CALLS_ENDING. `accountId` `null`: of all accounts.
   */
  callIdListEndingIn(query: { accountId: number | null; ending: string }): Promise<string[]>
  /** Returns the record of a saved call (JSON), or `undefined`. */
  callGet(accountId: number, id: string): Promise<string | undefined>
  /** Returns the memory of a PBX (JSON): facts beside its calls, as they were last set; `undefined` if it has none. */
  pbxMemoryGet(pbx: string): Promise<string | undefined>
  /** Replaces the memory of a PBX. */
  pbxMemorySet(pbx: string, memory: string, fence?: Fence): Promise<void>
}
