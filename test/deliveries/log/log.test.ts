import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createDeliverySearch } from '../../../src/deliveries/log/delivery-search.ts'
import type { Delivery, DeliveryFilter } from '../../../src/deliveries/log/model.ts'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { EVENT_NAMES, type EventKind } from '../../../src/events/kinds.ts'
import { deliveryIdText, type OpaqueIds, openOpaqueIds } from '../../../src/http/opaque-ids.ts'
import { parseTime, rfc3339, SECOND } from '../../../src/lib/time.ts'
import { DELIVERY_STATES } from '../../../src/store/operations/delivery-state.ts'
import type { DeliveryPart, LogFilter } from '../../../src/store/operations/log.ts'
import { DELIVERIES_PER_EVENT } from '../../../src/store/operations/queue.ts'
import { mutation, type Tx } from '../../../src/store/sqlite/engine/mutation.ts'
import { prepared } from '../../../src/store/sqlite/engine/prepared.ts'
import { readLog } from '../../../src/store/sqlite/log.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { seededRandom } from '../../help/seed.ts'
import { type OpenStore, openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, listed } from '../run/rig.ts'

/** A log that is longer than one part of a search, with gaps as pruning leaves them, against a filter in plain code. */

const EVENTS = 6_000
const START_US = 1_795_213_000 * SECOND
const URLS = ['http://often.example/', 'http://seldom.example/', 'http://never.example/']
type Row = {
  id: number
  event: EventKind
  callId: string
  url: string
  state: number
  atUs: number
  dueUs: number | null
}

const fill = mutation('test.fill', (tx: Tx, { rows, webhookIds }: { rows: Row[]; webhookIds: number[] }): void => {
  const event = prepared<never, (string | number)[]>(
    tx,
    "INSERT OR IGNORE INTO events (id, uuid, account_id, call_id, name, sequence, at, body) VALUES (?, ?, 1, ?, ?, 1, ?, '{}')",
  )
  const delivery = prepared<never, (number | null)[]>(
    tx,
    'INSERT INTO deliveries (id, webhook_id, state, due_at, since, created_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  for (const { id, event: name, callId, url, state, atUs, dueUs } of rows) {
    event.run(Math.floor(id / DELIVERIES_PER_EVENT), `${id}`, callId, name, atUs)
    delivery.run(id, webhookIds[URLS.indexOf(url)] ?? 0, state, dueUs, atUs, atUs, state === 0 ? null : atUs)
  }
})

const folder = emptyFolder()
const random = seededRandom(7)
let store: OpenStore
let rows: Row[]
let ids: OpaqueIds

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  ids = await openOpaqueIds(store.log)()
  await createWebhookService({ webhooks: store.webhooks }).replace(ACCOUNT, URLS.map(listed), null)
  rows = Array.from({ length: EVENTS }, (_, index) => index + 1)
    // From this span of time only a few events remain.
    .filter((id) => id > 4_000 || id < 1_500 || id % 400 === 0)
    .flatMap((id) => {
      const atUs = START_US + id * SECOND
      const [event, callId] = [random.pick(EVENT_NAMES), `call ${Math.floor(id / 6)}`]
      return URLS.slice(0, random.chance(0.02) ? 2 : 1).map((url, place) => {
        const state = random.chance(0.4) ? 1 : random.pick([0, 2, 3])
        const dueUs = state === 0 && random.chance(0.5) ? atUs + SECOND : null
        return { id: id * DELIVERIES_PER_EVENT + place, event, callId, url, state, atUs, dueUs }
      })
    })
    .toReversed()
  await store.db.commit(fill, { rows, webhookIds: [1, 2, 3] })
})
afterAll(async () => {
  await store.stop()
  folder[Symbol.dispose]()
})

/** Every fifth call is from one number; another has made one call alone. */
const numberOf = (callId: string) => (Number(callId.slice(5)) % 5 === 0 ? '101' : callId === 'call 733' ? '102' : '')
const callsOfNumber = async (_: number, number: string) => [
  ...new Set(rows.map(({ callId }) => callId).filter((callId) => numberOf(callId) === number)),
]

/** Returns the id of a delivery as clients get it. */
const textOf = (id: number) => deliveryIdText(ids, { accountId: ACCOUNT, id })

const wanted = (filter: DeliveryFilter): string[] =>
  rows
    .filter(
      ({ event, callId, url, state, atUs }) =>
        (filter.state === undefined || DELIVERY_STATES[state] === filter.state) &&
        (filter.event === undefined || filter.event === event) &&
        (filter.url === undefined || filter.url === url) &&
        (filter.call_id === undefined || filter.call_id === callId) &&
        (filter.number === undefined || numberOf(callId) === filter.number) &&
        (filter.since === undefined || rfc3339(atUs) >= filter.since) &&
        (filter.until === undefined || rfc3339(atUs) < filter.until),
    )
    .map(({ id }) => textOf(id))

const LIMITS = { patienceMs: 1_000, maxExamined: 20_000 }

/** All pages, one after the other. */
async function all(filter: DeliveryFilter, limit: number, patienceMs?: number) {
  const service = createDeliveryService({
    templates: TEMPLATES,
    store,
    callsOfNumber,
    ...(patienceMs === undefined ? {} : { patienceMs }),
  })
  const pages: Delivery[][] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await service.list(ACCOUNT, filter, limit, cursor)
    pages.push(page.items)
    cursor = page.next_cursor
  }
  return pages
}

const FILTERS: readonly DeliveryFilter[] = [
  {},
  ...DELIVERY_STATES.map((state) => ({ state })),
  ...URLS.map((url) => ({ url })),
  { url: 'http://unknown.example/' },
  { call_id: 'call 100' },
  { call_id: 'call 100', state: 'delivered' },
  { event: 'call_saved' },
  { event: 'call_saved', state: 'failed' },
  { url: 'http://seldom.example/', state: 'delivered' },
  { url: 'http://seldom.example/', state: 'cancelled', event: 'call_ended' },
  { since: rfc3339(START_US + 4_500 * SECOND) },
  { until: rfc3339(START_US + 1_000 * SECOND), state: 'pending' },
  { since: rfc3339(START_US + 500 * SECOND), until: rfc3339(START_US + 4_100 * SECOND) },
  { since: rfc3339(START_US + 500 * SECOND), until: rfc3339(START_US + 4_100 * SECOND), state: 'failed' },
  { since: rfc3339(START_US + 10_000 * SECOND) },
]

const NUMBERS: readonly DeliveryFilter[] = [
  { number: '101' },
  { number: '101', state: 'failed' },
  { number: '101', url: 'http://seldom.example/' },
  { number: '101', since: rfc3339(START_US + 1_200 * SECOND), until: rfc3339(START_US + 5_000 * SECOND) },
  { number: '102' },
  { number: '103' },
  { number: '101', call_id: 'call 100' },
  { number: '101', call_id: 'call 101' },
]

test.each([...FILTERS, ...NUMBERS])(
  '%j: every page is full but the last, and together they are what matches',
  async (filter) => {
    const pages = await all(filter, 200)
    expect(pages.flat().map(({ id }) => id)).toEqual(wanted(filter))
    for (const page of pages.slice(0, -1)) expect(page).toHaveLength(200)
  },
)

test.each([...FILTERS, ...NUMBERS])(
  '%j: without any patience pages are shorter, and together the same',
  async (filter) => {
    const pages = await all(filter, random.pick([1, 7, 50]), 0)
    expect(pages.flat().map(({ id }) => id)).toEqual(wanted(filter))
  },
)

test.each(FILTERS)('%j: read from the oldest on, in parts, it is the same the other way round', async (filter) => {
  const found: number[] = []
  const limit = random.pick([7, 200, 1_500])
  const resolved = await createDeliverySearch({ store, callsOfNumber, ...LIMITS }).resolve(ACCOUNT, filter)
  for (let from: number | null = 0; from !== null; ) {
    const query = { filter: resolved, fromId: from, limit, order: 'oldest' } as const
    const part: DeliveryPart = await store.log.deliveryList(query)
    found.push(...part.rows.map(({ id }) => id))
    from = part.nextId
  }
  expect(found.map(textOf)).toEqual(wanted(filter).toReversed())
})

test.each(FILTERS)('%j: with slow reads a part ends after one step, and together the parts are the same', (filter) => {
  let nowMs = 0
  const slow = () => {
    nowMs += 10
    return nowMs
  }
  const { state, event, url, call_id: callId, since, until } = filter
  const times = { sinceUs: since && parseTime(since), untilUs: until && parseTime(until) }
  const callIds = callId === undefined ? undefined : [callId]
  const plain = { accountId: ACCOUNT, state, event, url, callIds, ...times } as LogFilter
  const found: number[] = []
  for (let fromId: number | null = Number.MAX_SAFE_INTEGER; fromId !== null; ) {
    const part = readLog(store.db.read, { filter: plain, fromId, limit: 200, order: 'newest' }, slow)
    expect(part.examined).toBeLessThanOrEqual(64)
    found.push(...part.rows.map(({ id }) => id))
    fromId = part.nextId
  }
  expect(found.map(textOf)).toEqual(wanted(filter))
})

test('a page of a filter that matches nothing ends after 20,000 rows, and its cursor goes on', async () => {
  let examined = 0
  const counting: Pick<typeof store, 'log' | 'calls'> = {
    calls: store.calls,
    log: {
      ...store.log,
      async deliveryList(query) {
        const part = await store.log.deliveryList(query)
        examined += part.examined
        return { ...part, nextId: part.nextId ?? Number.MAX_SAFE_INTEGER }
      },
    },
  }
  const limits = { patienceMs: Number.POSITIVE_INFINITY, maxExamined: 20_000 }
  const search = createDeliverySearch({ store: counting, callsOfNumber, ...limits })
  const filter = { ...(await search.resolve(ACCOUNT, {})), event: 'nothing' }
  const { rows, nextId } = await search.find(filter, Number.MAX_SAFE_INTEGER, 50)
  expect(rows).toEqual([])
  expect(nextId).not.toBeNull()
  expect(examined).toBeGreaterThanOrEqual(20_000)
  expect(examined).toBeLessThanOrEqual(21_000)
})

test('a number without calls retries nothing', async () =>
  expect(await createDeliveryService({ templates: TEMPLATES, store }).retryAll(ACCOUNT, { number: '104' })).toBe(0))

test('a search that finds nothing leaves the event loop to others', async () => {
  let turns = 0
  let searching = true
  const others = async () => {
    for (; searching; turns += 1) await new Promise(setImmediate)
  }
  const running = others()
  expect(await all({ url: 'http://never.example/' }, 50)).toEqual([[]])
  searching = false
  await running
  expect(turns).toBeGreaterThanOrEqual(3)
})

test('more retries than can be put in order at once are read by their events', async () => {
  const more = Array.from({ length: 5_500 }, (_, index): Row => {
    const [id, atUs] = [EVENTS + 1 + index, START_US + (EVENTS + 1 + index) * SECOND]
    const about = { event: 'call_ended' as const, callId: `late ${id}`, url: 'http://never.example/', state: 0 }
    return { ...about, id: id * DELIVERIES_PER_EVENT, atUs, dueUs: atUs + random.int(1_000) * SECOND }
  }).toReversed()
  await store.db.commit(fill, { rows: more, webhookIds: [1, 2, 3] })
  rows = [...more, ...rows]
  for (const filter of [{ state: 'pending' }, { state: 'pending', url: 'http://never.example/' }] as const)
    expect((await all(filter, 200)).flat().map(({ id }) => id)).toEqual(wanted(filter))
})

test('a retry by a rare filter reads the log in parts, each in a separate commit', async () => {
  const filter: DeliveryFilter = { state: 'delivered', url: 'http://seldom.example/' }
  const before = store.commits.writes
  expect(await createDeliveryService({ templates: TEMPLATES, store }).retryAll(ACCOUNT, filter)).toBe(
    wanted(filter).length,
  )
  expect(store.commits.writes - before).toBeGreaterThanOrEqual(3)
})
