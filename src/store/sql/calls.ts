import { type SQL, sql } from 'drizzle-orm'
import { DIRECTIONS } from '../../events/enums.ts'
import {
  type CallCount,
  type CallFactsRow,
  type CallFilter,
  type CallPosition,
  type CallRow,
  type CallScan,
  type CallStore,
  type LiveCallAccount,
  type LiveCallRow,
  MAX_CALLS_ENDING,
  type OrphanedPbx,
  SHORT_ID_LENGTH,
} from '../operations/calls.ts'
import { type Declarations, read } from './operation.ts'
import { all, among, either, first, indexedBy, texts, type Work } from './statement.ts'

const NEWEST: CallPosition = { savedUs: Number.MAX_SAFE_INTEGER, id: '' }

type PageQuery = Parameters<CallStore['callList']>[0]

/** Returns the ids of a page. From each range of an index at most a page is read, and nothing that does not match. */
function* readCallIds({ accountId, filter, limit, after }: PageQuery): Work<string[]> {
  const until: CallPosition = filter.untilUs === undefined ? NEWEST : { savedUs: filter.untilUs, id: '' }
  const before = after !== undefined && after.savedUs < until.savedUs ? after : until
  const ranges = rangesOf(filter).map(
    ({ index, numbered, direction }, at) => sql`
      SELECT * FROM (SELECT id, saved_at AS "savedUs" FROM calls ${indexedBy(index)}
        WHERE account_id = ${accountId} ${numbered} AND direction = ${direction}
          AND saved_at >= ${filter.sinceUs ?? 0} AND (saved_at, id) < (${before.savedUs}, ${before.id})
        ORDER BY saved_at DESC, id DESC LIMIT ${limit}) AS ${sql.identifier(`range_${at}`)}`,
  )
  const found = yield* all<CallPosition>(sql.join(ranges, sql` UNION ALL `))
  // A call from a number to the same number is found twice, and so is one whose PBX spells its numbers in E.164.
  const ids = new Set(found.toSorted(newestFirst).map(({ id }) => id))
  return [...ids].slice(0, limit)
}

function* readCalls(query: PageQuery): Work<CallRow[]> {
  const ids = yield* readCallIds(query)
  return yield* readRecords({ accountId: query.accountId, ids })
}

type SomeCalls = { readonly accountId: number; readonly ids: readonly string[] }

/** The plus sign keeps the engines from reading these calls by an index of their account. */
function* readRecords({ accountId, ids }: SomeCalls): Work<CallRow[]> {
  const rows = yield* all<CallRow>(sql`
    SELECT id, saved_at AS "savedUs", record FROM calls WHERE +account_id = ${accountId} AND id ${among(texts(ids))}`)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

type FactsRow = Omit<CallFactsRow, 'missed'> & { readonly missed: boolean | number }

/** On Postgres the index has a sum, so that no other statement uses it. */
const SCANNED: SQL = either({ sqlite: sql`saved_at`, postgres: sql`(saved_at + 0)` })

/** Reads columns from a part of an index that has all facts of calls, in the order of the list. */
function factsOf(columns: SQL, { accountId, sinceUs = 0, untilUs, after }: Omit<CallScan, 'limit'>): SQL {
  const until: CallPosition = untilUs === undefined ? NEWEST : { savedUs: untilUs, id: '' }
  const before = after !== undefined && after.savedUs < until.savedUs ? after : until
  return sql`
    SELECT ${columns} FROM calls ${indexedBy('calls_by_facts')}
    WHERE account_id = ${accountId} AND ${SCANNED} >= ${sinceUs} AND (${SCANNED}, id) < (${before.savedUs}, ${before.id})
    ORDER BY ${SCANNED} DESC, id DESC`
}

function* scanCalls({ limit, ...scan }: CallScan): Work<CallFactsRow[]> {
  const columns = sql`id, saved_at AS "savedUs", direction, result, missed, pbx, who`
  const rows = yield* all<FactsRow>(sql`${factsOf(columns, scan)} LIMIT ${limit}`)
  return rows.map((row) => ({ ...row, missed: Boolean(row.missed) }))
}

type CountRow = Pick<CallCount, 'direction' | 'result' | 'pbx' | 'count'> & {
  readonly missed: boolean | number
  readonly lacksFacts: boolean | number
  readonly ids: string | null
}

/** Counts in the database: a long history has too many rows for this process. */
function* countCalls({ limit, ...scan }: CallScan): Work<{ counts: CallCount[]; next: CallPosition | null }> {
  const next = yield* first<CallPosition>(sql`
    ${factsOf(sql`id, saved_at AS "savedUs"`, scan)} LIMIT 1 OFFSET ${limit - 1}`)
  const joined = either({ sqlite: sql`group_concat(id)`, postgres: sql`string_agg(id, ',')` })
  const columns = sql`id, direction, result, missed, pbx, who IS NULL AS lacks`
  const rows = yield* all<CountRow>(sql`
    SELECT direction, result, missed, pbx, lacks AS "lacksFacts", count(*) AS count,
      CASE WHEN missed THEN ${joined} END AS ids
    FROM (${factsOf(columns, scan)} LIMIT ${limit}) AS part GROUP BY direction, result, missed, pbx, lacks`)
  const counts = rows.map(({ ids, ...row }) => ({
    ...row,
    missed: Boolean(row.missed),
    lacksFacts: Boolean(row.lacksFacts),
    missedIds: ids === null ? [] : ids.split(','),
  }))
  return { counts, next: next ?? null }
}

/** The condition that a later call `x` of the caller of `c` was answered: one to it, or one from it. */
function reachedSince(index: string, column: SQL, spelled: SQL, direction: 'inbound' | 'outbound'): SQL {
  return sql`EXISTS (SELECT 1 FROM calls x ${indexedBy(index)}
    WHERE x.account_id = c.account_id AND x.${column} = c.${spelled} AND x.direction = ${direction}
      AND x.saved_at > c.saved_at AND x.result = 'answered')`
}

/** Each call has few later ones of its number: they are found by the indexes of numbers, in both spellings. */
function* readToCallBack({ accountId, ids }: SomeCalls): Work<string[]> {
  const spellings = [
    ['calls_by_from', sql`from_number`, sql`from_number`, 'inbound'],
    ['calls_by_to', sql`to_number`, sql`from_number`, 'outbound'],
    ['calls_by_from_e164', sql`from_e164`, sql`from_e164`, 'inbound'],
    ['calls_by_to_e164', sql`to_e164`, sql`from_e164`, 'outbound'],
  ] as const
  const reached = spellings.map(([index, column, spelled, direction]) =>
    reachedSince(index, column, spelled, direction),
  )
  const found = yield* all<{ id: string }>(sql`
    SELECT c.id FROM calls c WHERE +c.account_id = ${accountId} AND c.id ${among(texts(ids))}
      AND c.from_number IS NOT NULL AND NOT (${sql.join(reached, sql` OR `)})`)
  return found.map(({ id }) => id)
}

type Range = { readonly index: string; readonly numbered: SQL; readonly direction: string }

/** Returns the ranges of the indexes that contain a filter's calls. */
function rangesOf({ direction, number }: CallFilter): Range[] {
  const directions = direction === undefined ? DIRECTIONS : [direction]
  const indexes = number === undefined ? [{ index: 'calls_by_direction', numbered: sql`` }] : indexesOf(number)
  return directions.flatMap((one) => indexes.map((found) => ({ ...found, direction: one })))
}

/** Returns the indexes that contain the calls of a number, as the PBX spells it or in E.164. */
function indexesOf(number: string): Omit<Range, 'direction'>[] {
  const spelled = [
    { index: 'calls_by_from', numbered: sql`AND from_number = ${number}` },
    { index: 'calls_by_to', numbered: sql`AND to_number = ${number}` },
  ]
  if (!number.startsWith('+')) return spelled
  return [
    ...spelled,
    { index: 'calls_by_from_e164', numbered: sql`AND from_e164 = ${number}` },
    { index: 'calls_by_to_e164', numbered: sql`AND to_e164 = ${number}` },
  ]
}

const newestFirst = (one: CallPosition, other: CallPosition): number =>
  other.savedUs - one.savedUs || Number(other.id > one.id) - Number(other.id < one.id)

type EndingQuery = Parameters<CallStore['callIdListEndingIn']>[0]

/** The end of a call's id, as the index `events_by_call_end` has it. */
const CALL_END = either({ sqlite: sql`substr(call_id, -8)`, postgres: sql`right(call_id, 8)` })

function* readCallIdsEndingIn({ accountId, ending }: EndingQuery): Work<string[]> {
  const lower = ending.toLowerCase()
  const mine = accountId === null ? sql`` : sql`AND account_id = ${accountId}`
  // `OFFSET`: else Postgres may look for the ends in the order of all ids, if many have the same end.
  const found = yield* all<{ id: string }>(sql`
    SELECT DISTINCT id FROM (
      SELECT call_id AS id FROM events ${indexedBy('events_by_call_end')}
      WHERE ${CALL_END} = ${lower.slice(-SHORT_ID_LENGTH)} AND sequence > 0 ${mine}
      ${either({ sqlite: sql``, postgres: sql`OFFSET 0` })}) AS ending
    ORDER BY id DESC LIMIT ${MAX_CALLS_ENDING}`)
  return found.map(({ id }) => id).filter((id) => id.endsWith(lower))
}

/** Some milliseconds of reading: a PBX may have 20,000 calls, or 50,000 phones. */
const PART = 500

/** Reads all rows in the order of their ids, a part with each statement. */
function* inParts<Row>(idOf: (row: Row) => string, part: (afterId: string) => SQL): Work<Row[]> {
  const rows: Row[] = []
  for (let afterId = ''; ; ) {
    const found = yield* all<Row>(part(afterId))
    for (const row of found) rows.push(row)
    const last = found.at(-1)
    if (last === undefined || found.length < PART) return rows
    afterId = idOf(last)
  }
}

type AccountOrNone = Pick<LiveCallAccount, 'callId'> & {
  [Name in 'accountId' | 'account']: LiveCallAccount[Name] | null
}

/** A call without an event belongs to no account yet. */
function* readAccountsOfLiveCalls(pbx: string): Work<LiveCallAccount[]> {
  const rows = yield* inParts<AccountOrNone>(
    ({ callId }) => callId,
    (afterId) => sql`
      SELECT l.id AS "callId", a.id AS "accountId", a.name AS account
      FROM (SELECT id FROM live_calls WHERE pbx = ${pbx} AND id > ${afterId} ORDER BY id LIMIT ${PART}) AS l
        LEFT JOIN accounts a ON a.id = (SELECT e.account_id FROM events e WHERE e.call_id = l.id LIMIT 1)
      ORDER BY l.id`,
  )
  return rows.flatMap(({ callId, accountId, account }) =>
    accountId === null || account === null ? [] : { callId, accountId, account },
  )
}

/** The operations that read calls, live and saved. */
export const CALLS: Declarations<Omit<CallStore, 'batchStore' | 'pbxMemoryGet' | 'pbxMemorySet'>> = {
  liveCallList: read(
    (pbx) =>
      inParts<LiveCallRow>(
        ({ id }) => id,
        (afterId) => sql`
          SELECT id, state FROM live_calls WHERE pbx = ${pbx} AND id > ${afterId} ORDER BY id LIMIT ${PART}`,
      ),
    { isSliced: true },
  ),
  subjectStateList: read(
    (pbx) =>
      inParts<{ id: string; state: string }>(
        ({ id }) => id,
        (afterId) => sql`
          SELECT id, state FROM subject_states WHERE pbx = ${pbx} AND id > ${afterId} ORDER BY id LIMIT ${PART}`,
      ),
    { isSliced: true },
  ),
  liveCallListAccounts: read(readAccountsOfLiveCalls, { isSliced: true }),
  orphanedPbxList: read((watched) =>
    all<OrphanedPbx>(sql`
      SELECT o.pbx, a.id AS "accountId", a.name AS account
      FROM (SELECT l.pbx, min(e.account_id) AS account_id FROM live_calls l JOIN events e ON e.call_id = l.id
        WHERE NOT l.pbx ${among(texts(watched))} GROUP BY l.pbx) AS o
      JOIN accounts a ON a.id = o.account_id ORDER BY o.pbx`),
  ),
  callList: read(readCalls),
  callScan: read(scanCalls),
  callCount: read(countCalls),
  callGetMany: read(readRecords),
  callListToCallBack: read(readToCallBack),
  callIdListEndingIn: read(readCallIdsEndingIn),
  callListIdsOfNumber: read(({ accountId, number, limit }) =>
    readCallIds({ accountId, filter: { number }, limit, after: undefined }),
  ),
  callGet: read(function* (accountId, id) {
    const found = sql`SELECT record FROM calls WHERE account_id = ${accountId} AND id = ${id}`
    return (yield* first<{ record: string }>(found))?.record
  }),
}
