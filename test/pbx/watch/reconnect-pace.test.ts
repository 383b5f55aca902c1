import { expect, test } from 'bun:test'
import type { SessionEnd } from '../../../src/pbx/connection/protocol.ts'
import { createReconnectPace, PACE } from '../../../src/pbx/watch/reconnect-pace.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * Returns when a PBX is tried in the hour after a connection of `stoodMs` was lost; each attempt ends like this at
 * once.
 */
function attempts(stoodMs: number, random: number, ends: SessionEnd['kind'] = 'lost'): number[] {
  const pace = createReconnectPace(PACE, () => random)
  const atMs: number[] = []
  let nowMs = pace.waitMs('lost', stoodMs, 0)
  while (nowMs < HOUR) {
    atMs.push(nowMs)
    nowMs += pace.waitMs(ends, 0, nowMs)
  }
  return atMs
}

const gaps = (atMs: readonly number[]): number[] => atMs.map((one, at) => one - (atMs[at - 1] ?? 0))

test.each([0, 0.5, 0.999])(
  'after a connection that stood was lost, a PBX is tried each second or two for a minute, random %p',
  (random) => {
    const atMs = attempts(HOUR, random)
    const first = atMs.filter((one) => one <= MINUTE)
    expect(Math.min(...gaps(first))).toBeGreaterThanOrEqual(1_000)
    expect(Math.max(...gaps(first))).toBeLessThanOrEqual(2_000)
    expect(first.at(-1)).toBeGreaterThan(MINUTE - 2_000)
    // Later the pauses grow up to 30 s.
    const late = gaps(atMs.filter((one) => one > 10 * MINUTE)).slice(1)
    expect(Math.max(...late)).toBeLessThanOrEqual(30_000)
    if (random > 0.9) expect(Math.min(...late)).toBeGreaterThan(29_000)
  },
)

test('a connection that never stood is not tried in quick succession', () => {
  for (const upMs of [0, 500]) {
    const pauses = gaps(attempts(upMs, 0.999))
    expect(pauses.slice(0, 5).map((ms) => Math.round(ms / 1_000))).toEqual([2, 4, 8, 16, 30])
  }
})

test('a refused log-in is repeated after a minute or two, after a connection that stood too', () => {
  for (const random of [0, 0.999]) {
    const [first = 0, ...pauses] = gaps(attempts(HOUR, random, 'refused'))
    expect(first).toBeLessThanOrEqual(2_000)
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(MINUTE)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(2 * MINUTE)
  }
})

test('a PBX that drops packets is given up after 4 s in that minute, and after the usual time later', () => {
  const pace = createReconnectPace(PACE, () => 0)
  expect(pace.connectMs(10_000, 0)).toBe(10_000)
  pace.waitMs('lost', HOUR, 0)
  expect(pace.connectMs(10_000, 30_000)).toBe(4_000)
  expect(pace.connectMs(2_000, 30_000)).toBe(2_000)
  expect(pace.connectMs(10_000, 61_000)).toBe(10_000)
})

test('a link that drops every few seconds is tried each second or two, a connection that ends at once ever more seldom', () => {
  const waits = (upMs: number) => {
    const pace = createReconnectPace(PACE, () => 1)
    return Array.from({ length: 8 }, (_, n) => pace.waitMs('lost', upMs, n * 70_000))
  }
  expect(Math.max(...waits(6_000))).toBeLessThanOrEqual(2_000)
  expect(Math.max(...waits(500))).toBeGreaterThan(20_000)
})
