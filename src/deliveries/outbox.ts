import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { readStepped } from './clock-store.ts'
import { EVENT_NAMES } from './names.ts'

/**
 * A delivery's id is its event's id × 128 + its place among that event's deliveries: the highest place is 99, since a list holds
 * 100 webhooks at most.
 */
export const DELIVERIES_PER_EVENT = 128
export const eventOf = (deliveryId: number) => Math.floor(deliveryId / DELIVERIES_PER_EVENT)

/** Of an event: its body was erased. Nothing that is sent begins so. */
export const IS_ERASED = `(body LIKE '{"erased":%')`

/** An event to be told. `body` is the request's body as it will be sent. */
export type NewEvent = {
  readonly uuid: string
  readonly callId: string
  readonly name: string
  readonly sequence: number
  readonly atUs: number
  readonly body: string
}

/** An event that is stored with its deliveries: all that the dispatcher needs to send it without reading it again. */
export type Stored = NewEvent & {
  readonly id: number
  readonly accountId: number
  /** When the schedule of its deliveries began. */
  readonly sinceUs: number
  readonly deliveries: readonly { readonly id: number; readonly webhookId: number }[]
}

/** Where an event was stored, and the webhooks it is for, in the order of its deliveries. Bodies do not cross threads twice. */
export type Placed = { readonly id: number; readonly webhookIds: readonly number[] }

/** Puts together what was asked for and where it was stored. */
export function storedOf(
  { accountId, events, nowUs: sinceUs }: Pick<Enqueue, 'accountId' | 'events' | 'nowUs'>,
  placed: readonly Placed[],
): Stored[] {
  return placed.flatMap(({ id, webhookIds }, index) => {
    const event = events[index]
    if (event === undefined) return []
    const deliveries = webhookIds.map((webhookId, place) => ({ id: id * DELIVERIES_PER_EVENT + place, webhookId }))
    return [{ ...event, id, accountId, sinceUs, deliveries }]
  })
}

export type Enqueue = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  /** In steady time (clock). */
  readonly nowUs: number
}

/** The column of the switch that rules an event. Both transfers obey one. */
const SWITCHES: ReadonlyMap<string, string> = new Map(
  EVENT_NAMES.map((name) => [name, /_transferred$/.test(name) ? 'call_transferred' : name]),
)

/** The webhooks of an account's list that are told of an event of this name, in the order of the list. */
function toldOf(tx: Tx, accountId: number, name: string): number[] {
  const column = SWITCHES.get(name)
  if (column === undefined) throw new Error(`no event is called ${name}`)
  return prepared<{ id: number }, [number]>(
    tx,
    `SELECT id FROM webhooks WHERE account_id = ? AND position IS NOT NULL AND ${column} = 1 ORDER BY position`,
  )
    .all(accountId)
    .map(({ id }) => id)
}

/**
 * Stores events, each with one delivery for every webhook of the account's list whose switch for it is on, in the order given.
 * Runs inside the caller's mutation, so that call, events and deliveries are committed together.
 */
export function enqueueEvents(tx: Tx, { accountId, events, nowUs }: Enqueue): Placed[] {
  if (events.length === 0) return []
  /** By the event's name: read once for all events of a commit. */
  const told = new Map<string, readonly number[]>()
  const insertEvent = prepared<never, [string, number, string, string, number, number, string]>(
    tx,
    'INSERT INTO events (uuid, account_id, call_id, name, sequence, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const insertDelivery = prepared<never, [number, number, number, number]>(
    tx,
    'INSERT INTO deliveries (id, webhook_id, state, since, created_at) VALUES (?, ?, 0, ?, ?)',
  )
  const createdUs = nowUs + readStepped(tx).steppedUs
  return events.map(({ uuid, callId, name, sequence, atUs, body }) => {
    const id = Number(insertEvent.run(uuid, accountId, callId, name, sequence, atUs, body).lastInsertRowid)
    const webhookIds = told.get(name) ?? toldOf(tx, accountId, name)
    told.set(name, webhookIds)
    webhookIds.forEach((webhookId, place) => {
      insertDelivery.run(id * DELIVERIES_PER_EVENT + place, webhookId, nowUs, createdUs)
    })
    return { id, webhookIds }
  })
}

/** Events with nothing else to store beside them. */
export const enqueue = mutation('deliveries.enqueue', enqueueEvents)
