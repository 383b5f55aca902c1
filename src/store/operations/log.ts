import type { EventKind } from '../../events/kinds.ts'
import type { DeliveryState } from './delivery-state.ts'

// The log of deliveries and events, as it is read.

export type LogFilter = {
  /** `null`: of every account, for the operator. */
  readonly accountId: number | null
  readonly state?: DeliveryState | undefined
  readonly event?: string | undefined
  readonly url?: string | undefined
  /** Only deliveries of these calls; an empty list matches nothing. */
  readonly callIds?: readonly string[] | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

/** A delivery as the log shows it. */
export type DeliveryRow = {
  readonly id: number
  readonly accountId: number
  readonly uuid: string
  readonly event: EventKind
  readonly callId: string
  readonly url: string
  readonly state: DeliveryState
  readonly attemptsMade: number
  /** Wall time, of a retry. */
  readonly dueUs: number | null
  readonly createdUs: number
  readonly endedUs: number | null
}

export type AttemptRow = {
  readonly atUs: number
  /** Sent while the webhook was down: it counts against nothing. */
  readonly probe: boolean
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly address: string | null
  readonly response: string | null
  /** The step of the flow. */
  readonly step?: AttemptStep
}

/** A step of a flow, as an attempt has it. */
export type AttemptStep = {
  readonly name: string
  /** `null` without a request, and in a call that was erased. `url` is without its query. */
  readonly method: string | null
  readonly url: string | null
  /** The names of the values that were kept. */
  readonly kept: readonly string[]
}

export type DeliveryDetailRow = DeliveryRow & { readonly body: string; readonly attempts: readonly AttemptRow[] }

/** The matches in a part of the log. */
export type DeliveryPart = {
  readonly rows: readonly DeliveryRow[]
  /** The id from which the next part is read; `null` if this was the last part. */
  readonly nextId: number | null
  /** The number of events, or of deliveries in an index, that were read for it. */
  readonly examined: number
}

/** Which end of the log is read first: `newest` goes on below an id, `oldest` from an id on. */
export type LogOrder = 'newest' | 'oldest'

/** Which events of an account are read back. */
export type EventQuery = {
  readonly accountId: number
  /** Behind this event. */
  readonly afterId: number
  readonly limit: number
  /** Only events of these kinds, or of one call; `undefined`: all events. */
  readonly names?: readonly string[] | undefined
  readonly callId?: string | undefined
}

/** An event as it is read back. `body` is the default body, JSON. */
export type EventItem = {
  readonly id: number
  readonly uuid: string
  readonly name: string
  readonly callId: string
  readonly sequence: number
  readonly atUs: number
  readonly body: string
}

export type EventPart = {
  readonly items: readonly EventItem[]
  /** The last event that was read: the next part begins after it. */
  readonly lastId: number
  /** Whether there are no events after `lastId`. */
  readonly isEnd: boolean
}

/** The first event after which no event was deleted, and the newest one; 0: there are no events. */
export type EventBounds = { readonly oldestId: number; readonly newestId: number }

/** `plainTo`: earlier versions gave out the ids of events up to this one as plain numbers. */
export type PublicIdKey = { readonly key: string; readonly plainTo: number }

/** The history of events that no run of the database has counted: they were stored by an earlier version. */
export const FIRST_HISTORY = 0

/** An event of a call with its delivery to each webhook. */
export type EventRow = {
  readonly uuid: string
  readonly name: string
  readonly sequence: number
  readonly atUs: number
  readonly body: string
  readonly deliveries: readonly DeliveryRow[]
}

/** The events of a call that are returned: more than any real call has. */
export const MAX_EVENTS_OF_CALL = 500

/** At most this many of the newest events are read at a time to find the accounts that have new ones. */
export const MAX_NEWEST = 10_000

/** The start of the body of an event that was erased. Nothing that is sent begins so. */
export const ERASED_START = '{"erased":'

/** The error of an attempt that sent nothing, since the template of its webhook gave nothing for the event. */
export const NOTHING_TO_SEND = 'the template gives nothing for this event: it was not sent'
/** The error of an attempt that sent nothing, since no step of the flow of its webhook begins with the event. */
export const NO_STEP = 'no step of the flow begins with this event: nothing was sent'

export type LogStore = {
  /**
   * Returns the matching deliveries in a part of the log, at most `limit`. Reading a part takes a few milliseconds,
   * regardless of the filter.
   */
  deliveryList(query: { filter: LogFilter; fromId: number; limit: number; order: LogOrder }): Promise<DeliveryPart>
  /**
   * Returns a delivery with its body and its attempts, the oldest first, or `undefined`. `accountId` `null`: of any
   * account.
   */
  deliveryGet(accountId: number | null, id: number): Promise<DeliveryDetailRow | undefined>
  /** Returns deliveries as they are now; ids that are unknown are left out. */
  deliveryGetMany(ids: readonly number[]): Promise<DeliveryRow[]>
  /** Returns the bodies of events by id; unknown ones are left out. */
  eventGetBodies(ids: readonly number[]): Promise<{ id: number; body: string }[]>
  /**
   * Returns what events are about: the parts `from`, `to`, `phone`, `trunk`, `agent` and `queue` of their bodies as
   * JSON, `null` where a body lacks the part. Unknown ids are left out.
   */
  eventAboutList(ids: readonly number[]): Promise<{ readonly id: number; readonly about: string }[]>
  /** Returns the events of a call in order of `sequence`, each with its deliveries, at most MAX_EVENTS_OF_CALL. */
  eventListOfCall(accountId: number, callId: string): Promise<EventRow[]>
  /**
   * Returns events of an account, in the order in which they were stored, at most `limit`: matching events from one
   * part of the events after an id. Events of erased calls are left out. Reading a part takes a few milliseconds,
   * regardless of the filter.
   */
  eventRead(query: EventQuery): Promise<EventPart>
  /** Returns the event after which no event of an account was deleted, and the newest event. */
  eventGetBounds(accountId: number): Promise<EventBounds>
  /**
   * Returns the history in which each of these events was stored, also of those that were deleted since. Each run of
   * the database stores its events in a history of its own. For an event that this store never had, the answer is
   * another history than the one in which it was stored, or its id is above all ids.
   */
  eventGetHistories(ids: readonly number[]): Promise<number[]>
  /** Returns the key by which the ids that clients get are encrypted. */
  publicIdKeyGet(): Promise<PublicIdKey>
  /** Returns the newest event of each of these accounts that has one. */
  eventGetNewest(accountIds: readonly number[]): Promise<ReadonlyMap<number, number>>
  /**
   * Returns the newest event of each account that has one above an id, among the newest MAX_NEWEST of the store. It
   * takes the same time however many accounts there are.
   */
  eventGetNewestAbove(id: number): Promise<ReadonlyMap<number, number>>
}
