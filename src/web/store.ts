import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { STEPPED } from '../deliveries/clock-store.ts'
import type { LogRow } from '../deliveries/log-store.ts'
import type { Delivery } from '../deliveries/model.ts'
import { DELIVERIES_PER_EVENT } from '../deliveries/outbox.ts'
import { deliveryOf } from '../deliveries/service.ts'
import { rfc3339 } from '../lib/time.ts'
import type { EventWithDeliveries } from './model.ts'

/** What the page reads that no other room shows: all by primary key or index, and bounded. */

type Row = LogRow & { readonly accountId: number }

const DELIVERY = `SELECT d.id, e.account_id AS accountId, e.uuid, e.name AS event, e.call_id AS callId, w.url, d.state,
    d.attempts_made AS attemptsMade, d.due_at + ${STEPPED} AS dueUs, d.created_at AS createdUs, d.ended_at AS endedUs
  FROM deliveries d JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} JOIN webhooks w ON w.id = d.webhook_id`

/** These deliveries as they are now, each with its account. */
export function readDeliveries(tx: Tx, ids: readonly number[]): { accountId: number; delivery: Delivery }[] {
  const one = prepared<Row, [number]>(tx, `${DELIVERY} WHERE d.id = ?`)
  return ids.flatMap((id) => {
    const row = one.get(id)
    return row === null ? [] : [{ accountId: row.accountId, delivery: deliveryOf(row) }]
  })
}

type EventRow = { id: number; uuid: string; name: string; sequence: number; at: number; body: string }

/** More than any call has; a call that has more shows its first ones. */
const MAX_EVENTS = 500

/** The events of a call in their order, each with its deliveries, read as they are asked for. */
export function* readCallEvents(tx: Tx, accountId: number, callId: string): Generator<EventWithDeliveries> {
  const events = prepared<EventRow, [string, number, number]>(
    tx,
    'SELECT id, uuid, name, sequence, at, body FROM events WHERE call_id = ? AND account_id = ? ORDER BY sequence LIMIT ?',
  ).all(callId, accountId, MAX_EVENTS)
  const deliveries = prepared<Row, [number, number]>(tx, `${DELIVERY} WHERE d.id >= ? AND d.id < ? ORDER BY d.id`)
  for (const { id, uuid, name, sequence, at, body } of events)
    yield {
      id: uuid,
      name,
      sequence,
      at: rfc3339(at),
      ...aboutOf(body),
      deliveries: deliveries.all(id * DELIVERIES_PER_EVENT, (id + 1) * DELIVERIES_PER_EVENT).map(deliveryOf),
    }
}

/** Of the body that was sent, what an event is about: the rest is the call itself. Of one that was erased it is not said. */
function aboutOf(body: string): Pick<EventWithDeliveries, 'stage' | 'transfer'> {
  const { erased = false, data } = JSON.parse(body)
  const { stage = null, transfer = null } = erased ? {} : data
  return { stage, transfer }
}

/** Beyond this it is only said that there are more: counting millions would hold everything else up. */
export const MAX_COUNTED = 10_000

export type ListedWebhook = { id: number; url: string; occurrence: number; pending: number }

/** The webhooks of an account's list in order, with the number of pending deliveries of each: counted as it is asked for. */
export function* readListed(tx: Tx, accountId: number): Generator<ListedWebhook> {
  const listed = prepared<Omit<ListedWebhook, 'pending'>, [number]>(
    tx,
    'SELECT id, url, occurrence FROM webhooks WHERE account_id = ? AND position IS NOT NULL ORDER BY position',
  ).all(accountId)
  const count = prepared<{ pending: number }, [number, number]>(
    tx,
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE webhook_id = ? AND state = 0 AND due_at IS NULL LIMIT ${MAX_COUNTED}))
       + (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL LIMIT ${MAX_COUNTED})) AS pending`,
  )
  for (const webhook of listed) yield { ...webhook, pending: count.get(webhook.id, webhook.id)?.pending ?? 0 }
}

export function readAccountOf(tx: Tx, webhookId: number): number | undefined {
  return prepared<{ accountId: number }, [number]>(tx, 'SELECT account_id AS accountId FROM webhooks WHERE id = ?').get(
    webhookId,
  )?.accountId
}

export function readAccountName(tx: Tx, accountId: number): string {
  return prepared<{ name: string }, [number]>(tx, 'SELECT name FROM accounts WHERE id = ?').get(accountId)?.name ?? ''
}
