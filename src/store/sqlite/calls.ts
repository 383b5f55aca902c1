import { and, asc, eq } from 'drizzle-orm'
import { DIRECTIONS } from '../../lib/call-enums.ts'
import type {
  CallBatch,
  CallFilter,
  CallPosition,
  CallRow,
  CallStore,
  LiveCallAccount,
  OrphanedPbx,
  PlacedEvent,
} from '../operations/calls.ts'
import { calls, liveCalls } from '../sql/tables.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { storeEvents } from './events.ts'
import { readPbxMemory, setPbxMemory } from './pbx-memory.ts'
import { putRecordings } from './recordings.ts'

/** Stores events, live calls and records in one commit, so that they agree after a crash. */
export const storeBatch = mutation('calls.batchStore', (tx: Tx, batch: CallBatch): PlacedEvent[] => {
  const { pbx, live, removed, parts, recordings = [], nowSteadyUs } = batch
  const putLive = prepared<never, [string, string, string]>(
    tx,
    'INSERT INTO live_calls (pbx, id, state) VALUES (?, ?, ?) ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state',
  )
  for (const call of live) putLive.run(pbx, call.id, call.state)
  const dropLive = prepared<never, [string, string]>(tx, 'DELETE FROM live_calls WHERE pbx = ? AND id = ?')
  for (const id of removed) dropLive.run(pbx, id)
  const putCall = prepared<never, [string, number, number, string, string | null, string | null, string]>(
    tx,
    'INSERT OR REPLACE INTO calls (id, account_id, saved_at, direction, from_number, to_number, record) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  putRecordings(tx, recordings)
  return parts.flatMap(({ accountId, events, saved }) => {
    for (const call of saved) {
      putCall.run(call.id, accountId, call.savedUs, call.direction, call.fromNumber, call.toNumber, call.record)
    }
    return storeEvents(tx, { accountId, events, nowSteadyUs })
  })
})

const NEWEST: CallPosition = { savedUs: Number.MAX_SAFE_INTEGER, id: '' }

type PageQuery = Parameters<CallStore['callList']>[0]

/** Returns the ids of a page: from each range at most a page is read, from its index only. */
function readCallIds(read: Tx, { accountId, filter, limit, after }: PageQuery): string[] {
  const until: CallPosition = filter.untilUs === undefined ? NEWEST : { savedUs: filter.untilUs, id: '' }
  const before = after !== undefined && after.savedUs < until.savedUs ? after : until
  const found = rangesOf(filter).flatMap(({ index, numbered, values }) =>
    prepared<CallPosition, (string | number)[]>(
      read,
      `SELECT id, saved_at AS savedUs FROM calls INDEXED BY ${index} WHERE account_id = ? ${numbered} AND direction = ?
         AND saved_at >= ? AND (saved_at, id) < (?, ?) ORDER BY saved_at DESC, id DESC LIMIT ?`,
    ).all(accountId, ...values, filter.sinceUs ?? 0, before.savedUs, before.id, limit),
  )
  // A call from a number to the same is found twice.
  const ids = new Set(found.toSorted(newestFirst).map(({ id }) => id))
  return [...ids].slice(0, limit)
}

function readCalls(read: Tx, query: PageQuery): CallRow[] {
  const recordOf = prepared<CallRow, [string]>(read, 'SELECT id, saved_at AS savedUs, record FROM calls WHERE id = ?')
  return readCallIds(read, query).flatMap((id) => recordOf.get(id) ?? [])
}

/** Returns the ranges of the indexes that contain a filter's calls. */
function rangesOf({ direction, number }: CallFilter) {
  const directions = direction === undefined ? DIRECTIONS : [direction]
  if (number === undefined)
    return directions.map((one) => ({ index: 'calls_by_direction', numbered: '', values: [one] }))
  return directions.flatMap((one) => [
    { index: 'calls_by_from', numbered: 'AND from_number = ?', values: [number, one] },
    { index: 'calls_by_to', numbered: 'AND to_number = ?', values: [number, one] },
  ])
}

const newestFirst = (one: CallPosition, other: CallPosition): number =>
  other.savedUs - one.savedUs || Number(other.id > one.id) - Number(other.id < one.id)

/** The number of index entries that one part reads: some 3 ms. */
const CALL_SPAN = 20_000

type EndingQuery = Parameters<CallStore['callIdListEndingIn']>[0]

function readCallIdsEndingIn(tx: Tx, { ending, beforeId }: EndingQuery): { ids: string[]; nextId: string | null } {
  // Both statements are answered by the index events_by_call alone.
  const part = 'SELECT call_id FROM events WHERE call_id < ? ORDER BY call_id DESC LIMIT'
  const found = prepared<{ id: string }, [string, number, string]>(
    tx,
    `SELECT DISTINCT call_id AS id FROM (${part} ?) WHERE lower(substr(call_id, -length(?3))) = lower(?3)`,
  ).all(beforeId, CALL_SPAN, ending)
  const last = prepared<{ id: string }, [string, number]>(tx, `SELECT call_id AS id FROM (${part} 1 OFFSET ?)`)
  return { ids: found.map(({ id }) => id), nextId: last.get(beforeId, CALL_SPAN - 1)?.id ?? null }
}

/** Creates the call operations of the engine: live calls and records. */
export function createCallStore({ read, commit }: Database): CallStore {
  return {
    batchStore: (batch) => commit(storeBatch, batch),
    liveCallList: async (pbx) =>
      read
        .select({ id: liveCalls.id, state: liveCalls.state })
        .from(liveCalls)
        .where(eq(liveCalls.pbx, pbx))
        .orderBy(asc(liveCalls.id))
        .all(),
    liveCallListAccounts: async (pbx) =>
      prepared<LiveCallAccount, [string]>(
        read,
        `SELECT l.id AS callId, a.id AS accountId, a.name AS account FROM live_calls l JOIN accounts a
           ON a.id = (SELECT e.account_id FROM events e WHERE e.call_id = l.id LIMIT 1)
         WHERE l.pbx = ?`,
      ).all(pbx),
    orphanedPbxList: async (watched) =>
      prepared<OrphanedPbx, [string]>(
        read,
        `SELECT l.pbx, min(e.account_id) AS accountId, a.name AS account
         FROM live_calls l JOIN events e ON e.call_id = l.id JOIN accounts a ON a.id = e.account_id
         WHERE l.pbx NOT IN (SELECT value FROM json_each(?)) GROUP BY l.pbx`,
      ).all(JSON.stringify(watched)),
    callList: async (query) => readCalls(read, query),
    callIdListEndingIn: async (query) => readCallIdsEndingIn(read, query),
    callListIdsOfNumber: async ({ accountId, number, limit }) =>
      readCallIds(read, { accountId, filter: { number }, limit, after: undefined }),
    async callGet(accountId, id) {
      const found = and(eq(calls.accountId, accountId), eq(calls.id, id))
      return read.select({ record: calls.record }).from(calls).where(found).get()?.record
    },
    pbxMemoryGet: async (pbx) => readPbxMemory(read, pbx),
    pbxMemorySet: (pbx, memory) => commit(setPbxMemory, { pbx, memory }),
  }
}
