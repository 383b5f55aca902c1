import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { eventOf } from './outbox.ts'
import { type Target, targetOf } from './target.ts'

/** How it stands with deliveries, for whoever asks whether all is well. */
export type Condition = {
  /** Every URL in a list, once an account. */
  readonly webhooks: readonly { readonly account: string; readonly target: Target }[]
  readonly failed: number
  /** As many as are looked at, at most. */
  readonly waiting: number
  readonly oldestWaitingUs: number | undefined
  readonly newestEventUs: number | undefined
}

const MAX_COUNTED = 10_000

export function readCondition(tx: Tx, sinceUs: number): Condition {
  const listed = prepared<{ account: string; url: string }, []>(
    tx,
    `SELECT DISTINCT a.name AS account, w.url FROM webhooks w JOIN accounts a ON a.id = w.account_id
     WHERE w.position IS NOT NULL ORDER BY a.name, w.position`,
  ).all()
  const failed = prepared<{ count: number }, [number]>(
    tx,
    'SELECT count(*) AS count FROM deliveries WHERE state > 1 AND state = 2 AND ended_at > ?',
  ).get(sinceUs)
  // Two partial indexes hold what waits, for each webhook.
  const waiting = prepared<{ count: number; oldest: number | null }, [number]>(
    tx,
    `SELECT count(*) AS count, min(id) AS oldest FROM (
       SELECT d.id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id AND d.state = 0 AND d.due_at IS NULL
       UNION ALL
       SELECT d.id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id AND d.state = 0 AND d.due_at IS NOT NULL
       LIMIT ?)`,
  ).get(MAX_COUNTED)
  const eventTime = prepared<{ at: number }, [number]>(tx, 'SELECT at FROM events WHERE id = ?')
  const newest = prepared<{ at: number }, []>(tx, 'SELECT at FROM events ORDER BY id DESC LIMIT 1').get()
  const oldest = waiting?.oldest ?? null
  return {
    webhooks: listed.map(({ account, url }) => ({ account, target: targetOf(url) })),
    failed: failed?.count ?? 0,
    waiting: waiting?.count ?? 0,
    oldestWaitingUs: oldest === null ? undefined : eventTime.get(eventOf(oldest))?.at,
    newestEventUs: newest?.at,
  }
}
