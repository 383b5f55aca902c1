import type { CallPosition } from '../../store/operations/calls.ts'
import { type CallSearch, type Calls, findCalls, MAX_EXAMINED } from './call-search.ts'

// The calls of all accounts, for the operator of the machine. The index orders the calls of one account, so the
// accounts are searched one after the other.

type Query = {
  readonly accountIds: readonly number[]
  readonly search: CallSearch
  readonly after: CallPosition | undefined
  readonly limit: number
}

type FoundCall = CallPosition & { readonly accountId: number }
type Page = { readonly found: readonly FoundCall[]; readonly next: CallPosition | null }

const isNewer = (one: CallPosition, other: CallPosition): boolean =>
  one.savedUs > other.savedUs || (one.savedUs === other.savedUs && one.id > other.id)
const newestFirst = (one: CallPosition, other: CallPosition): number => (isNewer(one, other) ? -1 : 1)

/** Returns a page of the calls of all accounts, newest first, and where the next page begins. */
export async function findCallsOfAll(calls: Calls, { accountIds, search, after, limit }: Query): Promise<Page> {
  const maxExamined = MAX_EXAMINED / Math.max(1, accountIds.length)
  let newest: FoundCall[] = []
  /** The lowest searched position of an account: below it the account may have newer calls than the other accounts. */
  let end: CallPosition | null = null
  for (const accountId of accountIds) {
    const oldestUs = newest[limit]?.savedUs ?? 0
    const needed = { ...search, sinceUs: Math.max(search.sinceUs ?? 0, oldestUs) }
    // One call beyond the page shows that a next page exists.
    const query = { accountId, search: needed, after, limit: limit + 1, maxExamined }
    const { found, next } = await findCalls(calls, query)
    newest.push(...found.map(({ savedUs, id }) => ({ savedUs, id, accountId })))
    newest = newest.toSorted(newestFirst).slice(0, limit + 1)
    if (next !== null && (end === null || isNewer(next, end))) end = next
  }
  const known = newest.filter((call) => end === null || !isNewer(end, call))
  const page = known.slice(0, limit)
  return { found: page, next: known.length > limit ? (page.at(-1) ?? null) : end }
}
