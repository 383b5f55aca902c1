import { EVENT_KINDS, type EventKind } from '../../lib/event-kinds.ts'
import { DELIVERIES_PER_EVENT, type NewEvent, type PlacedEvent } from '../records.ts'
import { readClock } from './clock.ts'
import type { Tx } from './mutation.ts'
import { prepared } from './prepared.ts'

/** Of an event: its body was erased. Nothing that is sent begins so. */
export const IS_ERASED = `(body LIKE '{"erased":%')`

/** Returns the webhooks of an account's list whose switch for a kind of event is on, in the order of the list. */
function subscribedIds(tx: Tx, accountId: number, kind: EventKind): number[] {
  return prepared<{ id: number }, [number]>(
    tx,
    `SELECT id FROM webhooks WHERE account_id = ? AND position IS NOT NULL AND ${EVENT_KINDS[kind].obeys} = 1 ORDER BY position`,
  )
    .all(accountId)
    .map(({ id }) => id)
}

type NewEvents = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  readonly nowSteadyUs: number
}

/**
 * Stores events, each with one delivery for every webhook of the account's list whose switch for it is on, in the order given.
 * Runs inside the caller's mutation, so that call, events and deliveries are committed together.
 */
export function storeEvents(tx: Tx, { accountId, events, nowSteadyUs }: NewEvents): PlacedEvent[] {
  if (events.length === 0) return []
  /** By the event's kind: read once for all events of a commit. */
  const subscribed = new Map<EventKind, readonly number[]>()
  const insertEvent = prepared<never, [string, number, string, string, number, number, string]>(
    tx,
    'INSERT INTO events (uuid, account_id, call_id, name, sequence, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const insertDelivery = prepared<never, [number, number, number, number]>(
    tx,
    'INSERT INTO deliveries (id, webhook_id, state, since, created_at) VALUES (?, ?, 0, ?, ?)',
  )
  const createdUs = nowSteadyUs + readClock(tx).steppedUs
  return events.map(({ uuid, callId, name, sequence, atUs, body }) => {
    const id = Number(insertEvent.run(uuid, accountId, callId, name, sequence, atUs, body).lastInsertRowid)
    const webhookIds = subscribed.get(name) ?? subscribedIds(tx, accountId, name)
    subscribed.set(name, webhookIds)
    webhookIds.forEach((webhookId, place) => {
      insertDelivery.run(id * DELIVERIES_PER_EVENT + place, webhookId, nowSteadyUs, createdUs)
    })
    return { id, webhookIds }
  })
}
