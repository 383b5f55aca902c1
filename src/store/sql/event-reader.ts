import { type SQL, sql } from 'drizzle-orm'
import {
  type EventBounds,
  type EventItem,
  type EventPart,
  type EventQuery,
  FIRST_HISTORY,
  type LogStore,
  MAX_NEWEST,
  type PublicIdKey,
} from '../operations/log.ts'
import { IS_ERASED } from './deliveries.ts'
import { type Declarations, read } from './operation.ts'
import { all, among, either, first, indexedBy, integers, onSqlite, tableOf, texts, type Work } from './statement.ts'

/**
 * The number of events that one part reads, whether or not the filter matches them. Each may lie in a page of its own
 * that is still on the disk.
 */
const SPAN = 200

/** The index of an account's events, in the order of their ids. */
const BY_ACCOUNT = indexedBy('events_by_account')

/** Reads events of an account behind one, in the order of their ids, which is that in which they became visible. */
function* readEvents(query: EventQuery): Work<EventPart> {
  const { accountId, afterId, limit, names, callId } = query
  // The end of the part is read first, so that reading advances even if nothing matches. One call has few events.
  const end = callId === undefined ? yield* endOf(query, names === undefined ? limit : SPAN) : undefined
  const lastId = end ?? Math.max(yield* newestOf(accountId), afterId)
  const kinds = names === undefined ? sql`` : sql`AND e.name ${among(texts(names))}`
  // The plus signs keep the engines from reading a call by the index of its account.
  const [index, id, account, ofCall] =
    callId === undefined
      ? [BY_ACCOUNT, sql`e.id`, sql`e.account_id`, sql``]
      : [indexedBy('events_by_call'), sql`+e.id`, sql`+e.account_id`, sql`AND e.call_id = ${callId}`]
  const items = yield* all<EventItem>(sql`
    SELECT e.id, e.uuid, e.name, e.call_id AS "callId", e.sequence, e.at AS "atUs", e.body FROM events e ${index}
    WHERE ${account} = ${accountId} AND ${id} > ${afterId} AND ${id} <= ${lastId} ${ofCall} ${kinds}
      AND NOT ${IS_ERASED} ORDER BY ${id} LIMIT ${limit}`)
  // If it was cut off at the limit, the rest begins where it ends.
  const cutAt = items.length === limit ? items.at(-1)?.id : undefined
  if (cutAt === undefined || cutAt === lastId) return { items, lastId, isEnd: end === undefined }
  return { items, lastId: cutAt, isEnd: false }
}

function* endOf({ accountId, afterId }: EventQuery, span: number): Work<number | undefined> {
  const found = sql`
    SELECT id FROM events ${BY_ACCOUNT} WHERE account_id = ${accountId} AND id > ${afterId}
    ORDER BY id LIMIT 1 OFFSET ${span - 1}`
  return (yield* first<{ id: number }>(found))?.id
}

/** The newest event of an account. */
const newestIn = (accountId: SQL | number) =>
  sql`SELECT id FROM events ${BY_ACCOUNT} WHERE account_id = ${accountId} ORDER BY id DESC LIMIT 1`

function* newestOf(accountId: number): Work<number> {
  return (yield* first<{ id: number }>(newestIn(accountId)))?.id ?? 0
}

function* readBounds(accountId: number): Work<EventBounds> {
  const account = sql`SELECT events_pruned_to AS id FROM accounts WHERE id = ${accountId}`
  const oldestId = (yield* first<{ id: number }>(account))?.id ?? 0
  return { oldestId, newestId: Math.max(yield* newestOf(accountId), oldestId) }
}

function* readHistories(ids: readonly number[]): Work<number[]> {
  const events = tableOf('e', { place: integers(ids.map((_, place) => place)), id: integers(ids) })
  const rows = yield* all<{ history: number | null }>(sql`
    SELECT (SELECT h.id FROM event_histories h WHERE h.began_at < e.id ORDER BY h.began_at DESC LIMIT 1) AS history
    FROM ${events} ORDER BY e.place`)
  return rows.map(({ history }) => history ?? FIRST_HISTORY)
}

function* readPublicIdKey(): Work<PublicIdKey> {
  const found = yield* first<PublicIdKey>(sql`SELECT key, plain_to AS "plainTo" FROM public_ids`)
  if (found === undefined) throw new Error('the store has no key for public ids')
  return found
}

function* readNewest(accountIds: readonly number[]): Work<ReadonlyMap<number, number>> {
  const rows = yield* all<{ accountId: number; id: number | null }>(sql`
    SELECT a.id AS "accountId", (${newestIn(sql`a.id`)}) AS id FROM ${tableOf('a', { id: integers(accountIds) })}`)
  return new Map(rows.flatMap(({ accountId, id }) => (id === null ? [] : [[accountId, id]])))
}

function* readNewestAbove(id: number): Work<ReadonlyMap<number, number>> {
  const rows = yield* all<{ accountId: number; id: number }>(sql`
    SELECT account_id AS "accountId", max(id) AS id FROM
      (SELECT account_id, id FROM events ${onSqlite(sql`NOT INDEXED`)} WHERE id > ${id}
       ORDER BY id DESC LIMIT ${MAX_NEWEST}) AS newest
    GROUP BY account_id`)
  return new Map(rows.map(({ accountId, id }) => [accountId, id]))
}

/**
 * The parts of a body that say what its event is about. Postgres cannot read a NUL, nor half of a character of UTF-16.
 */
const ABOUT: SQL = either({
  sqlite: sql`json_object('from', json_extract(e.body, '$.data.call.from'), 'to', json_extract(e.body, '$.data.call.to'),
    'phone', json_extract(e.body, '$.data.phone'), 'trunk', json_extract(e.body, '$.data.trunk'),
    'agent', json_extract(e.body, '$.data.agent'), 'queue', json_extract(e.body, '$.data.queue'))`,
  postgres: sql`(SELECT jsonb_build_object('from', b #> '{call,from}', 'to', b #> '{call,to}', 'phone', b -> 'phone',
    'trunk', b -> 'trunk', 'agent', b -> 'agent', 'queue', b -> 'queue')::text
    FROM (SELECT regexp_replace(e.body, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'g')::jsonb -> 'data' AS b) AS parts)`,
})

const readAbout = (ids: readonly number[]) =>
  all<{ id: number; about: string }>(
    sql`SELECT e.id, ${ABOUT} AS about FROM events e WHERE e.id ${among(integers(ids))}`,
  )

/** The operations that read events back. */
export const EVENT_READER: Declarations<
  Pick<
    LogStore,
    | 'eventAboutList'
    | 'eventRead'
    | 'eventGetBodies'
    | 'eventGetBounds'
    | 'eventGetHistories'
    | 'eventGetNewest'
    | 'eventGetNewestAbove'
    | 'publicIdKeyGet'
  >
> = {
  eventAboutList: read(readAbout),
  eventRead: read(readEvents),
  eventGetBodies: read((ids) =>
    all<{ id: number; body: string }>(sql`SELECT id, body FROM events WHERE id ${among(integers(ids))}`),
  ),
  eventGetBounds: read(readBounds),
  eventGetHistories: read(readHistories),
  eventGetNewest: read(readNewest),
  eventGetNewestAbove: read(readNewestAbove),
  publicIdKeyGet: read(readPublicIdKey),
}
