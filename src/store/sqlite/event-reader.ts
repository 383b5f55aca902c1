import {
  type EventBounds,
  type EventItem,
  type EventPart,
  type EventQuery,
  FIRST_HISTORY,
  MAX_NEWEST,
  type PublicIdKey,
} from '../operations/log.ts'
import type { Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { IS_ERASED } from './events.ts'

/** The number of events that one part reads: some milliseconds, also if the filter matches none of them. */
const SPAN = 2_000

const COLUMNS = 'id, uuid, name, call_id AS callId, sequence, at AS atUs, body'

/** Reads events of an account behind one, in the order of their ids, which is that in which they were stored. */
export function readEvents(tx: Tx, query: EventQuery): EventPart {
  return query.callId === undefined ? readAll(tx, query) : readOfCall(tx, query, query.callId)
}

const ofKinds = (names: EventQuery['names']) => ({
  sql: names === undefined ? '' : 'AND name IN (SELECT value FROM json_each(?))',
  values: names === undefined ? [] : [JSON.stringify(names)],
})

function readAll(tx: Tx, { accountId, afterId, limit, names }: EventQuery): EventPart {
  // The end of the part is read first, so that reading advances even if nothing matches.
  const end = prepared<{ id: number }, [number, number, number]>(
    tx,
    'SELECT id FROM events INDEXED BY events_by_account WHERE account_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?',
  ).get(accountId, afterId, (names === undefined ? limit : SPAN) - 1)?.id
  const lastId = end ?? newestOf(tx, accountId, afterId)
  const kinds = ofKinds(names)
  const items = prepared<EventItem, (string | number)[]>(
    tx,
    `SELECT ${COLUMNS} FROM events INDEXED BY events_by_account WHERE account_id = ? AND id > ? AND id <= ?
       ${kinds.sql} AND NOT ${IS_ERASED} ORDER BY id LIMIT ?`,
  ).all(accountId, afterId, lastId, ...kinds.values, limit)
  return partOf(items, { limit, lastId, isEnd: end === undefined })
}

/** One call has few events. */
function readOfCall(tx: Tx, { accountId, afterId, limit, names }: EventQuery, callId: string): EventPart {
  const lastId = newestOf(tx, accountId, afterId)
  const kinds = ofKinds(names)
  const items = prepared<EventItem, (string | number)[]>(
    tx,
    `SELECT ${COLUMNS} FROM events INDEXED BY events_by_call WHERE call_id = ? AND account_id = ? AND +id > ? AND +id <= ?
       ${kinds.sql} AND NOT ${IS_ERASED} ORDER BY +id LIMIT ?`,
  ).all(callId, accountId, afterId, lastId, ...kinds.values, limit)
  return partOf(items, { limit, lastId, isEnd: true })
}

/** If it was cut off at the limit, the rest begins where it ends. */
function partOf(items: readonly EventItem[], part: { limit: number; lastId: number; isEnd: boolean }): EventPart {
  const cutAt = items.length === part.limit ? items.at(-1)?.id : undefined
  if (cutAt === undefined || cutAt === part.lastId) return { items, lastId: part.lastId, isEnd: part.isEnd }
  return { items, lastId: cutAt, isEnd: false }
}

/** The newest event of an account, or the one given if that is newer. */
function newestOf(tx: Tx, accountId: number, afterId: number): number {
  const newest = prepared<{ id: number | null }, [number]>(
    tx,
    'SELECT max(id) AS id FROM events INDEXED BY events_by_account WHERE account_id = ?',
  ).get(accountId)?.id
  return Math.max(newest ?? 0, afterId)
}

/** Returns the ids between which an account's events can be read. */
export function readEventBounds(tx: Tx, accountId: number): EventBounds {
  const oldestId =
    prepared<{ id: number }, [number]>(tx, 'SELECT events_pruned_to AS id FROM accounts WHERE id = ?').get(accountId)
      ?.id ?? 0
  return { oldestId, newestId: newestOf(tx, accountId, oldestId) }
}

/** Returns the history of each event. */
export function readHistories(tx: Tx, ids: readonly number[]): number[] {
  const one = prepared<{ id: number }, [number]>(
    tx,
    'SELECT id FROM event_histories WHERE began_at < ? ORDER BY began_at DESC LIMIT 1',
  )
  return ids.map((id) => one.get(id)?.id ?? FIRST_HISTORY)
}

/** Returns the key of the ids that clients get. */
export function readPublicIdKey(tx: Tx): PublicIdKey {
  const row = prepared<PublicIdKey, []>(tx, 'SELECT key, plain_to AS plainTo FROM public_ids').get()
  if (row === null) throw new Error('the store has no key for public ids')
  return row
}

/** Returns the newest event of each account that has one among the newest of the store above an id. */
export function readNewestAbove(tx: Tx, id: number): ReadonlyMap<number, number> {
  const rows = prepared<{ accountId: number; id: number }, [number]>(
    tx,
    `SELECT account_id AS accountId, max(id) AS id FROM
       (SELECT account_id, id FROM events NOT INDEXED WHERE id > ? ORDER BY id DESC LIMIT ${MAX_NEWEST})
     GROUP BY account_id`,
  ).all(id)
  return new Map(rows.map((row) => [row.accountId, row.id]))
}

/** Returns the id of the newest event of each account that has one. */
export function readNewestEvents(tx: Tx, accountIds: readonly number[]): ReadonlyMap<number, number> {
  const newest = accountIds.map((accountId) => [accountId, newestOf(tx, accountId, 0)] as const)
  return new Map(newest.filter(([, id]) => id > 0))
}
