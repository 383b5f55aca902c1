import {
  type EventBounds,
  type EventItem,
  type EventPart,
  type EventQuery,
  FIRST_HISTORY,
  MAX_NEWEST,
  type PublicIdKey,
} from '../operations/log.ts'
import { bigints, type Query, texts, type Value } from './engine/client.ts'
import { IS_ERASED } from './events.ts'

/** The number of events that one part reads: some milliseconds, also if the filter matches none of them. */
const SPAN = 2_000

const COLUMNS = `e.id::float8 AS id, e.uuid, e.name, e.call_id AS "callId", e.sequence, e.at::float8 AS "atUs", e.body`

/** Reads events of an account behind one, in the order of their ids, which is that in which they became visible. */
export async function readEvents(read: Query, query: EventQuery): Promise<EventPart> {
  const { accountId, afterId, limit, names, callId } = query
  // The end of the part is read first, so that reading advances even if nothing matches. One call has few events.
  const end = callId === undefined ? await endOf(read, query, names === undefined ? limit : SPAN) : undefined
  const lastId = end ?? Math.max(await newestOf(read, accountId), afterId)
  const values: Value[] = [accountId, afterId, lastId, limit]
  const kinds = names === undefined ? '' : `AND e.name = ANY($${values.push(texts(names))}::text[])`
  const ofCall = callId === undefined ? '' : `AND e.call_id = $${values.push(callId)}`
  const items = await read<EventItem>(
    `SELECT ${COLUMNS} FROM events e WHERE e.account_id = $1::bigint AND e.id > $2::bigint AND e.id <= $3::bigint
       ${kinds} ${ofCall} AND NOT ${IS_ERASED} ORDER BY e.id LIMIT $4::int`,
    values,
  )
  // If it was cut off at the limit, the rest begins where it ends.
  const cutAt = items.length === limit ? items.at(-1)?.id : undefined
  if (cutAt === undefined || cutAt === lastId) return { items, lastId, isEnd: end === undefined }
  return { items, lastId: cutAt, isEnd: false }
}

async function endOf(read: Query, { accountId, afterId }: EventQuery, span: number): Promise<number | undefined> {
  const [row] = await read<{ id: number }>(
    `SELECT id::float8 AS id FROM events WHERE account_id = $1::bigint AND id > $2::bigint ORDER BY id LIMIT 1 OFFSET $3::int`,
    [accountId, afterId, span - 1],
  )
  return row?.id
}

async function newestOf(read: Query, accountId: number): Promise<number> {
  const [row] = await read<{ id: number }>(
    'SELECT id::float8 AS id FROM events WHERE account_id = $1::bigint ORDER BY id DESC LIMIT 1',
    [accountId],
  )
  return row?.id ?? 0
}

/** Returns the ids between which an account's events can be read. */
export async function readEventBounds(read: Query, accountId: number): Promise<EventBounds> {
  const [row] = await read<{ id: number }>(
    'SELECT events_pruned_to::float8 AS id FROM accounts WHERE id = $1::bigint',
    [accountId],
  )
  const oldestId = row?.id ?? 0
  return { oldestId, newestId: Math.max(await newestOf(read, accountId), oldestId) }
}

/** Returns the history of each event. */
export async function readHistories(read: Query, ids: readonly number[]): Promise<number[]> {
  const rows = await read<{ id: number }>(
    `SELECT coalesce((SELECT h.id FROM event_histories h WHERE h.began_at < e.id ORDER BY h.began_at DESC LIMIT 1),
       ${FIRST_HISTORY})::float8 AS id FROM unnest($1::bigint[]) WITH ORDINALITY AS e (id, place) ORDER BY e.place`,
    [bigints(ids)],
  )
  return rows.map(({ id }) => id)
}

/** Returns the key of the ids that clients get. */
export async function readPublicIdKey(read: Query): Promise<PublicIdKey> {
  const [row] = await read<PublicIdKey>('SELECT key, plain_to::float8 AS "plainTo" FROM public_ids')
  if (row === undefined) throw new Error('the store has no key for public ids')
  return row
}

/** Returns the newest event of each account that has one among the newest of the store above an id. */
export async function readNewestAbove(read: Query, id: number): Promise<ReadonlyMap<number, number>> {
  const rows = await read<{ accountId: number; id: number }>(
    `SELECT account_id::float8 AS "accountId", max(id)::float8 AS id FROM
       (SELECT account_id, id FROM events WHERE id > $1::bigint ORDER BY id DESC LIMIT ${MAX_NEWEST}) AS newest
     GROUP BY account_id`,
    [id],
  )
  return new Map(rows.map((row) => [row.accountId, row.id]))
}

/** Returns the id of the newest event of each account that has one. */
export async function readNewestEvents(
  read: Query,
  accountIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await read<{ accountId: number; id: number }>(
    `SELECT a.id::float8 AS "accountId", newest.id::float8 AS id FROM unnest($1::bigint[]) AS a (id)
       CROSS JOIN LATERAL (SELECT e.id FROM events e WHERE e.account_id = a.id ORDER BY e.id DESC LIMIT 1) AS newest`,
    [bigints(accountIds)],
  )
  return new Map(rows.map(({ accountId, id }) => [accountId, id]))
}
