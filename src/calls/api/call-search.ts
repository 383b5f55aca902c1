import type { Direction } from '../../events/enums.ts'
import { readCallRecord, readPbx } from '../../events/stored-json.ts'
import { nextTurn } from '../../lib/slices.ts'
import type { CallFacts, CallFactsRow, CallPosition, CallStore } from '../../store/operations/calls.ts'
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

/** A call with all its facts. */
type Row = Omit<CallFactsRow, 'who'> & CallFacts

/** A page looks at no more calls than this: it may then be shorter than its limit, and the cursor goes on. */
export const MAX_EXAMINED = 20_000
/** Some milliseconds of work. */
const PART = 500
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
export async function countCalls(calls: Calls, accountId: number, search: CallSearch): Promise<CountOfOutcome> {
  const counts = { all: 0, missed: 0, to_call_back: 0, answered: 0, voicemail: 0, not_reached: 0 }
  const { direction, number, pbx, extension, q, sinceUs, untilUs } = search
  const others = { direction, number, pbx, extension, q, sinceUs, untilUs }
  for await (const { matching } of parts(calls, { accountId, search: others, after: undefined })) {
    counts.all += matching.length
    counts.missed += matching.filter(({ missed }) => missed).length
    counts.answered += matching.filter(({ result }) => result === 'answered').length
    counts.voicemail += matching.filter(({ result }) => result === 'voicemail').length
    counts.not_reached += matching.filter(isNotReached).length
    if (counts.to_call_back < MAX_COUNTED) counts.to_call_back += (await toCallBack(calls, accountId, matching)).length
  }
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] = Math.min(MAX_COUNTED, counts[name])
  return counts
}

type Part = {
  readonly rows: readonly Row[]
  readonly matching: readonly Row[]
  readonly isEnd: boolean
}

async function* parts(calls: Calls, { accountId, search, after }: PageQuery): AsyncGenerator<Part> {
  const { sinceUs, untilUs } = search
  for (let position = after; ; ) {
    const read = await calls.callScan({ accountId, sinceUs, untilUs, after: position, limit: PART })
    const rows = await completed(calls, accountId, read)
    const wanted = rows.filter((row) => matches(search, row))
    const matching = search.toCallBack === true ? await toCallBack(calls, accountId, wanted) : wanted
    const isEnd = rows.length < PART
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

const isNotReached = ({ direction, result }: Row): boolean => direction === 'outbound' && result !== 'answered'

function matches(search: CallSearch, row: Row): boolean {
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
