import type { DeliveryFilter } from '../operations/log.ts'
import { DELIVERIES_PER_EVENT, eventIdOf, type RetryResult, type RetryStep } from '../operations/queue.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { IS_ERASED } from './events.ts'
import { readLog } from './log.ts'

/** A pending one is only made due; any other gets a new schedule, whose first attempt is due at once. */
function makeDue(tx: Tx, id: number, nowSteadyUs: number): void {
  prepared<never, [number, number]>(
    tx,
    'UPDATE deliveries SET due_at = ? WHERE id = ? AND state = 0 AND due_at IS NOT NULL',
  ).run(nowSteadyUs, id)
  prepared<never, [number, number, number]>(
    tx,
    `UPDATE deliveries SET state = 0, tries = 0, due_at = ?, since = ?, generation = generation + 1, ended_at = NULL
     WHERE id = ? AND state <> 0`,
  ).run(nowSteadyUs, nowSteadyUs, id)
}

type Row = { webhookId: number; listed: number; leaving: number; erased: number }

/** Returns why a delivery cannot be sent again now, if it cannot. */
function obstacle(tx: Tx, id: number): Exclude<RetryResult, 'queued'> | undefined {
  const row = prepared<Row, [number]>(
    tx,
    `SELECT w.id AS webhookId, w.position IS NOT NULL AS listed, d.id <= w.cancelled_to AS leaving, ${IS_ERASED} AS erased
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
     WHERE d.id = ?`,
  ).get(id)
  if (row === null) return 'unknown'
  if (row.listed === 0) return 'unlisted'
  if (row.erased === 1) return 'erased'
  return row.leaving === 1 ? row.webhookId : undefined
}

type Retry = { readonly accountId: number | null; readonly id: number; readonly nowSteadyUs: number }

export const retryDelivery = mutation(
  'queue.deliveryRetry',
  (tx: Tx, { accountId, id, nowSteadyUs }: Retry): RetryResult => {
    const owner = prepared<{ accountId: number }, [number]>(
      tx,
      'SELECT account_id AS accountId FROM events WHERE id = ?',
    ).get(eventIdOf(id))
    if (owner === null || (accountId !== null && owner.accountId !== accountId)) return 'unknown'
    const problem = obstacle(tx, id)
    if (problem !== undefined) return problem
    makeDue(tx, id, nowSteadyUs)
    return 'queued'
  },
)

type Step = {
  readonly filter: DeliveryFilter
  readonly fromId: number
  readonly nowSteadyUs: number
  readonly limit: number
}

/** The oldest first, so that a call whose events lie in several parts is sent in their order. */
export const retryMatching = mutation(
  'queue.deliveryRetryMatching',
  (tx: Tx, { filter, fromId, nowSteadyUs, limit }: Step): RetryStep | number => {
    const { rows: found, nextId } = readLog(tx, { filter, fromId, limit, order: 'oldest' })
    const rows = found.map(({ id }) => ({ id, problem: obstacle(tx, id) }))
    const leaving = rows.map(({ problem }) => problem).find((problem) => typeof problem === 'number')
    if (leaving !== undefined) return leaving
    const able = rows.filter(({ problem }) => problem === undefined)
    for (const { id } of able) makeDue(tx, id, nowSteadyUs)
    return { queued: able.length, nextId }
  },
)
