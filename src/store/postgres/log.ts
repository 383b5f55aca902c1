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
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
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
const JOINED = `JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} JOIN webhooks w ON w.id = d.webhook_id`
const OF_EVENT = `d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}`

const rowOf = ({ state, ...row }: Row): DeliveryRow => ({ ...row, state: DELIVERY_STATES[state] ?? 'pending' })

/** The number of events or deliveries that one part reads: some milliseconds, regardless of the filter. */
const SPAN = 1_000
/** After the clock was set back, times do not grow with the ids: read this much more at both ends. */
const CLOCK_SLACK_US = 3_600 * SECOND
const SORTED: Readonly<Record<LogOrder, 'DESC' | 'ASC'>> = { newest: 'DESC', oldest: 'ASC' }

type LogQuery = {
  readonly filter: LogFilter
  readonly fromId: number
  readonly limit: number
  readonly order: LogOrder
}

/** Collects the values of a statement. */
function newValues() {
  const values: Value[] = []
  const add = (value: Value, type: string): string => `$${values.push(value)}::${type}`
  return { values, add }
}
type Add = ReturnType<typeof newValues>['add']

/**
 * Reads the matching deliveries in a part of the log, at most `limit`: below `fromId`, the newest first, or from it on,
 * the oldest first. A part is the range of rows that one index read finds; it is filtered afterwards.
 */
export async function readLog(query: Query, { filter, fromId, limit, order }: LogQuery): Promise<DeliveryPart> {
  const sinceId = filter.sinceUs === undefined ? 0 : await firstFrom(query, filter.sinceUs - CLOCK_SLACK_US)
  const { values, add } = newValues()
  const edge = add(fromId, 'bigint')
  const range = `d.id >= ${add(sinceId, 'bigint')} AND d.id ${order === 'newest' ? '<' : '>='} ${edge}`
  const part = partOf(filter, range, order, add)
  const conditions = conditionsOf(filter, add)
  const rows = await query<Row & { checked: number; last: number }>(
    `WITH part AS MATERIALIZED (${part}),
       reach AS (SELECT count(DISTINCT unit)::int AS checked, ${order === 'newest' ? 'min' : 'max'}(id) AS last FROM part),
       found AS (SELECT ${COLUMNS} FROM part d ${JOINED} WHERE ${conditions} ORDER BY d.id ${SORTED[order]} LIMIT ${add(limit, 'int')})
     SELECT found.*, reach.checked, reach.last FROM reach LEFT JOIN found ON TRUE`,
    values,
  )
  const found = rows.filter(({ id }) => id !== null).map(({ checked: _checked, last: _last, ...row }) => rowOf(row))
  found.sort((one, other) => (order === 'newest' ? other.id - one.id : one.id - other.id))
  const { checked = 0, last = 0 } = rows[0] ?? {}
  // If the part was cut off at the limit, the rest begins at its last row; else where the part ends.
  const end = found.length === limit ? (found.at(-1)?.id ?? last) : last
  const isAll = found.length < limit && checked < SPAN
  return { rows: found, nextId: isAll ? null : order === 'newest' ? end : end + 1 }
}

/** `unit`: whether a part is counted in deliveries of a small index, or in events with all their deliveries. */
function partOf(filter: LogFilter, range: string, order: LogOrder, add: Add): string {
  const { accountId, state, callIds } = filter
  const sorted = SORTED[order]
  if (callIds === undefined && state === 'pending')
    return `SELECT d.*, d.id AS unit FROM deliveries d WHERE d.state = 0 AND ${range} ORDER BY d.id ${sorted} LIMIT ${SPAN}`
  if (callIds === undefined && state !== undefined && state !== 'delivered')
    return `SELECT p.* FROM (SELECT id FROM webhooks WHERE ${webhookConditions(filter, add)}) AS w CROSS JOIN LATERAL
      (SELECT d.*, d.id AS unit FROM deliveries d WHERE d.webhook_id = w.id AND d.state > 1 AND ${range} ORDER BY d.id ${sorted} LIMIT ${SPAN}) AS p
      ORDER BY p.id ${sorted} LIMIT ${SPAN}`
  const mine = [
    ...(accountId === null ? [] : [`e.account_id = ${add(accountId, 'bigint')}`]),
    ...(callIds === undefined ? [] : [`e.call_id = ANY(${add(texts(callIds), 'text[]')})`]),
    eventRange(range),
  ]
  return `SELECT d.*, e.id AS unit FROM
      (SELECT e.id FROM events e WHERE ${mine.join(' AND ')} ORDER BY e.id ${sorted} LIMIT ${SPAN}) AS e
    CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE ${OF_EVENT} AND ${range}) AS d`
}

/** Returns the range of events whose deliveries may be in a range of deliveries. */
const eventRange = (range: string): string =>
  range.replace(
    /d\.id (>=|<) (\$\d+)::bigint/g,
    (_, sign: string, value: string) => `e.id ${sign === '<' ? '<=' : '>='} ${value}::bigint / ${DELIVERIES_PER_EVENT}`,
  )

function webhookConditions({ accountId, url }: LogFilter, add: Add): string {
  const conditions = ['TRUE']
  if (accountId !== null) conditions.push(`account_id = ${add(accountId, 'bigint')}`)
  if (url !== undefined) conditions.push(`url = ${add(url, 'text')}`)
  return conditions.join(' AND ')
}

function conditionsOf(filter: LogFilter, add: Add): string {
  const { accountId, state, event, url, sinceUs, untilUs } = filter
  const conditions = ['TRUE']
  if (accountId !== null) conditions.push(`e.account_id = ${add(accountId, 'bigint')}`)
  if (state !== undefined) conditions.push(`d.state = ${add(stateNumber(state), 'smallint')}`)
  if (event !== undefined) conditions.push(`e.name = ${add(event, 'text')}`)
  if (url !== undefined) conditions.push(`w.url = ${add(url, 'text')}`)
  if (sinceUs !== undefined) conditions.push(`d.created_at >= ${add(sinceUs, 'bigint')}`)
  if (untilUs !== undefined) conditions.push(`d.created_at < ${add(untilUs, 'bigint')}`)
  return conditions.join(' AND ')
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
    `SELECT ${COLUMNS}, e.body FROM deliveries d ${JOINED}
     WHERE d.id = $1 AND e.account_id = coalesce($2, e.account_id)`,
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
    `SELECT id, uuid, name, sequence, at AS "atUs", body FROM events
     WHERE call_id = $1 AND account_id = $2 ORDER BY sequence, id LIMIT $3::int`,
    [callId, accountId, MAX_EVENTS_OF_CALL],
  )
  const rows = await read<Row>(
    `SELECT ${COLUMNS} FROM (SELECT d.* FROM unnest($1::bigint[]) AS e(id)
       CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE ${OF_EVENT}) AS d) AS d ${JOINED} ORDER BY d.id`,
    [bigints(events.map(({ id }) => id))],
  )
  const byEvent = Map.groupBy(rows, ({ id }) => Math.floor(id / DELIVERIES_PER_EVENT))
  return events.map(({ id, ...event }) => ({ ...event, deliveries: (byEvent.get(id) ?? []).map(rowOf) }))
}

/** Creates the log operations of the engine: deliveries and events of calls. */
export function createLogStore({ read }: Database): Omit<LogStore, keyof typeof EVENT_READER> {
  return {
    deliveryList: (asked) => readLog(read, asked),
    deliveryGet: (accountId, id) => readDelivery(read, accountId, id),
    async deliveryGetMany(ids) {
      const rows = await read<Row>(`SELECT ${COLUMNS} FROM deliveries d ${JOINED} WHERE d.id = ANY($1::bigint[])`, [
        bigints(ids),
      ])
      const byId = new Map(rows.map((row) => [row.id, rowOf(row)]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
    eventListOfCall: (accountId, callId) => readEventsOfCall(read, accountId, callId),
  }
}
