import type { EventKind } from '../../events/kinds.ts'
import type { Fence } from './cluster.ts'
import type { LogFilter } from './log.ts'

// Pending deliveries: the next ones to send, their outcomes, and retries by hand.

/**
 * A delivery's id is its event's id × 128 + its place among that event's deliveries: the highest place is 99, since a
 * list holds 100 webhooks at most.
 */
export const DELIVERIES_PER_EVENT = 128

/** Returns the id of a delivery's event. */
export const eventIdOf = (deliveryId: number): number => Math.floor(deliveryId / DELIVERIES_PER_EVENT)

/** A pending delivery, complete for sending. */
export type PendingDelivery = {
  readonly id: number
  readonly accountId: number
  readonly webhookId: number
  readonly callId: string
  readonly event: EventKind
  readonly uuid: string
  readonly body: string
  /** When the event happened. */
  readonly atUs: number
  /** The number of its present schedule: each retry by hand begins another. */
  readonly generation: number
  /** When the present schedule began. */
  readonly sinceSteadyUs: number
  /** Attempts that count against the present schedule, and over all schedules. */
  readonly tries: number
  readonly attemptsMade: number
  /** The due time of a retry; `undefined`: never tried. */
  readonly dueSteadyUs: number | undefined
}

/** Untried deliveries that wait for no other delivery, and the last id that was read; `null`: nothing follows. */
type StrictPart = { readonly deliveries: readonly PendingDelivery[]; readonly lastId: number | null }

/**
 * The outcomes of attempts, and the resulting states of their deliveries: arrays of the same length, one attempt at
 * each position.
 */
export type OutcomeBatch = {
  readonly deliveryIds: readonly number[]
  readonly generations: readonly number[]
  /** Numbers of DELIVERY_STATES. */
  readonly states: readonly number[]
  readonly tries: readonly number[]
  readonly attemptsMade: readonly number[]
  readonly dueSteadyUs: readonly (number | null)[]
  readonly endedUs: readonly (number | null)[]
  readonly attemptUs: readonly number[]
  readonly probes: readonly boolean[]
  readonly statuses: readonly (number | null)[]
  readonly durationsMs: readonly number[]
  readonly errors: readonly (string | null)[]
  readonly addresses: readonly (string | null)[]
  readonly responses: readonly (string | null)[]
}

/**
 * The result of a retry by hand. `unlisted`: its URL is no longer in the list. `erased`: its body was erased. A number:
 * the id of a webhook whose URL came back while old deliveries are still to be cancelled; this has to be finished
 * first, or the retry would be cancelled with them.
 */
export type RetryResult = 'unknown' | 'unlisted' | 'erased' | 'queued' | number

/** `accountId` `null`: of any account. */
export type RetryRequest = { readonly accountId: number | null; readonly id: number; readonly nowSteadyUs: number }

/** A part of the log, from an id on, whose matching deliveries are retried. */
export type MatchingRetry = {
  readonly filter: LogFilter
  readonly fromId: number
  readonly nowSteadyUs: number
  readonly limit: number
}

/** The number of retried deliveries, and the id from which the next step reads (`null`: nothing follows). */
export type RetryStep = { readonly queued: number; readonly nextId: number | null }

/** Pending deliveries are not counted beyond this: counting more would hold up everything else. */
export const MAX_COUNTED = 1_000_000
/** The same, where they are counted webhook by webhook, or for `doctor`. */
export const MAX_COUNTED_BRIEFLY = 10_000

/** Requests that any process may make, but only the owner of a webhook can carry out. */
export type OwnerRequest = {
  readonly webhookId: number
  /** The pending delivery to send next, also while the webhook is down; `null`: its receiver has answered a test. */
  readonly deliveryId: number | null
}

/** The pending work of a webhook: the first untried delivery, and the time of the next retry. */
type FirstPending = {
  readonly webhookId: number
  readonly untriedId: number | undefined
  readonly dueSteadyUs: number | undefined
}

export type DueQuery = {
  readonly webhookId: number
  readonly afterId: number
  /** The deliveries that are in memory. */
  readonly exceptIds: readonly number[]
  readonly dueSteadyUs: number
  readonly limit: number
}

export type QueueStore = {
  /**
   * Returns deliveries of a webhook that were never tried, above an id, in id order, at most `limit`, however many are
   * pending.
   */
  deliveryGetUntried(query: { webhookId: number; afterId: number; limit: number }): Promise<PendingDelivery[]>
  /**
   * Like `deliveryGetUntried`, without deliveries that have to wait in a strict order for an earlier delivery of their
   * call, pending on its first schedule. Reads the next `limit`. Returns the last id that it read; `null` if there were
   * fewer.
   */
  deliveryGetUntriedStrict(query: { webhookId: number; afterId: number; limit: number }): Promise<StrictPart>
  /**
   * Returns for each of these calls its first delivery that is pending for a webhook on its first schedule. Calls
   * without one are omitted.
   */
  deliveryGetFirstOfCalls(query: { webhookId: number; callIds: readonly string[] }): Promise<PendingDelivery[]>
  /**
   * Returns the due retries of a webhook with ids above `afterId` that are not among `exceptIds`, the longest due
   * first, then in id order, at most `limit`.
   */
  deliveryGetDue(query: DueQuery): Promise<PendingDelivery[]>
  /** Returns a delivery that is pending, or `undefined`. */
  deliveryGetPending(id: number): Promise<PendingDelivery | undefined>
  /** Returns the time of a webhook's next retry after a time; `undefined` if no retry is scheduled. */
  deliveryGetNextDue(query: { webhookId: number; fromSteadyUs: number }): Promise<number | undefined>
  /**
   * Returns the pending deliveries of webhooks, without webhooks that have none. `afterIds`: untried deliveries count
   * above these ids.
   */
  pendingGetFirst(query: { webhookIds: readonly number[]; afterIds: readonly number[] }): Promise<FirstPending[]>
  /**
   * Keeps the last outcome of a batch where it survives the end of this process, until the batch is recorded. Returns
   * whether it does: otherwise it is lost with this process, and its delivery is sent again.
   */
  outcomeKeep(batch: OutcomeBatch): boolean
  /**
   * Records the outcome of attempts. A failure counts only against the schedule (`generation`) in which it was tried:
   * if the delivery was cancelled or retried by hand meanwhile, only the attempt is logged. Returns the ids of these
   * deliveries.
   */
  deliveryRecordOutcomes(batch: OutcomeBatch, fence?: Fence): Promise<number[]>
  /**
   * Cancels pending deliveries of a webhook that were stored before its URL left, at most `limit`. Returns their ids;
   * none: complete.
   */
  deliveryCancelUnlisted(step: { webhookId: number; nowUs: number; limit: number }, fence?: Fence): Promise<number[]>
  /** Fails pending deliveries of a webhook whose schedule began before a time, at most `limit`. Returns their ids. */
  deliveryFailExpired(
    step: { webhookId: number; beforeSteadyUs: number; nowUs: number; limit: number },
    fence?: Fence,
  ): Promise<number[]>
  /** Makes a delivery due at once: a pending one on its schedule, any other on a new one. */
  deliveryRetry(retry: RetryRequest): Promise<RetryResult>
  /**
   * Retries the matching deliveries of a part of the log, from an id on, the oldest first; or none, and returns a
   * webhook's id as `deliveryRetry` does.
   */
  deliveryRetryMatching(step: MatchingRetry): Promise<RetryStep | number>
  /**
   * Asks the owner of a webhook, which is notified. Requests that nobody took for an hour are deleted. An engine for
   * one node keeps none: its only process sends to all webhooks.
   */
  ownerRequestAdd(request: OwnerRequest & { readonly nowUs: number }): Promise<void>
  /** Returns the requests to the owner of these webhooks, the oldest first, and deletes them. */
  ownerRequestTake(webhookIds: readonly number[]): Promise<OwnerRequest[]>
  /** Returns how many deliveries are pending, counted up to MAX_COUNTED of each kind. */
  pendingCount(): Promise<number>
  /**
   * Returns the time since which the oldest pending delivery of a webhook, or of all webhooks, is pending; `undefined`
   * without pending deliveries.
   */
  pendingGetOldest(webhookId?: number): Promise<number | undefined>
}
