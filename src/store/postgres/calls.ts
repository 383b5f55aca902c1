import { DIRECTIONS } from '../../lib/call-enums.ts'
import type {
  CallFilter,
  CallPosition,
  CallRow,
  CallStore,
  LiveCallAccount,
  LiveCallRow,
  OrphanedPbx,
  PlacedEvent,
} from '../operations/calls.ts'
import { type Query, texts } from './engine/client.ts'
import type { Database } from './engine/database.ts'
import type { GroupCommit } from './engine/group-commit.ts'
import type { EventJob } from './events.ts'
import { readPbxMemory, setPbxMemory } from './pbx-memory.ts'

const NEWEST: CallPosition = { savedUs: Number.MAX_SAFE_INTEGER, id: '' }

type PageQuery = Parameters<CallStore['callList']>[0]

/** Of each range that may hold some as many are read as a page shows, from its index alone. */
async function readCallIds(read: Query, { accountId, filter, limit, after }: PageQuery): Promise<string[]> {
  const until: CallPosition = filter.untilUs === undefined ? NEWEST : { savedUs: filter.untilUs, id: '' }
  const before = after !== undefined && after.savedUs < until.savedUs ? after : until
  const found = await Promise.all(
    rangesOf(filter).map(({ numbered, direction }) =>
      read<CallPosition>(
        `SELECT id, saved_at::float8 AS "savedUs" FROM calls WHERE account_id = $1::bigint ${numbered} AND direction = $2
           AND saved_at >= $4::bigint AND (saved_at, id) < ($5::bigint, $6) AND $3::text IS NOT DISTINCT FROM $3
         ORDER BY saved_at DESC, id DESC LIMIT $7::int`,
        [...[accountId, direction, filter.number ?? null], ...[filter.sinceUs ?? 0, before.savedUs, before.id, limit]],
      ),
    ),
  )
  // A call from a number to the same is found twice.
  const ids = new Set(
    found
      .flat()
      .toSorted(newestFirst)
      .map(({ id }) => id),
  )
  return [...ids].slice(0, limit)
}

async function readCalls(read: Query, query: PageQuery): Promise<CallRow[]> {
  const ids = await readCallIds(read, query)
  const rows = await read<CallRow>(
    'SELECT id, saved_at::float8 AS "savedUs", record FROM calls WHERE id = ANY($1::text[])',
    [texts(ids)],
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Returns the ranges of the indexes that contain a filter's calls. */
function rangesOf({ direction, number }: CallFilter): { numbered: string; direction: string }[] {
  const directions = direction === undefined ? DIRECTIONS : [direction]
  if (number === undefined) return directions.map((one) => ({ numbered: '', direction: one }))
  return directions.flatMap((one) => [
    { numbered: 'AND from_number = $3', direction: one },
    { numbered: 'AND to_number = $3', direction: one },
  ])
}

const newestFirst = (one: CallPosition, other: CallPosition): number =>
  other.savedUs - one.savedUs || Number(other.id > one.id) - Number(other.id < one.id)

/** The number of index entries that one part reads. */
const CALL_SPAN = 20_000

type EndingQuery = Parameters<CallStore['callIdListEndingIn']>[0]

async function readCallIdsEndingIn(
  read: Query,
  { ending, beforeId }: EndingQuery,
): Promise<{ ids: string[]; nextId: string | null }> {
  const rows = await read<{ id: string | null; checked: number; last: string | null }>(
    `WITH part AS MATERIALIZED (SELECT call_id FROM events WHERE call_id < $1 ORDER BY call_id DESC LIMIT ${CALL_SPAN}),
       found AS (SELECT DISTINCT call_id AS id FROM part WHERE right(lower(call_id), length($2::text)) = lower($2::text))
     SELECT f.id, p.checked, p.last FROM (SELECT count(*)::int AS checked, min(call_id) AS last FROM part) AS p LEFT JOIN found f ON TRUE
     ORDER BY f.id DESC`,
    [beforeId, ending],
  )
  const { checked = 0, last = null } = rows[0] ?? {}
  return { ids: rows.flatMap(({ id }) => id ?? []), nextId: checked === CALL_SPAN ? last : null }
}

/** Creates the call operations of the engine: live calls and records. */
export function createCallStore(
  { read, transaction }: Database,
  events: GroupCommit<EventJob, PlacedEvent[]>,
): CallStore {
  return {
    batchStore: (batch, fence) => events.push({ batch, fence }),
    liveCallList: (pbx) => read<LiveCallRow>('SELECT id, state FROM live_calls WHERE pbx = $1 ORDER BY id', [pbx]),
    liveCallListAccounts: (pbx) =>
      read<LiveCallAccount>(
        `SELECT l.id AS "callId", a.id::float8 AS "accountId", a.name AS account FROM live_calls l JOIN accounts a
           ON a.id = (SELECT e.account_id FROM events e WHERE e.call_id = l.id LIMIT 1)
         WHERE l.pbx = $1`,
        [pbx],
      ),
    orphanedPbxList: (watched) =>
      read<OrphanedPbx>(
        `SELECT DISTINCT ON (l.pbx) l.pbx, e.account_id::float8 AS "accountId", a.name AS account
         FROM live_calls l JOIN events e ON e.call_id = l.id JOIN accounts a ON a.id = e.account_id
         WHERE l.pbx <> ALL($1::text[]) ORDER BY l.pbx, e.account_id`,
        [texts(watched)],
      ),
    callList: (query) => readCalls(read, query),
    callIdListEndingIn: (query) => readCallIdsEndingIn(read, query),
    callListIdsOfNumber: ({ accountId, number, limit }) =>
      readCallIds(read, { accountId, filter: { number }, limit, after: undefined }),
    async callGet(accountId, id) {
      const [row] = await read<{ record: string }>(
        'SELECT record FROM calls WHERE account_id = $1::bigint AND id = $2',
        [accountId, id],
      )
      return row?.record
    },
    pbxMemoryGet: (pbx) => readPbxMemory(read, pbx),
    pbxMemorySet: (pbx, memory, fence) => transaction((query) => setPbxMemory(query, pbx, memory), fence),
  }
}
