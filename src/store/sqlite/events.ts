import { EVENT_KINDS, type EventKind, isOnlyOnRequest } from '../../events/kinds.ts'
import { type NewEvent, NOT_STORED, type PlacedEvent } from '../operations/calls.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import { NO_FACTS, type Subscribers, subscribersOf } from '../subscription.ts'
import type { Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

/** Returns which webhooks of an account's list want an event of a kind, in the order of the list. */
function subscribers(tx: Tx, accountId: number, kind: EventKind): Subscribers {
  const { obeys } = EVENT_KINDS[kind]
  const rows = prepared<{ id: number; switched: number | null; options: string | null }, [number]>(
    tx,
    `SELECT w.id, ${obeys === null ? 'NULL' : `w.${obeys}`} AS switched, s.options FROM webhooks w
       LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
     WHERE w.account_id = ? AND w.position IS NOT NULL ORDER BY w.position`,
  ).all(accountId)
  return subscribersOf(
    kind,
    rows.map((row) => ({ ...row, switched: row.switched === null ? null : row.switched === 1 })),
  )
}

/** The run of the database that each connection that writes is. */
const runs = new WeakMap<Tx, string>()

/**
 * Begins another history with the first event of each run: whether the file is the one that the run before left, or a
 * copy of it, cannot be known. Writing into an earlier history could give its positions to other events.
 */
function beginHistory(tx: Tx): void {
  const run = runs.get(tx) ?? crypto.randomUUID()
  runs.set(tx, run)
  const last = prepared<{ run: string }, []>(tx, 'SELECT run FROM event_histories ORDER BY began_at DESC LIMIT 1')
  if (last.get()?.run === run) return
  prepared<never, [string]>(
    tx,
    `INSERT OR REPLACE INTO event_histories (began_at, id, run)
     VALUES (max(ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(events_pruned_to) FROM accounts), 0)),
       1 + abs(random() % 4294967295), ?)`,
  ).run(run)
}

/** Returns the difference of wall clock and steady clock. */
const readSteppedUs = (tx: Tx): number =>
  prepared<{ steppedUs: number }, []>(tx, 'SELECT stepped AS steppedUs FROM clock').get()?.steppedUs ?? 0

type NewEvents = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  readonly nowSteadyUs: number
}

/**
 * Stores events, each with one delivery for every webhook of the account's list whose switch for it is on and whose
 * filter matches it, in the order given. An event of a kind that webhooks have to ask for is not stored while none
 * does. Runs inside the caller's mutation, so that call, events and deliveries are committed together.
 */
export function storeEvents(tx: Tx, { accountId, events, nowSteadyUs }: NewEvents): PlacedEvent[] {
  if (events.length === 0) return []
  /** Keyed by the event's kind, and read once for all events of a commit. */
  const subscribed = new Map<EventKind, Subscribers>()
  beginHistory(tx)
  const insertEvent = prepared<never, [string, number, string, string, number, number, string]>(
    tx,
    'INSERT INTO events (uuid, account_id, call_id, name, sequence, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const insertDelivery = prepared<never, [number, number, number, number]>(
    tx,
    'INSERT INTO deliveries (id, webhook_id, state, since, created_at) VALUES (?, ?, 0, ?, ?)',
  )
  const createdUs = nowSteadyUs + readSteppedUs(tx)
  return events.map(({ uuid, callId, name, sequence, atUs, body, facts = NO_FACTS }) => {
    const wanted = subscribed.get(name) ?? subscribers(tx, accountId, name)
    subscribed.set(name, wanted)
    if (!wanted.isAny && isOnlyOnRequest(name)) return NOT_STORED
    const id = Number(insertEvent.run(uuid, accountId, callId, name, sequence, atUs, body).lastInsertRowid)
    const webhookIds = wanted.idsFor(facts)
    webhookIds.forEach((webhookId, place) => {
      insertDelivery.run(id * DELIVERIES_PER_EVENT + place, webhookId, nowSteadyUs, createdUs)
    })
    return { id, webhookIds }
  })
}
