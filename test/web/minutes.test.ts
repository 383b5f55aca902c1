import { expect, test } from 'bun:test'
import { SECOND } from '../../src/lib/time.ts'
import { createMinutes } from '../../src/web/minutes.ts'

const NOW = Date.UTC(2026, 10, 20, 21, 42, 30) * 1_000
const MINUTE = 60 * SECOND

test('an account of which nothing is known has a quiet hour', () => {
  const hour = createMinutes().read(1, NOW)
  expect(hour).toHaveLength(60)
  expect(hour.at(-1)).toEqual({
    at: '2026-11-20T21:42:00.000000Z',
    events: 0,
    delivered: 0,
    failed_attempts: 0,
    p50_ms: null,
    p99_ms: null,
  })
})

test('what happened stands in its minute, and in its account alone', () => {
  const minutes = createMinutes()
  minutes.events(1, 3, NOW - MINUTE)
  minutes.failed(1, NOW)
  minutes.events(2, 9, NOW)
  const hour = minutes.read(1, NOW)
  expect(hour.at(-2)?.events).toBe(3)
  expect(hour.at(-1)).toMatchObject({ events: 0, failed_attempts: 1 })
})

test('what is more than an hour old is gone, also where nothing came after it', () => {
  const minutes = createMinutes()
  minutes.events(1, 3, NOW)
  expect(minutes.read(1, NOW + 59 * MINUTE)[0]?.events).toBe(3)
  expect(minutes.read(1, NOW + 60 * MINUTE).some((minute) => minute.events > 0)).toBe(false)
  minutes.events(1, 1, NOW + 60 * MINUTE)
  expect(minutes.read(1, NOW + 60 * MINUTE).at(-1)?.events).toBe(1)
})

test.each([
  [[5], 5, 5],
  [[1, 1, 1, 1, 1, 1, 1, 1, 1, 10_000], 1, 10_000],
  [Array.from({ length: 1_000 }, (_, at) => at), 500, 990],
])('p50 and p99 are right within a fifth', (latenciesMs, p50, p99) => {
  const minutes = createMinutes()
  for (const ms of latenciesMs) minutes.delivered(1, ms * 1_000, NOW)
  const last = minutes.read(1, NOW).at(-1)
  for (const [is, wanted] of [
    [last?.p50_ms, p50],
    [last?.p99_ms, p99],
  ] as const) {
    expect(is).toBeGreaterThanOrEqual(wanted)
    expect(is).toBeLessThanOrEqual(wanted * 1.2 + 1)
  }
})
