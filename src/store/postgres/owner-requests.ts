import { sql } from 'drizzle-orm'
import type { OwnerRequest, QueueStore } from '../operations/queue.ts'
import { type Declarations, write } from '../sql/operation.ts'
import { all, among, exists, integers, run, type Work } from '../sql/statement.ts'

const FORGET_AFTER_US = 3_600_000_000

/** Adds a request, and deletes requests that nobody took. */
function* addOwnerRequest({ webhookId, deliveryId, nowUs }: OwnerRequest & { readonly nowUs: number }): Work<void> {
  yield* run(sql`DELETE FROM owner_requests WHERE at < ${nowUs - FORGET_AFTER_US}`)
  yield* run(sql`
    INSERT INTO owner_requests (at, webhook_id, delivery_id) VALUES (${nowUs}, ${webhookId}, ${deliveryId})`)
}

function* takeOwnerRequests(webhookIds: readonly number[]): Work<OwnerRequest[]> {
  const rows = yield* all<OwnerRequest & { id: number }>(sql`
    DELETE FROM owner_requests WHERE webhook_id ${among(integers(webhookIds))}
    RETURNING id, webhook_id AS "webhookId", delivery_id AS "deliveryId"`)
  return rows
    .toSorted((one, other) => one.id - other.id)
    .map(({ webhookId, deliveryId }) => ({ webhookId, deliveryId }))
}

/** The requests of a node to the node that sends to a webhook. */
export const OWNER_REQUESTS: Declarations<Pick<QueueStore, 'ownerRequestAdd' | 'ownerRequestTake'>> = {
  ownerRequestAdd: write(addOwnerRequest),
  // It runs after every change by another process, nearly always in vain.
  ownerRequestTake: write(takeOwnerRequests, {
    isQuiet: true,
    onlyIf: { work: () => exists(sql`SELECT 1 FROM owner_requests LIMIT 1`), otherwise: [] },
  }),
}
