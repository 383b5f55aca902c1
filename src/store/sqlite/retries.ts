import { asc, inArray, lt } from 'drizzle-orm'
import {
  DELIVERIES_PER_EVENT,
  eventIdOf,
  type MatchingRetry,
  type OwnerRequest,
  type RetryRequest,
  type RetryResult,
  type RetryStep,
} from '../operations/queue.ts'
import { retryObstacle } from '../retry-obstacle.ts'
import { ownerRequests } from '../sql/tables.ts'
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
function obstacleOf(tx: Tx, id: number): ReturnType<typeof retryObstacle> {
  const row = prepared<Row, [number]>(
    tx,
    `SELECT w.id AS webhookId, w.position IS NOT NULL AS listed, d.id <= w.cancelled_to AS leaving, ${IS_ERASED} AS erased
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
     WHERE d.id = ?`,
  ).get(id)
  if (row === null) return retryObstacle(undefined)
  const { webhookId, listed, leaving, erased } = row
  return retryObstacle({ webhookId, listed: listed === 1, leaving: leaving === 1, erased: erased === 1 })
}

export const retryDelivery = mutation(
  'queue.deliveryRetry',
  (tx: Tx, { accountId, id, nowSteadyUs }: RetryRequest): RetryResult => {
    const owner = prepared<{ accountId: number }, [number]>(
      tx,
      'SELECT account_id AS accountId FROM events WHERE id = ?',
    ).get(eventIdOf(id))
    if (owner === null || (accountId !== null && owner.accountId !== accountId)) return 'unknown'
    const obstacle = obstacleOf(tx, id)
    if (obstacle !== undefined) return obstacle
    makeDue(tx, id, nowSteadyUs)
    return 'queued'
  },
)

/** The oldest first, so that a call whose events lie in several parts is sent in their order. */
export const retryMatching = mutation(
  'queue.deliveryRetryMatching',
  (tx: Tx, { filter, fromId, nowSteadyUs, limit }: MatchingRetry): RetryStep | number => {
    const { rows: found, nextId } = readLog(tx, { filter, fromId, limit, order: 'oldest' })
    const rows = found.map(({ id }) => ({ id, obstacle: obstacleOf(tx, id) }))
    const leaving = rows.map(({ obstacle }) => obstacle).find((obstacle) => typeof obstacle === 'number')
    if (leaving !== undefined) return leaving
    const able = rows.filter(({ obstacle }) => obstacle === undefined)
    for (const { id } of able) makeDue(tx, id, nowSteadyUs)
    return { queued: able.length, nextId }
  },
)

const FORGET_AFTER_US = 3_600_000_000

export const addOwnerRequest = mutation(
  'queue.ownerRequestAdd',
  (tx: Tx, { webhookId, deliveryId, nowUs }: OwnerRequest & { nowUs: number }): void => {
    tx.delete(ownerRequests)
      .where(lt(ownerRequests.atUs, nowUs - FORGET_AFTER_US))
      .run()
    tx.insert(ownerRequests).values({ atUs: nowUs, webhookId, deliveryId }).run()
  },
)

export const takeOwnerRequests = mutation(
  'queue.ownerRequestTake',
  (tx: Tx, webhookIds: readonly number[]): OwnerRequest[] => {
    const { id, webhookId, deliveryId } = ownerRequests
    const wanted = new Set(webhookIds)
    const rows = tx.select({ id, webhookId, deliveryId }).from(ownerRequests).orderBy(asc(id)).all()
    const taken = rows.filter((row) => wanted.has(row.webhookId))
    const ids = taken.map((row) => row.id)
    tx.delete(ownerRequests).where(inArray(id, ids)).run()
    return taken.map((row) => ({ webhookId: row.webhookId, deliveryId: row.deliveryId }))
  },
)

/** Returns whether anything is asked of anyone: this is checked after every change by another process. */
export const isAnyOwnerAsked = (read: Tx): boolean =>
  read.select({ id: ownerRequests.id }).from(ownerRequests).limit(1).get() !== undefined
