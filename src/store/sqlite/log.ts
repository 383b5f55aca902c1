import { collectInSlices, SLICE_MS } from '../../lib/slices.ts'
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

/** The number of events, or of deliveries in an index, that one part reads at most, regardless of the filter. */
const SPAN = 1_000
/**
 * The events or deliveries of a part that are read in one go. Each may lie in pages of its own that are still on the
 * disk, so a part ends after the first of these steps that comes to an end too late.
 */
const STEP = 64
/**
 * The index of retries is ordered by due time: with more than this many of a webhook, reading by events is faster than
 * sorting them.
 */
const MANY_RETRIES = 5_000

/** Reads deliveries of given events. The plus signs keep the query planner from reading them in another way. */
const FROM_EVENTS = `FROM json_each(?) AS unit CROSS JOIN events e ON e.id = unit.value
  CROSS JOIN deliveries d ON d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
  CROSS JOIN webhooks w ON w.id = d.webhook_id`
/** Reads given deliveries. */
const FROM_DELIVERIES = `FROM json_each(?) AS unit CROSS JOIN deliveries d ON d.id = unit.value
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

/** The ids of the events, or of the deliveries of small indexes, that a part may read, in reading order. */
type Units = {
  readonly ids: readonly number[]
  /** Whether nothing follows them. */
  readonly isEnd: boolean
  /** Reads the matching deliveries of some of them. */
  readonly read: (ids: readonly number[], limit: number) => readonly DeliveryRow[]
  /** Returns the id at which the log continues behind one of them. */
  readonly behind: (id: number) => number
}

/**
 * Reads one part of the log: at most `limit` deliveries that match, below `fromId` with the newest first, or from
 * `fromId` on with the oldest first. It ends early when its time is up, after at least one step.
 */
export function readLog(tx: Tx, query: LogQuery, nowMs: () => number = () => performance.now()): DeliveryPart {
  const { filter, fromId, limit, order } = query
  const untilMs = nowMs() + SLICE_MS
  const { ids, isEnd, read, behind } = unitsOf(tx, filter, rangeOf(tx, filter, fromId, order))
  const rows: DeliveryRow[] = []
  let examined = 0
  while (examined < ids.length && (examined === 0 || nowMs() < untilMs)) {
    const some = ids.slice(examined, examined + STEP)
    rows.push(...read(some, limit - rows.length))
    examined += some.length
    const cutAt = rows.length === limit ? rows.at(-1)?.id : undefined
    // A part that was cut off at the limit continues after its last row.
    if (cutAt !== undefined) return { rows, nextId: order === 'newest' ? cutAt : cutAt + 1, examined }
  }
  const last = ids[examined - 1]
  return { rows, nextId: last === undefined || (isEnd && examined === ids.length) ? null : behind(last), examined }
}

function unitsOf(tx: Tx, filter: LogFilter, range: Range): Units {
  const { state, url, callIds } = filter
  if (callIds !== undefined) return eventsOfCalls(tx, { ...filter, callIds }, range)
  const indexes = state === undefined ? [] : INDEXES[state]
  const webhooks = indexes.length === 0 && url === undefined ? undefined : webhooksOf(tx, filter)
  if (webhooks?.length === 0) return NO_UNITS
  if (webhooks === undefined || indexes.length === 0) return eventsOf(tx, filter, range)
  if (state === 'pending' && webhooks.some((id) => hasManyRetries(tx, id))) return eventsOf(tx, filter, range)
  const places = webhooks.flatMap((webhookId) => indexes.map((index) => ({ webhookId, index })))
  return deliveriesOf(tx, filter, range, places)
}

const NO_UNITS: Units = { ids: [], isEnd: true, read: () => [], behind: (id) => id }

function rangeOf(tx: Tx, { sinceUs, untilUs }: LogFilter, fromId: number, order: LogOrder): Range {
  const sinceId = sinceUs === undefined ? 0 : firstFrom(tx, sinceUs - CLOCK_SLACK_US)
  const untilId = untilUs === undefined ? Number.MAX_SAFE_INTEGER : firstFrom(tx, untilUs + CLOCK_SLACK_US)
  return order === 'newest'
    ? { lowId: sinceId, highId: Math.min(fromId, untilId), order }
    : { lowId: Math.max(fromId, sinceId), highId: untilId, order }
}

type CallsFilter = LogFilter & { readonly callIds: readonly string[] }

/** Reads by the index of calls. A single call has few events; the events of many calls are read in parts. */
function eventsOfCalls(tx: Tx, filter: CallsFilter, range: Range): Units {
  const { lowId, highId, order } = range
  const found = prepared<{ id: number }, [string, number, number]>(
    tx,
    `SELECT id FROM events INDEXED BY events_by_call WHERE call_id IN (SELECT value FROM json_each(?))
     AND +id <= ? AND +id >= ? ORDER BY +id ${SORTED[order]} LIMIT ${SPAN}`,
  ).all(JSON.stringify(filter.callIds), eventIdOf(highId), eventIdOf(lowId))
  return eventUnits(tx, filter, range, found)
}

function eventsOf(tx: Tx, filter: LogFilter, range: Range): Units {
  const { lowId, highId, order } = range
  const mine = filter.accountId === null ? '? IS NOT NULL' : 'account_id = ?'
  const found = prepared<{ id: number }, number[]>(
    tx,
    `SELECT id FROM events WHERE ${mine} AND id <= ? AND id >= ? ORDER BY id ${SORTED[order]} LIMIT ${SPAN}`,
  ).all(filter.accountId ?? 0, eventIdOf(highId), eventIdOf(lowId))
  return eventUnits(tx, filter, range, found)
}

function eventUnits(tx: Tx, filter: LogFilter, range: Range, found: readonly { readonly id: number }[]): Units {
  return {
    ids: found.map(({ id }) => id),
    isEnd: found.length < SPAN,
    read: (ids, limit) => readRows(tx, FROM_EVENTS, ids, { filter, range, limit }),
    behind: (id) => (range.order === 'newest' ? id : id + 1) * DELIVERIES_PER_EVENT,
  }
}

type Place = { readonly webhookId: number; readonly index: Index }

function deliveriesOf(tx: Tx, filter: LogFilter, range: Range, places: readonly Place[]): Units {
  const { lowId, highId, order } = range
  const isNewest = order === 'newest'
  /** So many of each webhook, since an account may have a hundred. */
  const span = Math.max(STEP, Math.ceil(SPAN / places.length))
  const ends: number[] = []
  const ids = places.flatMap(({ webhookId, index }) => {
    const found = prepared<{ id: number }, number[]>(
      tx,
      `SELECT d.id FROM deliveries d INDEXED BY deliveries_${index}
       WHERE d.webhook_id = ? AND ${IN_INDEX[index]} AND d.id < ? AND d.id >= ? ORDER BY d.id ${SORTED[order]} LIMIT ?`,
    ).all(webhookId, highId, lowId, span)
    const last = found.at(-1)
    if (last !== undefined && found.length === span) ends.push(last.id)
    return found.map(({ id }) => id)
  })
  // After the nearest of these ends, deliveries of other webhooks would be missing.
  const end = ends.length === 0 ? undefined : isNewest ? Math.max(...ends) : Math.min(...ends)
  const complete = ids.filter((id) => end === undefined || (isNewest ? id >= end : id <= end))
  const sorted = complete.toSorted((one, other) => (isNewest ? other - one : one - other))
  return {
    ids: sorted.slice(0, SPAN),
    isEnd: end === undefined && sorted.length <= SPAN,
    read: (some, limit) => readRows(tx, FROM_DELIVERIES, some, { filter, range, limit }),
    behind: (id) => (isNewest ? id : id + 1),
  }
}

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

type Matches = { readonly filter: LogFilter; readonly range: Range; readonly limit: number }

/** Reads the deliveries of some units that match, at most `limit`. */
function readRows(tx: Tx, from: string, ids: readonly number[], matches: Matches): DeliveryRow[] {
  const { filter, range, limit } = matches
  const conditions = [within(range), ...conditionsOf(filter)]
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  const sql = `SELECT ${COLUMNS} ${from} WHERE ${where} ORDER BY d.id ${SORTED[range.order]} LIMIT ?`
  return prepared<Row, Bindings>(tx, sql)
    .all(JSON.stringify(ids), ...conditions.flatMap(({ values }) => values), limit)
    .map(rowOf)
}

function conditionsOf(filter: LogFilter): Condition[] {
  const { accountId, state, event, url, sinceUs, untilUs } = filter
  const conditions: Condition[] = []
  const add = (sql: string, ...values: Bindings) => void conditions.push({ sql, values })
  if (accountId !== null) add('e.account_id = ?', accountId)
  // The plus sign keeps the planner from making an index of all deliveries by their state, for this one statement.
  if (state !== undefined) add('+d.state = ?', stateNumber(state))
  if (event !== undefined) add('e.name = ?', event)
  if (url !== undefined) add('w.url = ?', url)
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
