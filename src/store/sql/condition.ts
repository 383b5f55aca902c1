import { sql } from 'drizzle-orm'
import type { StoreCondition } from '../operations/maintenance.ts'
import { eventIdOf, MAX_COUNTED_BRIEFLY } from '../operations/queue.ts'
import { ENDED_TABLE } from './deliveries.ts'
import { all, either, first, indexedBy, type Work } from './statement.ts'

/** The ids of pending deliveries, as many as are counted. Two small indexes of SQLite have all of them. */
const PENDING_IDS = either({
  sqlite: sql`
    SELECT id FROM deliveries ${indexedBy('deliveries_fresh')} WHERE state = 0 AND due_at IS NULL
    UNION ALL SELECT id FROM deliveries ${indexedBy('deliveries_retry')} WHERE state = 0 AND due_at IS NOT NULL`,
  postgres: sql`SELECT id FROM pending_deliveries ORDER BY id`,
})

/** Returns how many deliveries there are in each state, with the number that failed since a time. */
export function* readCondition(sinceUs: number): Work<StoreCondition> {
  const webhooks = yield* all<{ account: string; url: string }>(sql`
    SELECT a.name AS account, w.url FROM webhooks w JOIN accounts a ON a.id = w.account_id
    WHERE w.position IS NOT NULL AND w.occurrence = 0 ORDER BY a.name, w.position`)
  // `state > 1` is the condition of the small index of deliveries that were not delivered.
  const failed = yield* first<{ count: number }>(sql`
    SELECT count(*) AS count FROM ${ENDED_TABLE} WHERE state > 1 AND state = 2 AND ended_at > ${sinceUs}`)
  const pending = yield* first<{ count: number; oldest: number | null }>(sql`
    SELECT count(*) AS count, min(id) AS oldest FROM (${PENDING_IDS} LIMIT ${MAX_COUNTED_BRIEFLY}) AS p`)
  const newest = yield* first<{ at: number }>(sql`SELECT at FROM events ORDER BY id DESC LIMIT 1`)
  const oldestId = eventIdOf(pending?.oldest ?? 0)
  const oldest = yield* first<{ at: number }>(sql`SELECT at FROM events WHERE id = ${oldestId}`)
  return {
    webhooks,
    failed: failed?.count ?? 0,
    pending: pending?.count ?? 0,
    oldestPendingUs: oldest?.at,
    newestEventUs: newest?.at,
  }
}
