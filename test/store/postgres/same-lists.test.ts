import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { LogFilter, LogOrder } from '../../../src/store/operations/log.ts'
import type { Store } from '../../../src/store/store.ts'
import {
  ACCOUNT,
  ALL,
  callIdOf,
  FIRST_US,
  LEFT,
  RARE,
  RARE_EVERY,
  STEP_US,
  storeManyCalls,
} from '../../help/many-calls.ts'
import { POSTGRES_MISSING } from '../../help/postgres.ts'
import { ENGINES, type TestStore } from '../engines.ts'

/** The same calls in both engines: every list with every filter, read to its end, has the same items. */

const CALLS = 20_000
const MIDDLE_US = FIRST_US + (CALLS / 2) * STEP_US
const END_US = FIRST_US + CALLS * STEP_US
const NEWEST = Number.MAX_SAFE_INTEGER

const calls = (first: number, count: number) => Array.from({ length: count }, (_, at) => callIdOf(first + at))

const FILTERS: readonly Omit<LogFilter, 'accountId'>[] = [
  {},
  { state: 'pending' },
  { state: 'delivered' },
  { state: 'failed' },
  { state: 'cancelled' },
  { event: 'call_saved' },
  { event: 'dial_ended' },
  { event: 'call_missed' },
  { url: ALL },
  { url: RARE },
  { url: LEFT },
  { url: 'https://none.example/' },
  { untilUs: MIDDLE_US },
  { sinceUs: MIDDLE_US },
  { sinceUs: MIDDLE_US - 600 * STEP_US, untilUs: MIDDLE_US },
  { untilUs: FIRST_US },
  { sinceUs: END_US },
  { callIds: [callIdOf(7)] },
  { callIds: calls(5_000, 3_000) },
  { callIds: calls(5_000, 3_000), state: 'failed' },
  { callIds: calls(5_000, 3_000), untilUs: FIRST_US + 6_000 * STEP_US, event: 'call_saved' },
  { callIds: [] },
  ...(['pending', 'delivered', 'failed', 'cancelled'] as const).flatMap((state) => [
    { state, untilUs: MIDDLE_US },
    { state, sinceUs: MIDDLE_US, event: 'call_saved' },
    { state, url: RARE, untilUs: MIDDLE_US },
    { state, url: LEFT, sinceUs: MIDDLE_US },
  ]),
  { url: RARE, untilUs: MIDDLE_US },
  { event: 'call_saved', untilUs: MIDDLE_US },
]

/** Returns where two long lists differ: an expectation would compare all of their lines for minutes. */
function firstDifference(found: readonly string[], expected: readonly string[]) {
  const at = Array.from({ length: Math.max(found.length, expected.length) }, (_, index) => index).find(
    (index) => found[index] !== expected[index],
  )
  if (at === undefined) return undefined
  return {
    at,
    found: [found.length, ...found.slice(at, at + 3)],
    expected: [expected.length, ...expected.slice(at, at + 3)],
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('both engines, with the same calls', () => {
  const opened: TestStore[] = []
  let [sqlite, postgres]: Store[] = []
  beforeAll(async () => {
    for (const engine of ENGINES) opened.push(await engine.open())
    ;[sqlite, postgres] = opened.map(({ store }) => store)
    await Promise.all(opened.map(({ store }) => storeManyCalls(store, CALLS)))
  })
  afterAll(async () => {
    for (const one of opened) await one[Symbol.asyncDispose]()
  })

  /** Returns what a list has in each engine. */
  async function inBoth<Items>(read: (store: Store) => Promise<Items>): Promise<[Items, Items]> {
    if (sqlite === undefined || postgres === undefined) throw new Error('both stores are open')
    return [await read(sqlite), await read(postgres)]
  }

  async function readLog({ log }: Store, filter: LogFilter, order: LogOrder, limit: number): Promise<string[]> {
    const found: string[] = []
    for (let fromId: number | null = order === 'newest' ? NEWEST : 0; fromId !== null; ) {
      const part = await log.deliveryList({ filter, fromId, limit, order })
      expect(part.rows.length).toBeLessThanOrEqual(limit)
      found.push(...part.rows.map(({ uuid, url, state }) => `${uuid} ${url} ${state}`))
      fromId = part.nextId
    }
    return found
  }

  test('have the deliveries of the fixture', async () => {
    const [, all] = await inBoth((store) => readLog(store, { accountId: ACCOUNT }, 'newest', 500))
    // Two for each call, and for a rare event two: one of them of the URL that left its list.
    expect(all).toHaveLength(3 * CALLS + (2 * CALLS) / RARE_EVERY)
    expect(new Set(all.map((line) => line.split(' ').at(-1)))).toEqual(
      new Set(['delivered', 'failed', 'pending', 'cancelled']),
    )
  })

  test.each(FILTERS)('list the same deliveries: %j', async (filter) => {
    for (const [order, accountId, limit] of [
      ['newest', ACCOUNT, 500],
      ['oldest', null, 1_000],
    ] as const) {
      const [expected, found] = await inBoth((store) => readLog(store, { accountId, ...filter }, order, limit))
      expect(firstDifference(found, expected)).toBeUndefined()
    }
  })

  test.each([
    {},
    { names: ['call_saved'] },
    { names: ['call_missed'] },
    { callId: callIdOf(7) },
    { callId: callIdOf(7), names: ['call_saved'] },
  ])('read the same events: %j', async (query) => {
    const [expected, found] = await inBoth(async ({ log }) => {
      const uuids: string[] = []
      for (let afterId = 0, isEnd = false; !isEnd; ) {
        const part = await log.eventRead({ accountId: ACCOUNT, afterId, limit: 500, ...query })
        uuids.push(...part.items.map(({ uuid }) => uuid))
        ;({ isEnd, lastId: afterId } = part)
      }
      return uuids
    })
    expect(firstDifference(found, expected)).toBeUndefined()
  })

  test.each([
    {},
    { direction: 'inbound' },
    { number: '1555007' },
    { number: '107', direction: 'outbound' },
    { number: '15557', sinceUs: MIDDLE_US },
    { untilUs: MIDDLE_US, sinceUs: MIDDLE_US - 700 * STEP_US },
    { untilUs: FIRST_US },
  ] as const)('list the same calls: %j', async (filter) => {
    const [expected, found] = await inBoth(async ({ calls }) => {
      const ids: string[] = []
      for (let after: { savedUs: number; id: string } | undefined, isEnd = false; !isEnd; ) {
        const page = await calls.callList({ accountId: ACCOUNT, filter, after, limit: 200 })
        ids.push(...page.map(({ id }) => id))
        after = page.at(-1)
        isEnd = page.length < 200
      }
      return ids
    })
    expect(firstDifference(found, expected)).toBeUndefined()
  })

  test('have the same events of a call', async () => {
    for (const call of [0, 7, 12_007]) {
      const [expected, found] = await inBoth(async ({ log }) =>
        (await log.eventListOfCall(ACCOUNT, callIdOf(call))).map(({ uuid, deliveries }) => [
          uuid,
          deliveries.map(({ url, state }) => [url, state]),
        ]),
      )
      expect(found).toEqual(expected)
    }
  })

  test('retry the same deliveries', async () => {
    for (const filter of [
      { url: RARE, untilUs: MIDDLE_US },
      { state: 'failed', sinceUs: MIDDLE_US },
    ] as const) {
      const [expected, found] = await inBoth(async ({ queue }) => {
        let all = 0
        for (let fromId: number | null = 0; fromId !== null; ) {
          const step = { filter: { accountId: ACCOUNT, ...filter }, fromId, nowSteadyUs: END_US, limit: 100 }
          const result = await queue.deliveryRetryMatching(step)
          if (typeof result === 'number') throw new Error('all deliveries that had to be cancelled are')
          all += result.queued
          fromId = result.nextId
        }
        return all
      })
      expect(expected).toBeGreaterThan(0)
      expect(found).toBe(expected)
    }
    const [expected, found] = await inBoth((store) =>
      readLog(store, { accountId: ACCOUNT, state: 'pending' }, 'oldest', 500),
    )
    expect(firstDifference(found, expected)).toBeUndefined()
  })
})
