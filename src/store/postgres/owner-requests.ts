import type { OwnerRequest } from '../operations/queue.ts'
import { bigints, type Query } from './engine/client.ts'

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
