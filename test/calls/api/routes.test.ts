import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callRoutes } from '../../../src/calls/api/routes.ts'
import type { Direction } from '../../../src/events/enums.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { rfc3339, SECOND } from '../../../src/lib/time.ts'
import type { SavedCall } from '../../../src/store/operations/calls.ts'
import { startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { seededRandom } from '../../help/seed.ts'
import { batch, type OpenStore, openStore } from '../../help/store.ts'

/** A list of calls that is long, against a filter in plain code. */

const [MINE, ANOTHER] = [1, 2]
const CALLS = 50_000
const START_US = 1_795_213_000 * SECOND
/** The calls that a restarted PBX leaves behind are saved at the same moment. */
const AT_ONCE = 40
const NUMBERS = ['101', '102', '15550000001', '15550000002']
const OF_NOBODY = '15559999999'
const SELDOM = '15551234567'

const call = EXAMPLES[0]?.data.call
const random = seededRandom(11)
const saved: SavedCall[] = Array.from({ length: CALLS }, (_, index) => {
  const id = `call-${random.int(1_000_000)}-${index}`
  const savedUs = START_US + Math.floor(index / AT_ONCE) * SECOND
  // Internal calls are few, and long ago.
  const direction: Direction = index < 500 ? 'internal' : random.pick(['inbound', 'outbound'])
  const [from, to] = index % 20_000 === 777 ? [SELDOM, '101'] : [random.pick([...NUMBERS, null]), random.pick(NUMBERS)]
  const record = JSON.stringify({ call: { ...call, id }, stages: [], recordings: [] })
  return { id, savedUs, direction, fromNumber: from, toNumber: to, record }
})

const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let token: string

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) => callRoutes(auth, store))
  token = await api.logIn('default')
  await api.logIn('another')
  const put = (accountId: number, some: SavedCall[]) => store.calls.batchStore(batch({ accountId, saved: some }))
  await put(MINE, saved)
  await put(
    ANOTHER,
    saved.slice(-100).map((one) => ({ ...one, id: `not ${one.id}`, fromNumber: SELDOM })),
  )
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

type Filter = { direction?: Direction; number?: string; since?: string; until?: string }

const newestFirst = saved.toSorted((one, other) => other.savedUs - one.savedUs || (one.id < other.id ? 1 : -1))
const wanted = ({ direction, number, since = '', until = '9' }: Filter): string[] =>
  newestFirst
    .filter(
      (one) =>
        (direction === undefined || one.direction === direction) &&
        (number === undefined || one.fromNumber === number || one.toNumber === number) &&
        rfc3339(one.savedUs) >= since &&
        rfc3339(one.savedUs) < until,
    )
    .map(({ id }) => id)

type Page = { result: { items: { id: string }[]; next_cursor: string | null } }

/** The first pages, one after the other. */
async function pages(filter: Filter, limit: number, most: number): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = ''
  for (let page = 0; page < most && cursor !== null; page++) {
    const query = new URLSearchParams({ ...filter, limit: `${limit}`, ...(cursor === '' ? {} : { cursor }) })
    const response = await fetch(`${api.url}/call?${query}`, { headers: { authorization: `Bearer ${token}` } })
    const { result } = (await response.json()) as Page
    ids.push(...result.items.map(({ id }) => id))
    cursor = result.next_cursor
  }
  return ids
}

const at = (seconds: number) => rfc3339(START_US + seconds * SECOND)

test.each<[sentence: string, filter: Filter]>([
  ['all', {}],
  ['of a direction', { direction: 'inbound' }],
  ['of a direction that only old ones have', { direction: 'internal' }],
  ['of a number', { number: '15550000001' }],
  ['of a number of few calls', { number: SELDOM }],
  ['of a number of no call', { number: OF_NOBODY }],
  ['of a number and a direction', { number: '102', direction: 'outbound' }],
  ['of a number and a direction that only old ones have', { number: '102', direction: 'internal' }],
  ['since a time', { since: at(1_200) }],
  ['until a time', { until: at(1_200) }],
  ['of a number within a time', { number: '101', since: at(600), until: at(640) }],
  ['within no time at all', { since: at(600), until: at(600) }],
])('calls %s are listed, newest first, and none twice', async (_, filter) => {
  const all = wanted(filter)
  expect(await pages(filter, 7, 20)).toEqual(all.slice(0, 140))
  expect(await pages(filter, 200, 4)).toEqual(all.slice(0, 800))
})

test('the pages of a list end with its last call', async () => {
  const filter = { number: '101', direction: 'internal' } as const
  expect(await pages(filter, 50, 100)).toEqual(wanted(filter))
})

/** How many bytes this process read while it did something, from wherever (Linux counts them). */
async function bytesRead(work: () => Promise<unknown>): Promise<number> {
  const count = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  const before = count()
  await work()
  return count() - before
}

test.each<[sentence: string, filter: { number?: string; direction?: Direction }, after?: number]>([
  ['a number of few calls', { number: SELDOM }],
  ['a number of no call', { number: OF_NOBODY }],
  ['a direction that only old calls have', { direction: 'internal' }],
  ['a number and a direction that never meet', { number: SELDOM, direction: 'outbound' }],
  ['the last page of a number', { number: '101' }, CALLS - 100],
  ['the last page of all', {}, CALLS - 100],
])('%s is found without going through the other calls', async (_, filter, place = 0) => {
  // Without its cache SQLite reads every page again.
  store.db.read.run('PRAGMA cache_size = 0')
  const list = () => store.calls.callList({ accountId: MINE, filter, limit: 50, after: newestFirst[place] })
  const bytes = await bytesRead(list)
  // Going through all of them reads ten times as much, and more with each call.
  expect(bytes).toBeLessThan(3_000_000)
})

test.each(['2026-11-20T21:42:00', '2026-11-20', 'yesterday'])('the time %s has no zone: 422', async (time) => {
  for (const name of ['since', 'until']) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${api.url}/call?${name}=${time}`, { headers })
    expect([response.status, (await response.json()).result]).toEqual([
      422,
      { errors: [{ path: `/${name}`, message: 'must be a time like 2026-11-20T21:42:00Z' }] },
    ])
  }
})
