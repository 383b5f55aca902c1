import {
  DELIVERIES_PER_EVENT,
  type MatchingRetry,
  type OwnerRequest,
  type RetryRequest,
  type RetryResult,
  type RetryStep,
} from '../operations/queue.ts'
import { type RetryFacts, retryObstacle } from '../retry-obstacle.ts'
import { bigints, type Query } from './engine/client.ts'
import { IS_ERASED } from './events.ts'
import { readLog } from './log.ts'

/** A pending one is only made due; any other gets a new schedule, whose first attempt is due at once. */
async function makeDue(query: Query, ids: readonly number[], nowSteadyUs: number): Promise<void> {
  await query('UPDATE pending_deliveries SET due_at = $2::bigint WHERE id = ANY($1::bigint[]) AND due_at IS NOT NULL', [
    bigints(ids),
    nowSteadyUs,
  ])
  await query(
    `WITH back AS (DELETE FROM ended_deliveries WHERE id = ANY($1::bigint[]) RETURNING *)
     INSERT INTO pending_deliveries (id, account_id, webhook_id, tries, attempts_made, due_at, generation, since, created_at)
     SELECT id, account_id, webhook_id, 0, attempts_made, $2::bigint, generation + 1, $2::bigint, created_at FROM back`,
    [bigints(ids), nowSteadyUs],
  )
}

type Row = RetryFacts & { readonly id: number; readonly accountId: number }

/**
 * Returns what keeps deliveries from being sent again, with their accounts. Their lists do not change until the
 * transaction ends.
 */
async function readObstacles(query: Query, ids: readonly number[]): Promise<Map<number, Row>> {
  const rows = await query<Row>(
    `SELECT d.id::float8 AS id, d.account_id::float8 AS "accountId", w.id::float8 AS "webhookId",
       w.position IS NOT NULL AS listed, d.id <= w.cancelled_to AS leaving, ${IS_ERASED} AS erased
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
     WHERE d.id = ANY($1::bigint[]) ORDER BY w.id FOR SHARE OF w`,
    [bigints(ids)],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Schedules one delivery again. */
export async function retryDelivery(query: Query, { accountId, id, nowSteadyUs }: RetryRequest): Promise<RetryResult> {
  const row = (await readObstacles(query, [id])).get(id)
  if (row === undefined || (accountId !== null && row.accountId !== accountId)) return 'unknown'
  const obstacle = retryObstacle(row)
  if (obstacle !== undefined) return obstacle
  await makeDue(query, [id], nowSteadyUs)
  return 'queued'
}

/**
 * Schedules a step of matching deliveries again, the oldest first, so that a call whose events are in several parts is
 * sent in order.
 */
export async function retryMatching(query: Query, step: MatchingRetry): Promise<RetryStep | number> {
  const { filter, fromId, nowSteadyUs, limit } = step
  const { rows, nextId } = await readLog(query, { filter, fromId, limit, order: 'oldest' })
  const ids = rows.map(({ id }) => id)
  const found = await readObstacles(query, ids)
  const obstacles = ids.map((id) => ({ id, obstacle: retryObstacle(found.get(id)) }))
  const leaving = obstacles.map(({ obstacle }) => obstacle).find((obstacle) => typeof obstacle === 'number')
  if (leaving !== undefined) return leaving
  const able = obstacles.filter(({ obstacle }) => obstacle === undefined).map(({ id }) => id)
  await makeDue(query, able, nowSteadyUs)
  return { queued: able.length, nextId }
}

const FORGET_AFTER_US = 3_600_000_000

/** Adds a request, and deletes those that nobody took. */
export async function addOwnerRequest(query: Query, request: OwnerRequest & { nowUs: number }): Promise<void> {
  const { webhookId, deliveryId, nowUs } = request
  await query('DELETE FROM owner_requests WHERE at < $1::bigint', [nowUs - FORGET_AFTER_US])
  await query('INSERT INTO owner_requests (at, webhook_id, delivery_id) VALUES ($1::bigint, $2::bigint, $3::bigint)', [
    nowUs,
    webhookId,
    deliveryId,
  ])
}

/** Returns the requests to the owner of these webhooks, and deletes them. */
export async function takeOwnerRequests(query: Query, webhookIds: readonly number[]): Promise<OwnerRequest[]> {
  const rows = await query<OwnerRequest & { id: number }>(
    `DELETE FROM owner_requests WHERE webhook_id = ANY($1::bigint[])
     RETURNING id::float8 AS id, webhook_id::float8 AS "webhookId", delivery_id::float8 AS "deliveryId"`,
    [bigints(webhookIds)],
  )
  return rows
    .toSorted((one, other) => one.id - other.id)
    .map(({ webhookId, deliveryId }) => ({ webhookId, deliveryId }))
}
