import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import type { Item } from './line.ts'
import { WAITING } from './record-store.ts'

type Row = {
  id: number
  webhookId: number
  tries: number
  attemptsMade: number
  dueUs: number | null
  sinceUs: number
  uuid: string
  callId: string
  event: string
  atUs: number
  body: string
}

const COLUMNS = `d.id, d.webhook_id AS webhookId, d.tries, d.attempts_made AS attemptsMade, d.due_at AS dueUs, d.since AS sinceUs,
  e.uuid, e.call_id AS callId, e.name AS event, e.at AS atUs, e.body`

const item = ({ dueUs, ...row }: Row): Item => ({ ...row, dueUs: dueUs ?? undefined, unrecorded: 0, leaving: false })

/** The next deliveries of a webhook that were never tried, from after an id on, in their order. Takes the same however many wait. */
export function claimFresh(tx: Tx, webhookId: number, afterId: number, limit: number): Item[] {
  return prepared<Row, [number, number, number]>(
    tx,
    `SELECT ${COLUMNS} FROM deliveries d INDEXED BY deliveries_fresh JOIN events e ON e.id = d.id / 128
     WHERE d.webhook_id = ? AND d.state = 0 AND d.due_at IS NULL AND d.id > ? ORDER BY d.id LIMIT ?`,
  )
    .all(webhookId, afterId, limit)
    .map(item)
}

/** The retries of a webhook that are due, the longest due first. */
export function claimRetries(tx: Tx, webhookId: number, nowUs: number, limit: number): Item[] {
  return prepared<Row, [number, number, number]>(
    tx,
    `SELECT ${COLUMNS} FROM deliveries d INDEXED BY deliveries_retry JOIN events e ON e.id = d.id / 128
     WHERE d.webhook_id = ? AND d.state = 0 AND d.due_at IS NOT NULL AND d.due_at <= ? ORDER BY d.due_at LIMIT ?`,
  )
    .all(webhookId, nowUs, limit)
    .map(item)
}

/** When the next retry of a webhook is due, from a time on; `undefined`: none waits. */
export function nextRetryUs(tx: Tx, webhookId: number, fromUs: number): number | undefined {
  const row = prepared<{ dueUs: number | null }, [number, number]>(
    tx,
    `SELECT min(due_at) AS dueUs FROM deliveries INDEXED BY deliveries_retry
     WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL AND due_at >= ?`,
  ).get(webhookId, fromUs)
  return row?.dueUs ?? undefined
}

export function webhookIds(tx: Tx): number[] {
  return prepared<{ id: number }, []>(tx, 'SELECT id FROM webhooks')
    .all()
    .map(({ id }) => id)
}

/** How many deliveries of a webhook wait, counted as far as `limit`, and since when the oldest of them does. */
export function backlog(tx: Tx, webhookId: number, limit: number): { waiting: number; oldestUs: number | undefined } {
  const row = prepared<{ waiting: number; oldestUs: number | null }, [number, number, number, number]>(
    tx,
    `SELECT count(*) AS waiting, min(created_at) AS oldestUs FROM deliveries WHERE id IN (${WAITING})`,
  ).get(webhookId, limit, webhookId, limit)
  return { waiting: row?.waiting ?? 0, oldestUs: row?.oldestUs ?? undefined }
}
