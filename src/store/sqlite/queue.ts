import {
  DELIVERIES_PER_EVENT,
  type DueQuery,
  eventIdOf,
  MAX_COUNTED,
  type PendingDelivery,
  type QueueStore,
} from '../operations/queue.ts'
import { oldestPendingSql } from '../sql/oldest-pending.ts'
import type { RETRIES } from '../sql/retries.ts'
import type { Database } from './engine/database.ts'
import type { Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import type { KeptOutcomes } from './kept-outcomes.ts'
import { cancelUnlisted, failExpired, recordOutcomes } from './outcomes.ts'
import { retryMatching } from './retries.ts'

/** The fields that a pending delivery has from its event: they are the same for all webhooks. */
type EventPart = Pick<PendingDelivery, 'accountId' | 'uuid' | 'callId' | 'event' | 'atUs' | 'body'>
type Row = Omit<PendingDelivery, 'dueSteadyUs' | keyof EventPart> & { readonly dueSteadyUs: number | null }

const COLUMNS = `d.id, d.webhook_id AS webhookId, d.tries, d.attempts_made AS attemptsMade, d.due_at AS dueSteadyUs, d.generation,
  d.since AS sinceSteadyUs`

/** Whether an earlier delivery of the same call and webhook is pending on its first schedule. */
const WAITS = `EXISTS (SELECT 1 FROM events b INDEXED BY events_by_call CROSS JOIN deliveries p
  ON p.id >= b.id * ${DELIVERIES_PER_EVENT} AND p.id < (b.id + 1) * ${DELIVERIES_PER_EVENT}
  WHERE b.call_id = e.call_id AND b.id < e.id AND p.webhook_id = d.webhook_id AND p.state = 0 AND p.generation = 1)`

/** The most events in the cache of the completion, and about the most bytes of their bodies. */
const MAX_EVENTS = 2_048
const MAX_BODY_CHARS = 4 * 1_024 * 1_024

/**
 * Makes the function that completes the rows of deliveries. The latest events are cached: a backlog is read webhook by
 * webhook, and a copy of the body for each of fifty webhooks would take most of the memory. Pending events are not
 * erased, so an event does not change while it is in use here.
 */
function newCompletion(read: Tx): (row: Row) => PendingDelivery | undefined {
  const events = new Map<number, EventPart>()
  let chars = 0

  function readEvent(id: number): EventPart | undefined {
    const found = prepared<EventPart, [number]>(
      read,
      'SELECT account_id AS accountId, uuid, call_id AS callId, name AS event, at AS atUs, body FROM events WHERE id = ?',
    ).get(id)
    if (found === null) return undefined
    events.set(id, found)
    chars += found.body.length
    for (const [oldest, { body }] of events) {
      if (events.size <= MAX_EVENTS && chars <= MAX_BODY_CHARS) break
      events.delete(oldest)
      chars -= body.length
    }
    return found
  }

  return ({ id, webhookId, generation, sinceSteadyUs, tries, attemptsMade, dueSteadyUs }) => {
    const eventId = eventIdOf(id)
    const found = events.get(eventId) ?? readEvent(eventId)
    if (found === undefined) return undefined
    const { accountId, uuid, callId, event, atUs, body } = found
    return {
      id,
      accountId,
      webhookId,
      callId,
      event,
      uuid,
      body,
      atUs,
      generation,
      sinceSteadyUs,
      tries,
      attemptsMade,
      dueSteadyUs: dueSteadyUs ?? undefined,
    }
  }
}

/** Creates the queue operations of the engine: pending deliveries and their outcomes. */
export function createQueueStore(
  { read, commit }: Database,
  outcomes: Pick<KeptOutcomes, 'record'>,
): Omit<QueueStore, 'outcomeKeep' | 'ownerRequestAdd' | 'ownerRequestTake' | keyof typeof RETRIES> {
  const complete = newCompletion(read)
  const completeAll = (rows: readonly Row[]) => rows.flatMap((row) => complete(row) ?? [])
  return {
    deliveryGetUntried: async ({ webhookId, afterId, limit }) =>
      completeAll(
        prepared<Row, [number, number, number]>(
          read,
          `SELECT ${COLUMNS} FROM deliveries d INDEXED BY deliveries_fresh JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
         WHERE d.webhook_id = ? AND d.state = 0 AND d.due_at IS NULL AND d.id > ? ORDER BY d.id LIMIT ?`,
        ).all(webhookId, afterId, limit),
      ),
    async deliveryGetUntriedStrict({ webhookId, afterId, limit }) {
      const rows = prepared<Row & { waits: number }, [number, number, number]>(
        read,
        `SELECT ${COLUMNS}, ${WAITS} AS waits FROM deliveries d INDEXED BY deliveries_fresh
           JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
         WHERE d.webhook_id = ? AND d.state = 0 AND d.due_at IS NULL AND d.id > ? ORDER BY d.id LIMIT ?`,
      ).all(webhookId, afterId, limit)
      const deliveries = rows.flatMap(({ waits, ...row }) => (waits === 1 ? [] : (complete(row) ?? [])))
      return { deliveries, lastId: rows.length === limit ? (rows.at(-1)?.id ?? null) : null }
    },
    async deliveryGetFirstOfCalls({ webhookId, callIds }) {
      const first = prepared<Row, [string, number]>(
        read,
        `SELECT ${COLUMNS} FROM events e INDEXED BY events_by_call CROSS JOIN deliveries d
           ON d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
         WHERE e.call_id = ? AND d.webhook_id = ? AND d.state = 0 AND d.generation = 1 ORDER BY e.id LIMIT 1`,
      )
      return callIds.flatMap((callId) => {
        const row = first.get(callId, webhookId)
        return row === null ? [] : (complete(row) ?? [])
      })
    },
    deliveryGetDue: async (query) => {
      const one = prepared<Row, [number]>(read, `SELECT ${COLUMNS} FROM deliveries d WHERE d.id = ?`)
      return completeAll(dueIds(read, query).flatMap((id) => one.get(id) ?? []))
    },
    async deliveryGetPending(id) {
      const row = prepared<Row, [number]>(
        read,
        `SELECT ${COLUMNS} FROM deliveries d JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} WHERE d.id = ? AND d.state = 0`,
      ).get(id)
      return row === null ? undefined : complete(row)
    },
    deliveryGetNextDue: async ({ webhookId, fromSteadyUs }) =>
      prepared<{ dueUs: number | null }, [number, number]>(
        read,
        `SELECT min(due_at) AS dueUs FROM deliveries INDEXED BY deliveries_retry
         WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL AND due_at >= ?`,
      ).get(webhookId, fromSteadyUs)?.dueUs ?? undefined,
    async pendingGetFirst({ webhookIds, afterIds }) {
      const untried = prepared<{ id: number }, [number, number]>(
        read,
        `SELECT id FROM deliveries INDEXED BY deliveries_fresh
         WHERE webhook_id = ? AND state = 0 AND due_at IS NULL AND id > ? ORDER BY id LIMIT 1`,
      )
      const retry = prepared<{ dueUs: number | null }, [number]>(
        read,
        `SELECT min(due_at) AS dueUs FROM deliveries INDEXED BY deliveries_retry
         WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL`,
      )
      return webhookIds.flatMap((webhookId, at) => {
        const untriedId = untried.get(webhookId, afterIds[at] ?? 0)?.id
        const dueSteadyUs = retry.get(webhookId)?.dueUs ?? undefined
        return untriedId === undefined && dueSteadyUs === undefined ? [] : [{ webhookId, untriedId, dueSteadyUs }]
      })
    },
    deliveryRecordOutcomes: (batch) => outcomes.record(batch, (bytes) => commit(recordOutcomes, bytes)),
    deliveryCancelUnlisted: (step) => commit(cancelUnlisted, step),
    deliveryFailExpired: (step) => commit(failExpired, step),
    deliveryRetryMatching: (step) => commit(retryMatching, step),
    pendingCount: async () => countPending(read),
    pendingGetOldest: async (webhookId) => oldestPending(read, webhookId),
  }
}

/** Returns the ids from the index alone: of thousands that are due, most may be in memory, and cost no other page. */
function dueIds(read: Tx, { webhookId, afterId, exceptIds, dueSteadyUs, limit }: DueQuery): number[] {
  const due = prepared<{ id: number }, [number, number, number, number]>(
    read,
    `SELECT id FROM deliveries INDEXED BY deliveries_retry
     WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL AND due_at <= ? AND id > ? ORDER BY due_at, id LIMIT ?`,
  ).all(webhookId, dueSteadyUs, afterId, limit + exceptIds.length)
  const except = new Set(exceptIds)
  return due.flatMap(({ id }) => (except.has(id) ? [] : id)).slice(0, limit)
}

function countPending(read: Tx): number {
  const fresh = `SELECT 1 FROM deliveries INDEXED BY deliveries_fresh WHERE state = 0 AND due_at IS NULL LIMIT ${MAX_COUNTED}`
  const retry = `SELECT 1 FROM deliveries INDEXED BY deliveries_retry WHERE state = 0 AND due_at IS NOT NULL LIMIT ${MAX_COUNTED}`
  const row = prepared<{ pending: number }, []>(
    read,
    `SELECT (SELECT count(*) FROM (${fresh})) + (SELECT count(*) FROM (${retry})) AS pending`,
  ).get()
  return row?.pending ?? 0
}

const UNTRIED = { from: 'deliveries INDEXED BY deliveries_fresh WHERE state = 0 AND due_at IS NULL', order: 'id' }
const RETRIED = {
  from: 'deliveries INDEXED BY deliveries_retry WHERE state = 0 AND due_at IS NOT NULL',
  order: 'due_at',
}

function oldestPending(read: Tx, webhookId: number | undefined): number | undefined {
  const row =
    webhookId === undefined
      ? prepared<{ oldest: number | null }, []>(read, oldestPendingSql(UNTRIED, RETRIED, undefined)).get()
      : prepared<{ oldest: number | null }, [number]>(read, oldestPendingSql(UNTRIED, RETRIED, '?1')).get(webhookId)
  return row?.oldest ?? undefined
}
