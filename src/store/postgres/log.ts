import { SECOND } from '../../lib/time.ts'
import { DELIVERY_STATES, stateNumber } from '../operations/delivery-state.ts'
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
import { bigints, type Query, texts, type Value } from './engine/client.ts'
import type { Database } from './engine/database.ts'

type Row = Omit<DeliveryRow, 'state'> & { readonly state: number }

/** Converts steady time to wall-clock time. */
const STEPPED = '(SELECT stepped FROM clock)'

const COLUMNS = `d.id, e.account_id AS "accountId", e.uuid, e.name AS event, e.call_id AS "callId", w.url,
  d.state::int AS state, d.attempts_made AS "attemptsMade", (d.due_at + ${STEPPED}) AS "dueUs",
  d.created_at AS "createdUs", d.ended_at AS "endedUs"`
/** The columns of an event that the log shows: all but its body. */
const OF_EVENT = 'id, account_id, uuid, name, call_id'

// Statements are planned before the server has counted the rows of a new partition. A `LIMIT` in a lateral join leaves
// the planner one way: to look each row up by the primary key, never to scan and join whole tables.

/** Joins deliveries `d` to their events `e` and webhooks `w`. `columns`: of the event. */
const joined = (columns = OF_EVENT) =>
  `CROSS JOIN LATERAL (SELECT ${columns} FROM events WHERE id = d.id / ${DELIVERIES_PER_EVENT} LIMIT 1) AS e ${WEBHOOK}`
const WEBHOOK = 'CROSS JOIN LATERAL (SELECT id, url FROM webhooks WHERE id = d.webhook_id LIMIT 1) AS w'
/** Joins events `e` to their deliveries `d`. */
const DELIVERIES = `CROSS JOIN LATERAL (SELECT * FROM deliveries
  WHERE id >= e.id * ${DELIVERIES_PER_EVENT} AND id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
  ORDER BY id LIMIT ${DELIVERIES_PER_EVENT}) AS d`

const rowOf = ({ state, ...row }: Row): DeliveryRow => ({ ...row, state: DELIVERY_STATES[state] ?? 'pending' })

/** The number of events or deliveries that one part reads: some milliseconds, regardless of the filter. */
const SPAN = 1_000
/** The index of retries is ordered by due time: with more than this many of a webhook they are not sorted by id. */
const MANY_RETRIES = 5_000
/** After the clock was set back, times do not grow with the ids: read this much more at both ends. */
const CLOCK_SLACK_US = 3_600 * SECOND
const SORTED: Readonly<Record<LogOrder, 'DESC' | 'ASC'>> = { newest: 'DESC', oldest: 'ASC' }

type LogQuery = {
  readonly filter: LogFilter
  readonly fromId: number
  readonly limit: number
  readonly order: LogOrder
}

/** The deliveries to read, from `lowId` to below `highId`. */
type Range = { readonly lowId: number; readonly highId: number; readonly order: LogOrder }

/** Collects the values of a statement. */
function newValues() {
  const values: Value[] = []
  const add = (value: Value, type: string): string => `$${values.push(value)}::${type}`
  return { values, add }
}
type Add = ReturnType<typeof newValues>['add']

/**
 * The unit of a part of the log: `unit` selects the next events, or the next deliveries of a small index, at most SPAN
 * in the order of their ids. `isOfEvents`: whether the unit is an event.
 */
type Source = { readonly unit: string; readonly isOfEvents: boolean }

/**
 * Reads the matching deliveries in a part of the log, at most `limit`: below `fromId`, the newest first, or from it on,
 * the oldest first. A part is the range of rows that one index read finds; it is filtered afterwards.
 */
export async function readLog(query: Query, { filter, fromId, limit, order }: LogQuery): Promise<DeliveryPart> {
  const range = await rangeOf(query, filter, fromId, order)
  if (range.lowId >= range.highId) return { rows: [], nextId: null, examined: 0 }
  const { values, add } = newValues()
  const { unit, isOfEvents } = await sourceOf(query, filter, range, add)
  const sorted = SORTED[order]
  const from = isOfEvents ? `(${unit}) AS e ${DELIVERIES} ${WEBHOOK}` : `(${unit}) AS d ${joined()}`
  const conditions = [within('d.id', range, add), ...conditionsOf(filter, add)].join(' AND ')
  const most = add(limit, 'int')
  // The end of the part is needed only if the rows do not fill the limit. Both are read in one statement, since
  // deliveries are stored and end at any time.
  const rows = await query<Row & { units: number; last: number }>(
    `WITH found AS MATERIALIZED (SELECT ${COLUMNS} FROM ${from} WHERE ${conditions}
         ORDER BY ${isOfEvents ? `e.id ${sorted}, ` : ''}d.id ${sorted} LIMIT ${most}),
       reach AS (SELECT count(*)::int AS units, ${order === 'newest' ? 'min' : 'max'}(id) AS last FROM (${unit}) AS u
         WHERE (SELECT count(*) FROM found) < ${most})
     SELECT found.*, reach.units, reach.last FROM reach LEFT JOIN found ON TRUE`,
    values,
  )
  const { units = 0, last = 0 } = rows[0] ?? {}
  const found = rows.filter(({ id }) => id !== null).map(({ units: _units, last: _last, ...row }) => rowOf(row))
  found.sort((one, other) => (order === 'newest' ? other.id - one.id : one.id - other.id))
  // A part that was cut off at the limit continues after its last row.
  const cutAt = found.length === limit ? found.at(-1)?.id : undefined
  if (cutAt !== undefined) return { rows: found, nextId: order === 'newest' ? cutAt : cutAt + 1, examined: limit }
  const rest = (order === 'newest' ? last : last + 1) * (isOfEvents ? DELIVERIES_PER_EVENT : 1)
  return { rows: found, nextId: units < SPAN ? null : rest, examined: units }
}

async function rangeOf(query: Query, { sinceUs, untilUs }: LogFilter, fromId: number, order: LogOrder): Promise<Range> {
  const sinceId = sinceUs === undefined ? 0 : await firstFrom(query, sinceUs - CLOCK_SLACK_US)
  const untilId = untilUs === undefined ? Number.MAX_SAFE_INTEGER : await firstFrom(query, untilUs + CLOCK_SLACK_US)
  return order === 'newest'
    ? { lowId: sinceId, highId: Math.min(fromId, untilId), order }
    : { lowId: Math.max(fromId, sinceId), highId: untilId, order }
}

const within = (id: string, { lowId, highId }: Range, add: Add): string =>
  `${id} >= ${add(lowId, 'bigint')} AND ${id} < ${add(highId, 'bigint')}`

async function sourceOf(query: Query, filter: LogFilter, range: Range, add: Add): Promise<Source> {
  const { state, callIds } = filter
  if (callIds !== undefined) return sourceOfCalls(callIds, range, add)
  if (state === 'failed' || state === 'cancelled') return lostSource(filter, range, add)
  if (state !== 'pending') return eventSource(filter, range, add)
  return isOfWebhooks(filter) && !(await hasManyRetries(query, filter))
    ? pendingSourceOfWebhooks(filter, range, add)
    : pendingSource(range, add)
}

/** The condition that an event may have deliveries of a range. */
const withinEvents = ({ lowId, highId }: Range, id: string, add: Add): string =>
  `${id} >= ${add(eventIdOf(lowId), 'bigint')} AND ${id} <= ${add(eventIdOf(highId - 1), 'bigint')}`

const ordered = ({ order }: Range, id = 'id') => `ORDER BY ${id} ${SORTED[order]} LIMIT ${SPAN}`

function eventSource(filter: LogFilter, range: Range, add: Add): Source {
  const { accountId } = filter
  const mine = accountId === null ? '' : `account_id = ${add(accountId, 'bigint')} AND`
  const unit = `SELECT ${OF_EVENT} FROM events WHERE ${mine} ${withinEvents(range, 'id', add)} ${ordered(range)}`
  return { unit, isOfEvents: true }
}

/** Reads by the index of calls. A single call has few events; the events of many calls are read in parts. */
function sourceOfCalls(callIds: readonly string[], range: Range, add: Add): Source {
  const calls = `unnest(${add(texts([...new Set(callIds)]), 'text[]')}) AS c(id)`
  // Without the offset the planner could read all events in the order of their ids until enough are of these calls.
  const unit = `SELECT e.* FROM ${calls} CROSS JOIN LATERAL
    (SELECT ${OF_EVENT} FROM events WHERE call_id = c.id OFFSET 0) AS e
    WHERE ${withinEvents(range, 'e.id', add)} ${ordered(range, 'e.id')}`
  return { unit, isOfEvents: true }
}

const byDeliveries = (unit: string): Source => ({ unit, isOfEvents: false })

const PENDING = `*, 0::smallint AS state, NULL::bigint AS ended_at`

/** Reads the pending deliveries of all accounts: they are few, or most of them are of this account. */
const pendingSource = (range: Range, add: Add): Source =>
  byDeliveries(`SELECT ${PENDING} FROM pending_deliveries WHERE ${within('id', range, add)} ${ordered(range)}`)

function pendingSourceOfWebhooks(filter: LogFilter, range: Range, add: Add): Source {
  const webhooks = webhooksOf(filter, add)
  const inRange = within('id', range, add)
  const of = (condition: string, rest: string) => `SELECT d.* FROM (${webhooks}) AS w CROSS JOIN LATERAL
    (SELECT ${PENDING} FROM pending_deliveries WHERE webhook_id = w.id AND ${condition} AND ${inRange} ${rest}) AS d`
  const retries = `ORDER BY due_at LIMIT ${MANY_RETRIES}`
  return byDeliveries(
    `SELECT * FROM (${of('due_at IS NULL', ordered(range))} UNION ALL ${of('due_at IS NOT NULL', retries)}) AS d ${ordered(range)}`,
  )
}

/** Whether a filter is limited to the webhooks of an account, or of a URL. */
const isOfWebhooks = ({ accountId, url }: LogFilter): boolean => accountId !== null || url !== undefined

async function hasManyRetries(query: Query, filter: LogFilter): Promise<boolean> {
  const { values, add } = newValues()
  const [row] = await query<{ many: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM (${webhooksOf(filter, add)}) AS w CROSS JOIN LATERAL
       (SELECT 1 FROM pending_deliveries WHERE webhook_id = w.id AND due_at IS NOT NULL
        ORDER BY due_at LIMIT 1 OFFSET ${MANY_RETRIES - 1}) AS d) AS many`,
    values,
  )
  return row?.many === true
}

/** Reads by the index of deliveries that were not delivered. */
function lostSource(filter: LogFilter, range: Range, add: Add): Source {
  return byDeliveries(`SELECT d.* FROM (${webhooksOf(filter, add)}) AS w CROSS JOIN LATERAL
    (SELECT *, NULL::bigint AS due_at FROM ended_deliveries
     WHERE webhook_id = w.id AND state > 1 AND ${within('id', range, add)} ${ordered(range)}) AS d ${ordered(range)}`)
}

function webhooksOf({ accountId, url }: LogFilter, add: Add): string {
  const conditions = ['TRUE']
  if (accountId !== null) conditions.push(`account_id = ${add(accountId, 'bigint')}`)
  if (url !== undefined) conditions.push(`url = ${add(url, 'text')}`)
  return `SELECT id FROM webhooks WHERE ${conditions.join(' AND ')}`
}

function conditionsOf(filter: LogFilter, add: Add): string[] {
  const { accountId, state, event, url, sinceUs, untilUs } = filter
  const conditions: string[] = []
  if (accountId !== null) conditions.push(`e.account_id = ${add(accountId, 'bigint')}`)
  if (state !== undefined) conditions.push(`d.state = ${add(stateNumber(state), 'smallint')}`)
  if (event !== undefined) conditions.push(`e.name = ${add(event, 'text')}`)
  if (url !== undefined) conditions.push(`w.url = ${add(url, 'text')}`)
  if (sinceUs !== undefined) conditions.push(`d.created_at >= ${add(sinceUs, 'bigint')}`)
  if (untilUs !== undefined) conditions.push(`d.created_at < ${add(untilUs, 'bigint')}`)
  return conditions
}

/** Returns the first delivery at or after a time: ids grow with time, so a binary search finds it without an index. */
async function firstFrom(query: Query, atUs: number): Promise<number> {
  const [row] = await query<{ last: number }>('SELECT last_value AS last FROM event_ids')
  let low = 0
  let high = (row?.last ?? 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [found] = await query<{ id: number; atUs: number }>(
      'SELECT id, at AS "atUs" FROM events WHERE id >= $1 ORDER BY id LIMIT 1',
      [middle],
    )
    if (found === undefined || found.atUs >= atUs) high = middle
    else low = found.id + 1
  }
  return low * DELIVERIES_PER_EVENT
}

async function readDelivery(read: Query, accountId: number | null, id: number): Promise<DeliveryDetailRow | undefined> {
  const [row] = await read<Row & { body: string }>(
    `SELECT ${COLUMNS}, e.body FROM (SELECT * FROM deliveries WHERE id = $1 LIMIT 1) AS d ${joined('*')}
     WHERE e.account_id = coalesce($2, e.account_id)`,
    [id, accountId],
  )
  if (row === undefined) return undefined
  const { body, ...rest } = row
  const attempts = await read<StoredAttempt>(
    `SELECT at AS "atUs", probe, status, duration_ms AS "durationMs", error, address, response, step, method, url, kept
     FROM all_attempts WHERE delivery_id = $1 ORDER BY at`,
    [id],
  )
  return { ...rowOf(rest), body, attempts: attempts.map(attemptOf) }
}

async function readEventsOfCall(read: Query, accountId: number, callId: string): Promise<EventRow[]> {
  const events = await read<Omit<EventRow, 'deliveries'> & { id: number }>(
    `SELECT * FROM (SELECT id, uuid, name, sequence, at AS "atUs", body, account_id FROM events WHERE call_id = $1 OFFSET 0) AS e
     WHERE account_id = $2 ORDER BY sequence, id LIMIT $3::int`,
    [callId, accountId, MAX_EVENTS_OF_CALL],
  )
  const rows = await read<Row>(
    `SELECT ${COLUMNS} FROM (SELECT e.* FROM unnest($1::bigint[]) AS u(id) CROSS JOIN LATERAL
       (SELECT ${OF_EVENT} FROM events WHERE id = u.id LIMIT 1) AS e) AS e ${DELIVERIES} ${WEBHOOK} ORDER BY d.id`,
    [bigints(events.map(({ id }) => id))],
  )
  const byEvent = Map.groupBy(rows, ({ id }) => eventIdOf(id))
  return events.map(({ id, uuid, name, sequence, atUs, body }) => ({
    uuid,
    name,
    sequence,
    atUs,
    body,
    deliveries: (byEvent.get(id) ?? []).map(rowOf),
  }))
}

/** Creates the log operations of the engine: deliveries and events of calls. */
export function createLogStore({ read }: Pick<Database, 'read'>): Omit<LogStore, keyof typeof EVENT_READER> {
  return {
    deliveryList: (asked) => readLog(read, asked),
    deliveryGet: (accountId, id) => readDelivery(read, accountId, id),
    async deliveryGetMany(ids) {
      const rows = await read<Row>(
        `SELECT ${COLUMNS} FROM unnest($1::bigint[]) AS u(id)
           CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE id = u.id LIMIT 1) AS d ${joined()}`,
        [bigints(ids)],
      )
      const byId = new Map(rows.map((row) => [row.id, rowOf(row)]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
    eventListOfCall: (accountId, callId) => readEventsOfCall(read, accountId, callId),
  }
}
