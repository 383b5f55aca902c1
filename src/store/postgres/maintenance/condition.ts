import type { StoreCondition } from '../../operations/maintenance.ts'
import { DELIVERIES_PER_EVENT, MAX_COUNTED_BRIEFLY } from '../../operations/queue.ts'
import type { Query } from '../engine/client.ts'

/** Returns how the deliveries are, with those that failed since a time. */
export async function readCondition(read: Query, sinceUs: number): Promise<StoreCondition> {
  const webhooks = await read<{ account: string; url: string }>(
    `SELECT a.name AS account, w.url FROM webhooks w JOIN accounts a ON a.id = w.account_id
     WHERE w.position IS NOT NULL AND w.occurrence = 0 ORDER BY a.name, w.position`,
  )
  const [row] = await read<{ failed: number; pending: number; oldest: number | null; newest: number | null }>(
    `SELECT (SELECT count(*) FROM ended_deliveries WHERE state > 1 AND state = 2 AND ended_at > $1::bigint)::float8 AS failed,
       (SELECT count(*) FROM (SELECT 1 FROM pending_deliveries LIMIT ${MAX_COUNTED_BRIEFLY}) AS counted)::float8 AS pending,
       (SELECT e.at FROM (SELECT id FROM pending_deliveries ORDER BY id LIMIT 1) AS d
          JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT})::float8 AS oldest,
       (SELECT at FROM events ORDER BY id DESC LIMIT 1)::float8 AS newest`,
    [sinceUs],
  )
  return {
    webhooks,
    failed: row?.failed ?? 0,
    pending: row?.pending ?? 0,
    oldestPendingUs: row?.oldest ?? undefined,
    newestEventUs: row?.newest ?? undefined,
  }
}
