import { expect, test } from 'bun:test'
import { findCallsOfAll } from '../../../src/calls/api/call-search-of-all.ts'
import type { CallFactsRow, CallPosition, CallScan } from '../../../src/store/operations/calls.ts'
import { createRandom } from '../../help/random.ts'
import { seedsOf } from '../../help/seed.ts'

/** The calls of all accounts in one list. */

type Row = CallFactsRow & { readonly accountId: number }

const newestFirst = (one: CallPosition, other: CallPosition) =>
  other.savedUs - one.savedUs || Number(other.id > one.id) - Number(one.id > other.id)

/** Returns the part of a store that a search reads, and the number of rows that were read of it. */
function storeOf(rows: readonly Row[]) {
  let read = 0
  const calls = {
    async callScan({ accountId, after, sinceUs = 0, limit }: CallScan) {
      const found = rows
        .filter((row) => row.accountId === accountId && row.savedUs >= sinceUs)
        .filter((row) => after === undefined || newestFirst(after, row) < 0)
        .toSorted(newestFirst)
        .slice(0, limit)
      read += found.length
      return found
    },
    callGetMany: async () => [],
    callListToCallBack: async () => [],
  }
  return { calls, read: () => read }
}

function rowAt(at: number, accountId: number, savedUs: number, pbx: string): Row {
  return {
    accountId,
    id: String(at).padStart(6, '0'),
    savedUs,
    direction: 'inbound',
    pbx,
    result: null,
    missed: false,
    who: '',
  }
}

async function pagesOf(rows: readonly Row[], accountIds: readonly number[], pbx: string, limit: number) {
  const { calls } = storeOf(rows)
  const pages: string[][] = []
  for (let after: CallPosition | undefined; ; ) {
    const { found, next } = await findCallsOfAll(calls, { accountIds, search: { pbx }, after, limit })
    pages.push(found.map(({ accountId, id }) => `${accountId} ${id}`))
    if (next === null) return pages
    after = next
  }
}

test.each(seedsOf(45, 20))(
  'the pages of all accounts have each call that matches once, newest first, also those of the same moment (seed %i)',
  async (seed) => {
    const random = createRandom(seed)
    const accountIds = Array.from({ length: 1 + random.int(4) }, (_, at) => at + 1)
    const rows = Array.from({ length: random.int(200) }, (_, at) =>
      rowAt(at, random.pick(accountIds), random.int(50), random.chance(0.3) ? 'branch' : 'office'),
    )
    const limit = 1 + random.int(12)
    const pages = await pagesOf(rows, accountIds, 'branch', limit)
    const matching = rows.filter(({ pbx }) => pbx === 'branch').toSorted(newestFirst)
    expect(pages.flat()).toEqual(matching.map(({ accountId, id }) => `${accountId} ${id}`))
    expect(pages.every((page) => page.length <= limit)).toBe(true)
  },
)

test('a page looks at 20,000 calls of all accounts at most: where one was not searched to its end, no older call of another is shown', async () => {
  const many = Array.from({ length: 30_000 }, (_, at) => rowAt(at, 1, 100_000 + at, 'office'))
  const rows = [
    rowAt(40_000, 1, 5, 'branch'),
    ...many,
    rowAt(50_000, 2, 110_000, 'branch'),
    rowAt(60_000, 2, 7, 'branch'),
  ]
  const { calls, read } = storeOf(rows)
  const query = { accountIds: [1, 2], search: { pbx: 'branch' }, limit: 10 }
  const first = await findCallsOfAll(calls, { ...query, after: undefined })
  expect(read()).toBeLessThanOrEqual(20_000)
  expect([first.found, first.next?.savedUs]).toEqual([[], 120_000])
  expect((await pagesOf(rows, [1, 2], 'branch', 10)).flat()).toEqual(['2 050000', '2 060000', '1 040000'])
})

test('once a page is full, an account with older calls alone costs no reading', async () => {
  const recent = Array.from({ length: 400 }, (_, at) => rowAt(at, 1, 10_000 + at, 'office'))
  const old = Array.from({ length: 400 }, (_, at) => rowAt(1_000 + at, 2, at, 'office'))
  const { calls, read } = storeOf([...recent, ...old])
  const { found } = await findCallsOfAll(calls, { accountIds: [1, 2], search: {}, after: undefined, limit: 100 })
  expect([found.length, found.at(-1)?.id]).toEqual([100, '000300'])
  expect(read()).toBe(400)
})
