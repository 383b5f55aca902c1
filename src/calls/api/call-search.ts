import type { Direction } from '../../events/enums.ts'
import { readCallRecord, readPbx } from '../../events/stored-json.ts'
import { nextTurn } from '../../lib/slices.ts'
import type { CallCount, CallFacts, CallFactsRow, CallPosition, CallStore } from '../../store/operations/calls.ts'
import { callFactsOf, hasExtension, hasNumber, mentions } from '../call-facts.ts'

/**
 * Finds saved calls by their facts, newest first. An index has all facts in the order of the list: it is read in small
 * parts, with other work between them.
 */
export type CallSearch = {
  readonly direction?: Direction | undefined
  /** A number that the call was from or to: as the PBX spells it, or in E.164. */
  readonly number?: string | undefined
  readonly pbx?: string | undefined
  readonly missed?: boolean | undefined
  readonly result?: string | undefined
  readonly extension?: string | undefined
  /** A number or a name contains it. */
  readonly q?: string | undefined
  readonly toCallBack?: boolean | undefined
  /** Outbound, and nobody answered. */
  readonly notReached?: boolean | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

export type Calls = Pick<CallStore, 'callScan' | 'callGetMany' | 'callListToCallBack'>
type CountedCalls = Calls & Pick<CallStore, 'callCount'>

/** A call with all its facts. */
type Row = Omit<CallFactsRow, 'who'> & CallFacts

/** The most calls that one page examines: a page may be shorter than its limit, and the cursor goes on. */
export const MAX_EXAMINED = 20_000
/** Some milliseconds of work. */
const PART = 500
/** The calls that the store counts at a time, some milliseconds too. */
const COUNTED_PART = 2_000
/** The numbers that are counted; the last one means "or more". */
export const MAX_COUNTED = 10_000

type Found = { readonly found: readonly CallPosition[]; readonly next: CallPosition | null }
type PageQuery = { readonly accountId: number; readonly search: CallSearch; readonly after: CallPosition | undefined }

/** Returns the calls of a page, and where the next one begins. */
export async function findCalls(
  calls: Calls,
  {
    limit,
    maxExamined = MAX_EXAMINED,
    ...query
  }: PageQuery & { readonly limit: number; readonly maxExamined?: number },
): Promise<Found> {
  const found: CallPosition[] = []
  let examined = 0
  for await (const { rows, matching, isEnd } of parts(calls, query)) {
    examined += rows.length
    found.push(...matching)
    if (found.length > limit || (found.length === limit && isEnd)) {
      const shown = found.slice(0, limit)
      return { found: shown, next: found.length > limit ? (shown.at(-1) ?? null) : null }
    }
    const last = rows.at(-1)
    if (isEnd || last === undefined) break
    if (examined >= maxExamined) return { found, next: { savedUs: last.savedUs, id: last.id } }
  }
  return { found, next: null }
}

/** Yields the ids of all calls that match, a part at a time. */
export async function* findAllCalls(calls: Calls, query: Omit<PageQuery, 'after'>): AsyncGenerator<readonly string[]> {
  for await (const { matching } of parts(calls, { ...query, after: undefined })) yield matching.map(({ id }) => id)
}

type CountOfOutcome = Readonly<
  Record<'all' | 'missed' | 'to_call_back' | 'answered' | 'voicemail' | 'not_reached', number>
>

/** Counts the calls of each outcome under all filters but the filters of outcomes. */
export async function countCalls(calls: CountedCalls, accountId: number, search: CallSearch): Promise<CountOfOutcome> {
  const counts = { all: 0, missed: 0, to_call_back: 0, answered: 0, voicemail: 0, not_reached: 0 }
  const { direction, number, pbx, extension, q, sinceUs, untilUs } = search
  const others = { direction, number, pbx, extension, q, sinceUs, untilUs }
  for await (const part of countedParts(calls, { accountId, search: others, after: undefined })) {
    for (const one of part) {
      counts.all += one.count
      if (one.missed) counts.missed += one.count
      if (one.result === 'answered') counts.answered += one.count
      if (one.result === 'voicemail') counts.voicemail += one.count
      if (isNotReached(one)) counts.not_reached += one.count
    }
    const missedIds = part.flatMap((one) => one.missedIds)
    for (let at = 0; at < missedIds.length && counts.to_call_back < MAX_COUNTED; at += PART) {
      const ids = missedIds.slice(at, at + PART)
      counts.to_call_back += (await calls.callListToCallBack({ accountId, ids })).length
      await nextTurn()
    }
  }
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] = Math.min(MAX_COUNTED, counts[name])
  return counts
}

type Counted = Omit<CallCount, 'lacksFacts'>

/** Yields the matching calls part by part; calls with the same facts are one row with a count. */
async function* countedParts(calls: CountedCalls, query: PageQuery): AsyncGenerator<readonly Counted[]> {
  const { accountId, search } = query
  const { number, extension, q, sinceUs, untilUs } = search
  // Only this program knows the meaning of these filters.
  if (number !== undefined || extension !== undefined || q !== undefined) {
    yield* countedRows(calls, query)
    return
  }
  for (let after = query.after; ; ) {
    const { counts, next } = await calls.callCount({ accountId, sinceUs, untilUs, after, limit: COUNTED_PART })
    if (counts.some(({ lacksFacts }) => lacksFacts)) yield* countedRows(calls, { ...query, after, most: COUNTED_PART })
    else yield counts.filter((one) => matches(search, { ...one, who: '' }))
    if (next === null) return
    after = next
    await nextTurn()
  }
}

async function* countedRows(calls: Calls, query: PartsQuery): AsyncGenerator<readonly Counted[]> {
  for await (const { matching } of parts(calls, query))
    yield matching.map((row) => ({ ...row, count: 1, missedIds: row.missed ? [row.id] : [] }))
}

type Part = {
  readonly rows: readonly Row[]
  readonly matching: readonly Row[]
  readonly isEnd: boolean
}

/** `most`: the highest number of calls to read, a multiple of PART; by default all calls. */
type PartsQuery = PageQuery & { readonly most?: number }

async function* parts(
  calls: Calls,
  { accountId, search, after, most = Number.POSITIVE_INFINITY }: PartsQuery,
): AsyncGenerator<Part> {
  const { sinceUs, untilUs } = search
  let left = most
  for (let position = after; ; ) {
    const read = await calls.callScan({ accountId, sinceUs, untilUs, after: position, limit: PART })
    const rows = await completed(calls, accountId, read)
    const wanted = rows.filter((row) => matches(search, row))
    const matching = search.toCallBack === true ? await toCallBack(calls, accountId, wanted) : wanted
    left -= rows.length
    const isEnd = rows.length < PART || left <= 0
    yield { rows, matching, isEnd }
    const last = rows.at(-1)
    if (isEnd || last === undefined) return
    position = { savedUs: last.savedUs, id: last.id }
    await nextTurn()
  }
}

/** Reads the facts that a node of an earlier version has not saved from the records of its calls. */
async function completed(calls: Calls, accountId: number, rows: readonly CallFactsRow[]): Promise<Row[]> {
  const ids = rows.filter(({ who }) => who === null).map(({ id }) => id)
  const found = ids.length === 0 ? [] : await calls.callGetMany({ accountId, ids })
  const facts = new Map(found.map(({ id, record }) => [id, callFactsOf(readPbx(record), readCallRecord(record))]))
  return rows.map((row) => {
    const known = facts.get(row.id)
    return known === undefined ? { ...row, who: row.who ?? '' } : { ...row, ...known }
  })
}

async function toCallBack(calls: Calls, accountId: number, rows: readonly Row[]): Promise<Row[]> {
  const missed = rows.filter((row) => row.missed)
  if (missed.length === 0) return []
  const ids = new Set(await calls.callListToCallBack({ accountId, ids: missed.map(({ id }) => id) }))
  return missed.filter(({ id }) => ids.has(id))
}

const isNotReached = ({ direction, result }: Pick<Row, 'direction' | 'result'>): boolean =>
  direction === 'outbound' && result !== 'answered'

function matches(search: CallSearch, row: Omit<Row, 'id' | 'savedUs'>): boolean {
  const { direction, number, pbx, missed, result, extension, q, notReached } = search
  return (
    (direction === undefined || row.direction === direction) &&
    (number === undefined || hasNumber(row, number)) &&
    (pbx === undefined || row.pbx === pbx) &&
    (missed === undefined || row.missed === missed) &&
    (result === undefined || row.result === result) &&
    (notReached === undefined || isNotReached(row) === notReached) &&
    (extension === undefined || hasExtension(row, extension)) &&
    (q === undefined || mentions(row, q))
  )
}
