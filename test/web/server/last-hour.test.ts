import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createLog } from '../../../src/lib/log.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { StatisticsStore } from '../../../src/store/operations/statistics.ts'
import { createLastHour } from '../../../src/web/server/last-hour.ts'
import { startLastHourSaver } from '../../../src/web/server/last-hour-saver.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { type OpenStore, openStore } from '../../help/store.ts'

const NOW = Date.UTC(2026, 10, 20, 21, 42, 30) * 1_000
const MINUTE = 60 * SECOND
const A = { accountId: 1, webhookId: 7 }
const B = { accountId: 1, webhookId: 8 }
const QUIET = { events: 0, delivered: 0, failed_attempts: 0, failed_probes: 0, p50_ms: null, p99_ms: null }

describe('the last hour', () => {
  test('is quiet for an account without events', () => {
    const minutes = createLastHour().ofAccount(1, NOW)
    expect(minutes).toHaveLength(60)
    expect(minutes.at(-1)).toEqual({ at: '2026-11-20T21:42:00.000000Z', ...QUIET })
  })

  test('has everything in its minute, and in its account alone', () => {
    const hour = createLastHour()
    hour.addEvents(1, 3, NOW - MINUTE)
    hour.addFailedAttempt(A, NOW)
    hour.addFailedProbe(B, NOW)
    hour.addEvents(2, 9, NOW)
    const minutes = hour.ofAccount(1, NOW)
    expect(minutes.at(-2)).toMatchObject({ events: 3 })
    expect(minutes.at(-1)).toMatchObject({ events: 0, failed_attempts: 1, failed_probes: 1 })
  })

  test('is the sum over the webhooks of an account, which have their own figures', () => {
    const hour = createLastHour()
    for (const ms of [10, 10, 10]) hour.addDelivered(A, ms * 1_000, NOW)
    hour.addDelivered(B, 5_000_000, NOW)
    hour.addFailedAttempt(B, NOW)
    expect(hour.ofWebhook(A, NOW).at(-1)).toMatchObject({
      delivered: 3,
      failed_attempts: 0,
      p99_ms: expect.any(Number),
    })
    expect(hour.ofWebhook(B, NOW).at(-1)).toMatchObject({ delivered: 1, failed_attempts: 1 })
    const sum = hour.ofAccount(1, NOW).at(-1)
    expect(sum).toMatchObject({ delivered: 4, failed_attempts: 1 })
    expect(sum?.p50_ms).toBeLessThan(20)
    expect(sum?.p99_ms).toBeGreaterThan(4_000)
  })

  test('drops figures that are more than an hour old, also if nothing came after them', () => {
    const hour = createLastHour()
    hour.addEvents(1, 3, NOW)
    expect(hour.ofAccount(1, NOW + 59 * MINUTE)[0]?.events).toBe(3)
    expect(hour.ofAccount(1, NOW + 60 * MINUTE).some((minute) => minute.events > 0)).toBe(false)
    hour.addEvents(1, 1, NOW + 60 * MINUTE)
    expect(hour.ofAccount(1, NOW + 60 * MINUTE).at(-1)?.events).toBe(1)
  })

  test('counts the webhooks of a list that is replaced again and again together, so that memory is bounded', () => {
    const hour = createLastHour()
    for (let webhookId = 1; webhookId <= 5_000; webhookId += 1) hour.addFailedAttempt({ accountId: 1, webhookId }, NOW)
    expect(hour.ofAccount(1, NOW).at(-1)?.failed_attempts).toBe(5_000)
    expect(hour.takeChanged().figures.length).toBeLessThanOrEqual(401)
  })

  test('has a minute replaced as a whole, with what several nodes counted in it', () => {
    const hour = createLastHour()
    const minute = Math.floor(NOW / MINUTE)
    const saved = (delivered: number, latency: number, webhookId = 1) => ({
      accountId: 1,
      webhookId,
      minute,
      events: 1,
      delivered,
      failedAttempts: 0,
      failedProbes: 0,
      latencies: [latency, delivered],
    })
    hour.addDelivered({ accountId: 2, webhookId: 9 }, 1_000, NOW)
    hour.addDelivered({ accountId: 1, webhookId: 1 }, 1_000, NOW - 60 * MINUTE)
    for (let n = 0; n < 2; n += 1) hour.replaceMinute(1, minute, [saved(3, 0), saved(5, 10), saved(7, 0, 2)])
    expect(hour.ofAccount(1, NOW).at(-1)).toMatchObject({ delivered: 15, events: 3, p50_ms: 1, p99_ms: 6 })
    expect(hour.ofWebhook({ accountId: 1, webhookId: 1 }, NOW).at(-1)).toMatchObject({ delivered: 8 })
    hour.replaceMinute(1, minute, [])
    expect(hour.ofAccount(1, NOW).at(-1)).toMatchObject({ delivered: 0 })
    expect(hour.ofAccount(2, NOW).at(-1)).toMatchObject({ delivered: 1 })
  })

  test('forgets accounts and webhooks that had nothing in it', () => {
    const hour = createLastHour()
    for (let webhookId = 1; webhookId <= 400; webhookId += 1) hour.addFailedAttempt({ accountId: 1, webhookId }, NOW)
    hour.forgetBefore(NOW + 60 * MINUTE)
    hour.addFailedAttempt({ accountId: 1, webhookId: 401 }, NOW + 60 * MINUTE)
    expect(hour.ofWebhook({ accountId: 1, webhookId: 401 }, NOW + 60 * MINUTE).at(-1)?.failed_attempts).toBe(1)
    expect(hour.takeChanged().figures).toHaveLength(1)
  })
})

test.each([
  [[5], 5, 5],
  [[1, 1, 1, 1, 1, 1, 1, 1, 1, 10_000], 1, 10_000],
  [Array.from({ length: 1_000 }, (_, at) => at), 500, 990],
])('%#: p50 and p99 are right within a fifth', (latenciesMs, p50, p99) => {
  const hour = createLastHour()
  for (const ms of latenciesMs) hour.addDelivered(A, ms * 1_000, NOW)
  const last = hour.ofAccount(1, NOW).at(-1)
  for (const [is, wanted] of [
    [last?.p50_ms, p50],
    [last?.p99_ms, p99],
  ] as const) {
    expect(is).toBeGreaterThanOrEqual(wanted)
    expect(is).toBeLessThanOrEqual(wanted * 1.2 + 1)
  }
})

describe('the last hour in the store', () => {
  let folder: ReturnType<typeof emptyFolder>
  let store: OpenStore
  const log = createLog('silent')
  beforeEach(() => {
    folder = emptyFolder()
    store = openStore(join(folder.path, 'hookswitch.db'))
  })
  afterEach(async () => {
    await store.stop()
    folder[Symbol.dispose]()
  })
  /** Returns the figures that a process has which starts at this time. */
  async function afterRestart(nowUs = NOW) {
    const lastHour = createLastHour()
    const saver = startLastHourSaver({ statistics: store.statistics, lastHour, log, nowUs: () => nowUs })
    await saver.loaded
    return { lastHour, saver }
  }

  test('survives a restart, with its latencies, and goes on in the same minute', async () => {
    const first = await afterRestart()
    for (const ms of [10, 20, 900]) first.lastHour.addDelivered(A, ms * 1_000, NOW)
    first.lastHour.addEvents(1, 4, NOW - 30 * MINUTE)
    first.lastHour.addFailedProbe(B, NOW)
    const before = first.lastHour.ofAccount(1, NOW)
    await first.saver.stop()
    const second = await afterRestart()
    expect(second.lastHour.ofAccount(1, NOW)).toEqual(before)
    second.lastHour.addDelivered(A, 10_000, NOW)
    await second.saver.stop()
    const third = await afterRestart()
    expect(third.lastHour.ofWebhook(A, NOW).at(-1)?.delivered).toBe(4)
    expect(third.lastHour.ofWebhook(B, NOW).at(-1)?.failed_probes).toBe(1)
    await third.saver.stop()
  })

  test('is saved regularly, so that a killed process loses little', async () => {
    const lastHour = createLastHour()
    const saver = startLastHourSaver({ statistics: store.statistics, lastHour, log, everyMs: 1, nowUs: () => NOW })
    lastHour.addEvents(1, 5, NOW)
    await until('it is saved', async () => {
      const { lastHour: next, saver: other } = await afterRestart()
      await other.stop()
      return next.ofAccount(1, NOW).at(-1)?.events === 5
    })
    await saver.stop()
  })

  test('is deleted when it is old', async () => {
    const first = await afterRestart()
    first.lastHour.addEvents(1, 5, NOW)
    await first.saver.stop()
    const later = await afterRestart(NOW + 61 * MINUTE)
    later.lastHour.addEvents(1, 1, NOW + 61 * MINUTE)
    await later.saver.stop()
    const { lastHour, saver } = await afterRestart()
    expect(lastHour.ofAccount(1, NOW).some((minute) => minute.events > 0)).toBe(false)
    await saver.stop()
  })

  test('what cannot be saved now is saved the next time', async () => {
    const lastHour = createLastHour()
    let refusals = 2
    const refusing: StatisticsStore = {
      ...store.statistics,
      minuteSave: (step) =>
        refusals-- > 0 ? Promise.reject(new Error('the disk is full')) : store.statistics.minuteSave(step),
    }
    const saver = startLastHourSaver({ statistics: refusing, lastHour, log, everyMs: 1, nowUs: () => NOW })
    lastHour.addEvents(1, 5, NOW)
    await until('it was refused twice and saved once', () => refusals < 0)
    await saver.stop()
    const next = await afterRestart()
    expect(next.lastHour.ofAccount(1, NOW).at(-1)?.events).toBe(5)
    await next.saver.stop()
  })
})
