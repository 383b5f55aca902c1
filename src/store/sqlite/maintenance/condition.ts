import type { StoreCondition } from '../../operations/maintenance.ts'
import { eventIdOf, MAX_COUNTED_BRIEFLY } from '../../operations/queue.ts'
import type { Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'

/** Returns how the deliveries are, with those that failed since a time. */
export function readCondition(tx: Tx, sinceUs: number): StoreCondition {
  const webhooks = prepared<{ account: string; url: string }, []>(
    tx,
    `SELECT DISTINCT a.name AS account, w.url FROM webhooks w JOIN accounts a ON a.id = w.account_id
     WHERE w.position IS NOT NULL ORDER BY a.name, w.position`,
  ).all()
  // `state > 1` is the condition of the small index of those that were not delivered.
  const failed = prepared<{ count: number }, [number]>(
    tx,
    'SELECT count(*) AS count FROM deliveries WHERE state > 1 AND state = 2 AND ended_at > ?',
  ).get(sinceUs)
  // Two partial indexes hold what is pending, for each webhook.
  const pending = prepared<{ count: number; oldest: number | null }, [number]>(
    tx,
    `SELECT count(*) AS count, min(id) AS oldest FROM (
       SELECT d.id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id AND d.state = 0 AND d.due_at IS NULL
       UNION ALL
       SELECT d.id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id AND d.state = 0 AND d.due_at IS NOT NULL
       LIMIT ?)`,
  ).get(MAX_COUNTED_BRIEFLY)
  const eventTime = prepared<{ at: number }, [number]>(tx, 'SELECT at FROM events WHERE id = ?')
  const newest = prepared<{ at: number }, []>(tx, 'SELECT at FROM events ORDER BY id DESC LIMIT 1').get()
  const oldest = pending?.oldest ?? null
  return {
    webhooks,
    failed: failed?.count ?? 0,
    pending: pending?.count ?? 0,
    oldestPendingUs: oldest === null ? undefined : eventTime.get(eventIdOf(oldest))?.at,
    newestEventUs: newest?.at,
  }
}
