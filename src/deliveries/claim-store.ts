import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import type { Item } from './line.ts'

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

/** Returns the retries of a webhook that are due at a steady time, the longest due first; those made due together in their order. */
export function claimRetries(tx: Tx, webhookId: number, steadyUs: number, limit: number): Item[] {
  return prepared<Row, [number, number, number]>(
    tx,
    `SELECT ${COLUMNS} FROM deliveries d INDEXED BY deliveries_retry JOIN events e ON e.id = d.id / 128
     WHERE d.webhook_id = ? AND d.state = 0 AND d.due_at IS NOT NULL AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
  )
    .all(webhookId, steadyUs, limit)
    .map(item)
}

/** Returns a delivery that is pending; `undefined`: it is not, or no more. */
export function claimOne(tx: Tx, id: number): Item | undefined {
  const row = prepared<Row, [number]>(
    tx,
    `SELECT ${COLUMNS} FROM deliveries d JOIN events e ON e.id = d.id / 128 WHERE d.id = ? AND d.state = 0`,
  ).get(id)
  return row === null ? undefined : item(row)
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

/** The webhooks for which something may wait: those in a list, and those that have not finished leaving it. */
export function webhookIds(tx: Tx): number[] {
  return prepared<{ id: number }, []>(tx, 'SELECT id FROM webhooks WHERE position IS NOT NULL OR cancelled_to > 0')
    .all()
    .map(({ id }) => id)
}

/** Beyond this a backlog is only said to be as long: counting more would hold up the event loop. */
export const MOST_COUNTED = 1_000_000

/** How many deliveries wait, in all. */
export function countWaiting(tx: Tx): number {
  const fresh = `SELECT 1 FROM deliveries INDEXED BY deliveries_fresh WHERE state = 0 AND due_at IS NULL LIMIT ${MOST_COUNTED}`
  const retry = `SELECT 1 FROM deliveries INDEXED BY deliveries_retry WHERE state = 0 AND due_at IS NOT NULL LIMIT ${MOST_COUNTED}`
  const row = prepared<{ waiting: number }, []>(
    tx,
    `SELECT (SELECT count(*) FROM (${fresh})) + (SELECT count(*) FROM (${retry})) AS waiting`,
  ).get()
  return row?.waiting ?? 0
}

/** Since when (steady time) the longest waiting delivery of a webhook waits, of those never tried and the retry that is due first. */
export function oldestUs(tx: Tx, webhookId: number): number | undefined {
  const fresh = `SELECT since AS at FROM deliveries INDEXED BY deliveries_fresh
    WHERE webhook_id = ? AND state = 0 AND due_at IS NULL ORDER BY id LIMIT 1`
  const retry = `SELECT since AS at FROM deliveries INDEXED BY deliveries_retry
    WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`
  const row = prepared<{ oldest: number | null }, [number, number]>(
    tx,
    `SELECT min(at) AS oldest FROM (SELECT * FROM (${fresh}) UNION ALL SELECT * FROM (${retry}))`,
  ).get(webhookId, webhookId)
  return row?.oldest ?? undefined
}
