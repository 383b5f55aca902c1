import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import { createLog } from '../../../src/lib/log.ts'
import { rfc3339, SECOND } from '../../../src/lib/time.ts'
import type { TrafficPeriod } from '../../../src/web/model.ts'
import { createDeliveryCounts } from '../../../src/web/server/delivery-counts.ts'
import { ownFigures } from '../../../src/web/server/figures.ts'
import { createLastHour } from '../../../src/web/server/last-hour.ts'
import { startLastHourSaver } from '../../../src/web/server/last-hour-saver.ts'
import { overviewRoutes } from '../../../src/web/server/overview.ts'
import { readOwnStatuses } from '../../../src/web/server/webhook-statuses.ts'
import { startApi } from '../../help/api.ts'
import { until } from '../../help/receiver.ts'
import { ENGINES, type TestStore } from '../../store/engines.ts'

/** `GET /overview/traffic`: the figures of a day and of a week. */

const NOW = Date.UTC(2026, 10, 20, 21, 42, 30) * 1_000
const QUARTER_US = 15 * 60 * SECOND
const QUARTER = Math.floor(NOW / QUARTER_US)
const [MINE, FOREIGN, SERVICE] = [1, 2, 0]
const NOTHING = { events: 0, delivered: 0, failedAttempts: 0, failedProbes: 0, latencies: [] }
const QUIET = { events: 0, delivered: 0, failed_attempts: 0, failed_probes: 0, p50_ms: null, p99_ms: null }
const AWAY = { ...QUIET, events: null, delivered: null, failed_attempts: null, failed_probes: null }

for (const engine of ENGINES)
  describe.skipIf(engine.missing !== undefined)(`on ${engine.name}`, () => {
    let opened: TestStore
    let api: Awaited<ReturnType<typeof startApi>>
    let [mine, foreign] = ['', '']

    beforeAll(async () => {
      opened = await engine.open()
      const { store } = opened
      const emitter = newEmitter()
      const lastHour = createLastHour()
      const nowUs = () => NOW
      const counts = createDeliveryCounts({ emitter, lastHour, nowUs })
      const health = () => ({ state: 'up' as const, downSinceUs: null })
      api = await startApi(store, (auth) =>
        overviewRoutes(auth, {
          store,
          figures: ownFigures(lastHour, nowUs),
          statuses: readOwnStatuses({ counts, health, refusals: { sinceUs: () => null, refusing: () => [] } }),
          steadyUs: nowUs,
          nowUs,
          liveCalls: () => [],
          refreshCalls: async () => undefined,
          pbxs: async () => [],
        }),
      )
      mine = await api.logIn('default')
      foreign = await api.logIn('another')
      // The service ran in the last three hours, and two days ago.
      const ran = [...Array.from({ length: 12 }, (_, at) => QUARTER - at), QUARTER - 192]
      const figures = [
        ...ran.map((quarter) => ({ accountId: SERVICE, quarter, ...NOTHING })),
        { accountId: MINE, quarter: QUARTER, ...NOTHING, events: 4, delivered: 3, failedAttempts: 2, failedProbes: 1 },
        { accountId: MINE, quarter: QUARTER - 1, ...NOTHING, events: 5 },
        { accountId: MINE, quarter: QUARTER - 192, ...NOTHING, events: 6 },
        { accountId: FOREIGN, quarter: QUARTER - 2, ...NOTHING, events: 7 },
      ]
      await store.statistics.quarterSave({ figures, beforeQuarter: 0 })
    })
    afterAll(async () => {
      await api.stop()
      await opened[Symbol.asyncDispose]()
    })

    async function traffic(query = '', token = mine): Promise<TrafficPeriod[]> {
      const response = await fetch(`${api.url}/overview/traffic${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      expect(response.status).toBe(200)
      return (await response.json()).result
    }

    test('a day is 96 quarters of an hour, the oldest first, up to the present one', async () => {
      const day = await traffic('?range=day')
      expect(day.map(({ at }) => at)).toEqual(
        Array.from({ length: 96 }, (_, at) => rfc3339((QUARTER - 95 + at) * QUARTER_US)),
      )
      expect(day.at(-1)).toMatchObject({ events: 4, delivered: 3, failed_attempts: 2, failed_probes: 1 })
      expect(day.at(-2)).toMatchObject({ events: 5, delivered: 0 })
      expect(await traffic()).toEqual(day)
    })

    test('a quiet quarter has zeros, and one in which the service did not run has none', async () => {
      const day = await traffic()
      expect(day.at(-3)).toEqual({ at: rfc3339((QUARTER - 2) * QUARTER_US), ...QUIET })
      expect(day.at(-13)).toEqual({ at: rfc3339((QUARTER - 12) * QUARTER_US), ...AWAY })
    })

    test('a week is 84 periods of two hours, each the sum of its quarters', async () => {
      const week = await traffic('?range=week')
      expect(week).toHaveLength(84)
      const times = week.map(({ at }) => Date.parse(at))
      expect(new Set(times.slice(1).map((at, index) => at - (times[index] ?? 0)))).toEqual(new Set([7_200_000]))
      const latest = times.at(-1) ?? 0
      expect([latest <= NOW / 1_000, latest + 7_200_000 > NOW / 1_000]).toEqual([true, true])
      expect(week.filter(({ events }) => events !== null && events > 0).map(({ events }) => events)).toEqual([6, 9])
      expect(week.filter(({ events }) => events === null).length).toBeGreaterThan(75)
    })

    test('an account sees its own figures alone', async () => {
      const events = (await traffic('', foreign)).map((period) => period.events)
      expect(events.filter((one) => one !== null && one > 0)).toEqual([7])
    })

    test.each(['year', ''])('the range "%s" is refused: 422; without a token it is 401', async (range) => {
      const url = `${api.url}/overview/traffic?range=${range}`
      expect((await fetch(url, { headers: { authorization: `Bearer ${mine}` } })).status).toBe(422)
      expect((await fetch(url)).status).toBe(401)
    })
  })

describe('the quarters of an hour that are saved', () => {
  test('have what happened in them, and the service in each, with the latencies', async () => {
    await using opened = await ENGINES[0]?.open()
    if (opened === undefined) throw new Error('SQLite is always there')
    const { statistics } = opened.store
    let now = NOW
    const lastHour = createLastHour()
    const saver = startLastHourSaver({ statistics, lastHour, log: createLog('silent'), everyMs: 1, nowUs: () => now })
    const saved = () => statistics.quarterGetOfAccount({ accountId: MINE, fromQuarter: 0 })
    await until('the service is noted', async () => (await saved()).length === 1)
    lastHour.addEvents(MINE, 3, NOW - QUARTER_US)
    lastHour.addEvents(MINE, 4, NOW)
    lastHour.addDelivered({ accountId: MINE, webhookId: 7 }, 20_000, NOW)
    lastHour.addDelivered({ accountId: MINE, webhookId: 8 }, 20_000, NOW)
    await until('both quarters are saved', async () => (await saved()).length === 3)
    now = NOW + QUARTER_US
    await until('the next one is noted', async () => (await saved()).length === 4)
    await saver.stop()
    const [before, own, present, next] = await saved().then((all) =>
      all.toSorted((one, other) => one.quarter - other.quarter || other.accountId - one.accountId),
    )
    expect(before).toMatchObject({ accountId: MINE, quarter: QUARTER - 1, events: 3, delivered: 0 })
    expect(own).toMatchObject({ accountId: MINE, quarter: QUARTER, events: 4, delivered: 2 })
    expect(own?.latencies.length).toBeGreaterThan(0)
    expect(present).toMatchObject({ accountId: SERVICE, quarter: QUARTER, events: 0 })
    expect(next).toMatchObject({ accountId: SERVICE, quarter: QUARTER + 1, events: 0 })
  })

  test('are deleted after a week', async () => {
    await using opened = await ENGINES[0]?.open()
    if (opened === undefined) throw new Error('SQLite is always there')
    const { statistics } = opened.store
    const old = [QUARTER - 674, QUARTER - 600].flatMap((quarter) =>
      [SERVICE, MINE].map((accountId) => ({ accountId, quarter, ...NOTHING })),
    )
    await statistics.quarterSave({ figures: old, beforeQuarter: 0 })
    const lastHour = createLastHour()
    const saver = startLastHourSaver({ statistics, lastHour, log: createLog('silent'), everyMs: 1, nowUs: () => NOW })
    lastHour.addEvents(MINE, 1, NOW)
    const saved = () => statistics.quarterGetOfAccount({ accountId: MINE, fromQuarter: 0 })
    await until(
      'both have saved',
      async () => (await saved()).filter(({ quarter }) => quarter === QUARTER).length === 2,
    )
    await saver.stop()
    expect([...new Set((await saved()).map(({ quarter }) => quarter))]).toEqual([QUARTER - 600, QUARTER])
  })
})
