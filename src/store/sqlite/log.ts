import { collectInSlices } from '../../lib/slices.ts'
import { SECOND } from '../../lib/time.ts'
import { DELIVERY_STATES, type DeliveryState, stateNumber } from '../operations/delivery-state.ts'
import {
  type DeliveryDetailRow,
  type DeliveryPart,
  type DeliveryRow,
  type EventRow,
  type LogFilter,
  type LogOrder,
  type LogStore,
  MAX_EVENTS_OF_CALL,
} from '../operations/log.ts'
import { DELIVERIES_PER_EVENT, eventIdOf } from '../operations/queue.ts'
import { attemptOf, type StoredAttempt } from '../sql/attempts.ts'
import type { EVENT_READER } from '../sql/event-reader.ts'
import type { Database } from './engine/database.ts'
import type { Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

type Bindings = (string | number)[]
type Condition = { readonly sql: string; readonly values: Bindings }

type Row = Omit<DeliveryRow, 'state'> & { readonly state: number }

/** Turns steady time into the wall clock's. */
const STEPPED = '(SELECT stepped FROM clock)'

const COLUMNS = `d.id, e.account_id AS accountId, e.uuid, e.name AS event, e.call_id AS callId, w.url, d.state,
  d.attempts_made AS attemptsMade, d.due_at + ${STEPPED} AS dueUs, d.created_at AS createdUs, d.ended_at AS endedUs`
const JOINED = `FROM deliveries d JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} JOIN webhooks w ON w.id = d.webhook_id`

const rowOf = <Found extends Row>({ state, ...row }: Found) => ({ ...row, state: DELIVERY_STATES[state] ?? 'pending' })

/** The ids to read, from `lowId` to below `highId`, and which end is read first. */
type Range = { readonly lowId: number; readonly highId: number; readonly order: LogOrder }
const SORTED: Readonly<Record<LogOrder, 'DESC' | 'ASC'>> = { newest: 'DESC', oldest: 'ASC' }

/**
 * The number of events, or of deliveries in an index, that one part reads: a few milliseconds, regardless of the
 * filter.
 */
const SPAN = 1_000
/**
 * The index of retries is ordered by due time: with more than this many of a webhook, reading by events is faster than
 * sorting them.
 */
const MANY_RETRIES = 5_000

/**
 * Reads by events, whose ids have the order of the deliveries' ids. The plus signs keep the query planner from using
 * other bounds, with which it would read all deliveries after each event.
 */
const fromEvents = (index = '') => `FROM events e ${index}
  CROSS JOIN deliveries d ON d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
  CROSS JOIN webhooks w ON w.id = d.webhook_id`
/** Reads by one of the small indexes, for one webhook. */
const fromIndex = (index: Index) => `FROM deliveries d INDEXED BY deliveries_${index}
  CROSS JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} CROSS JOIN webhooks w ON w.id = d.webhook_id`

type Index = 'fresh' | 'retry' | 'lost'
const IN_INDEX: Readonly<Record<Index, string>> = {
  fresh: 'd.state = 0 AND d.due_at IS NULL',
  retry: 'd.state = 0 AND d.due_at IS NOT NULL',
  lost: 'd.state > 1',
}
/** The indexes that contain the deliveries of a state, without the many delivered ones. */
const INDEXES: Readonly<Record<DeliveryState, readonly Index[]>> = {
  pending: ['fresh', 'retry'],
  delivered: [],
  failed: ['lost'],
  cancelled: ['lost'],
}

type LogQuery = {
  readonly filter: LogFilter
  readonly fromId: number
  readonly limit: number
  readonly order: LogOrder
}

/**
 * Reads one part of the log: at most `limit` deliveries that match, below `fromId` with the newest first, or from
 * `fromId` on with the oldest first.
 */
export function readLog(tx: Tx, { filter, fromId, limit, order }: LogQuery): DeliveryPart {
  const { state, url, callIds } = filter
  const range = rangeOf(tx, filter, fromId, order)
  if (callIds !== undefined) return readByCalls(tx, { ...filter, callIds }, range, limit)
  const indexes = state === undefined ? [] : INDEXES[state]
  const webhooks = indexes.length === 0 && url === undefined ? undefined : webhooksOf(tx, filter)
  if (webhooks?.length === 0) return { rows: [], nextId: null }
  if (webhooks === undefined || indexes.length === 0) return readByEvents(tx, filter, range, limit)
  if (state === 'pending' && webhooks.some((id) => hasManyRetries(tx, id)))
    return readByEvents(tx, filter, range, limit)
  const places = webhooks.flatMap((webhookId) => indexes.map((index) => ({ webhookId, index })))
  return readByIndexes(tx, filter, range, limit, places)
}

function rangeOf(tx: Tx, { sinceUs, untilUs }: LogFilter, fromId: number, order: LogOrder): Range {
  const sinceId = sinceUs === undefined ? 0 : firstFrom(tx, sinceUs - CLOCK_SLACK_US)
  const untilId = untilUs === undefined ? Number.MAX_SAFE_INTEGER : firstFrom(tx, untilUs + CLOCK_SLACK_US)
  return order === 'newest'
    ? { lowId: sinceId, highId: Math.min(fromId, untilId), order }
    : { lowId: Math.max(fromId, sinceId), highId: untilId, order }
}

const OF_CALLS = 'call_id IN (SELECT value FROM json_each(?))'

type CallsFilter = LogFilter & { readonly callIds: readonly string[] }

/** Reads by the index of calls. A single call has few events; the events of many calls are read in parts. */
function readByCalls(tx: Tx, filter: CallsFilter, range: Range, limit: number): DeliveryPart {
  const { lowId, highId, order } = range
  const [first, last] = [eventIdOf(lowId), eventIdOf(highId)]
  const end = prepared<{ id: number }, [string, number, number, number]>(
    tx,
    `SELECT id FROM events INDEXED BY events_by_call WHERE ${OF_CALLS} AND +id <= ? AND +id >= ?
     ORDER BY +id ${SORTED[order]} LIMIT 1 OFFSET ?`,
  ).get(JSON.stringify(filter.callIds), last, first, SPAN - 1)?.id
  const bounds = order === 'newest' ? [end ?? first, last] : [first, end ?? last]
  const part = { sql: '+e.id >= ? AND +e.id <= ?', values: bounds }
  const conditions = [part, within(range), ...conditionsOf(filter)]
  const rows = readRows(tx, fromEvents('INDEXED BY events_by_call'), conditions, eventOrder(range), limit)
  return partOf(rows, limit, range, restAfter(end, order))
}

/** Returns the id at which the next part begins; `null` after the last event. */
function restAfter(end: number | undefined, order: LogOrder): number | null {
  if (end === undefined) return null
  return (order === 'newest' ? end : end + 1) * DELIVERIES_PER_EVENT
}

function readByEvents(tx: Tx, filter: LogFilter, range: Range, limit: number): DeliveryPart {
  const { lowId, highId, order } = range
  const [first, last] = [eventIdOf(lowId), eventIdOf(highId)]
  const mine = filter.accountId === null ? '? IS NOT NULL' : 'account_id = ?'
  const end = prepared<{ id: number }, number[]>(
    tx,
    `SELECT id FROM events WHERE ${mine} AND id <= ? AND id >= ? ORDER BY id ${SORTED[order]} LIMIT 1 OFFSET ?`,
  ).get(filter.accountId ?? 0, last, first, SPAN - 1)?.id
  const bounds = order === 'newest' ? [end ?? first, last] : [first, end ?? last]
  const part = { sql: 'e.id >= ? AND e.id <= ?', values: bounds }
  const conditions = [part, within(range), ...conditionsOf(filter)]
  const rows = readRows(tx, fromEvents(), conditions, eventOrder(range), limit)
  return partOf(rows, limit, range, restAfter(end, order))
}

type Place = { readonly webhookId: number; readonly index: Index }

function readByIndexes(tx: Tx, filter: LogFilter, range: Range, limit: number, places: readonly Place[]): DeliveryPart {
  const { lowId, highId, order } = range
  const sorted = SORTED[order]
  const inside = ({ index }: Place) => `d.webhook_id = ? AND ${IN_INDEX[index]} AND d.id < ? AND d.id >= ?`
  const ends = places.flatMap((place) => {
    const sql = `SELECT d.id FROM deliveries d INDEXED BY deliveries_${place.index} WHERE ${inside(place)}`
    const end = prepared<{ id: number }, number[]>(tx, `${sql} ORDER BY d.id ${sorted} LIMIT 1 OFFSET ?`)
    return end.get(place.webhookId, highId, lowId, SPAN - 1)?.id ?? []
  })
  // After the nearest of these ends, deliveries of other webhooks would be missing.
  const low = order === 'newest' ? Math.max(lowId, ...ends) : lowId
  const high = order === 'newest' ? highId : Math.min(highId, ...ends.map((id) => id + 1))
  const rows = places
    .flatMap((place) => {
      const part = { sql: inside(place), values: [place.webhookId, high, low] }
      return readRows(tx, fromIndex(place.index), [part, ...conditionsOf(filter)], `d.id ${sorted}`, limit)
    })
    .sort((one, other) => (order === 'newest' ? other.id - one.id : one.id - other.id))
    .slice(0, limit)
  return partOf(rows, limit, range, ends.length === 0 ? null : order === 'newest' ? low : high)
}

/** A part that was cut off at the limit continues after its last row. */
function partOf(rows: readonly DeliveryRow[], limit: number, { order }: Range, nextId: number | null): DeliveryPart {
  const last = rows.length === limit ? rows.at(-1)?.id : undefined
  if (last === undefined) return { rows, nextId }
  return { rows, nextId: order === 'newest' ? last : last + 1 }
}

const eventOrder = ({ order }: Range) => `e.id ${SORTED[order]}, d.id ${SORTED[order]}`
const within = ({ lowId, highId }: Range): Condition => ({ sql: '+d.id < ? AND +d.id >= ?', values: [highId, lowId] })

function webhooksOf(tx: Tx, { accountId, url }: LogFilter): number[] {
  return prepared<{ id: number }, [number | null, string | null]>(
    tx,
    'SELECT id FROM webhooks WHERE account_id = ifnull(?, account_id) AND url = ifnull(?, url)',
  )
    .all(accountId, url ?? null)
    .map(({ id }) => id)
}

function hasManyRetries(tx: Tx, webhookId: number): boolean {
  const row = prepared<{ count: number }, [number, number]>(
    tx,
    `SELECT count(*) AS count FROM (SELECT 1 FROM deliveries d INDEXED BY deliveries_retry
       WHERE d.webhook_id = ? AND ${IN_INDEX.retry} LIMIT ?)`,
  ).get(webhookId, MANY_RETRIES)
  return row?.count === MANY_RETRIES
}

function readRows(tx: Tx, from: string, conditions: readonly Condition[], order: string, limit: number): DeliveryRow[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  const sql = `SELECT ${COLUMNS} ${from} WHERE ${where} ORDER BY ${order} LIMIT ?`
  return prepared<Row, Bindings>(tx, sql)
    .all(...conditions.flatMap(({ values }) => values), limit)
    .map(rowOf)
}

function conditionsOf(filter: LogFilter): Condition[] {
  const { accountId, state, event, url, callIds, sinceUs, untilUs } = filter
  const conditions: Condition[] = []
  const add = (sql: string, ...values: Bindings) => void conditions.push({ sql, values })
  if (accountId !== null) add('e.account_id = ?', accountId)
  // The plus sign keeps the planner from making an index of all deliveries by their state, for this one statement.
  if (state !== undefined) add('+d.state = ?', stateNumber(state))
  if (event !== undefined) add('e.name = ?', event)
  if (url !== undefined) add('w.url = ?', url)
  if (callIds !== undefined) add(`e.${OF_CALLS}`, JSON.stringify(callIds))
  if (sinceUs !== undefined) add('d.created_at >= ?', sinceUs)
  if (untilUs !== undefined) add('d.created_at < ?', untilUs)
  return conditions
}

/** Read in addition at both ends: after the clock was set back, times do not grow with the ids. */
const CLOCK_SLACK_US = 3_600 * SECOND

/** Returns the first id created at or after a time. Ids grow with time, so a binary search needs no index. */
function firstFrom(tx: Tx, atUs: number): number {
  const nextOf = prepared<{ id: number; createdUs: number }, [number]>(
    tx,
    'SELECT id, created_at AS createdUs FROM deliveries WHERE id >= ? ORDER BY id LIMIT 1',
  )
  const { last } = prepared<{ last: number | null }, []>(tx, 'SELECT max(id) AS last FROM deliveries').get() ?? {}
  let low = 0
  let high = (last ?? 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = nextOf.get(middle)
    if (found === null || found.createdUs >= atUs) high = middle
    else low = found.id + 1
  }
  return low
}

function readDelivery(tx: Tx, accountId: number | null, id: number): DeliveryDetailRow | undefined {
  const row = prepared<Row & { body: string }, [number, number | null]>(
    tx,
    `SELECT ${COLUMNS}, e.body ${JOINED} WHERE d.id = ? AND e.account_id = ifnull(?, e.account_id)`,
  ).get(id, accountId)
  if (row === null) return undefined
  const attempts = prepared<StoredAttempt, [number]>(
    tx,
    `SELECT at AS atUs, probe, status, duration_ms AS durationMs, error, address, response, step, method, url, kept
     FROM all_attempts WHERE delivery_id = ? ORDER BY at`,
  ).all(id)
  return { ...rowOf(row), attempts: attempts.map(attemptOf) }
}

function* readEventsOfCall(tx: Tx, accountId: number, callId: string): Generator<EventRow> {
  const events = prepared<Omit<EventRow, 'deliveries'> & { id: number }, [string, number, number]>(
    tx,
    `SELECT id, uuid, name, sequence, at AS atUs, body FROM events
     WHERE call_id = ? AND account_id = ? ORDER BY sequence, id LIMIT ?`,
  ).all(callId, accountId, MAX_EVENTS_OF_CALL)
  const deliveries = prepared<Row, [number, number]>(
    tx,
    `SELECT ${COLUMNS} ${JOINED} WHERE d.id >= ? AND d.id < ? ORDER BY d.id`,
  )
  for (const { id, ...event } of events)
    yield {
      ...event,
      deliveries: deliveries.all(id * DELIVERIES_PER_EVENT, (id + 1) * DELIVERIES_PER_EVENT).map(rowOf),
    }
}

/** Creates the log operations of the engine: deliveries and events of calls. */
export function createLogStore({ read }: Database): Omit<LogStore, keyof typeof EVENT_READER> {
  return {
    deliveryList: async (query) => readLog(read, query),
    deliveryGet: async (accountId, id) => readDelivery(read, accountId, id),
    async deliveryGetMany(ids) {
      const one = prepared<Row, [number]>(read, `SELECT ${COLUMNS} ${JOINED} WHERE d.id = ?`)
      return ids.flatMap((id) => one.get(id) ?? []).map(rowOf)
    },
    eventListOfCall: (accountId, callId) => collectInSlices(readEventsOfCall(read, accountId, callId)),
  }
}
