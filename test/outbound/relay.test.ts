import { expect, test } from 'bun:test'
import { newRelayedOrigins } from '../../src/outbound/relay.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600 * SECOND_MS

test('requests are relayed until the first answer, and after a slow one: for longer each time, and briefly once it is long ago', () => {
  const origins = newRelayedOrigins()
  const end = (startedMs: number, tookMs: number, isAnswered = true) =>
    origins.noteEnd('one', { startedMs, tookMs }, isAnswered)
  /** How long requests from a time on are relayed, in seconds. */
  const relayedFrom = (fromMs: number) => {
    let ms = fromMs
    while (origins.has('one', ms)) ms += SECOND_MS
    return (ms - fromMs) / SECOND_MS
  }
  expect(origins.has('one', 0)).toBe(true)
  end(0, 5, false)
  expect(origins.has('one', 10)).toBe(true)
  end(10, 5)
  expect(relayedFrom(20)).toBe(0)

  const periods: number[] = []
  let nowMs = HOUR_MS
  for (let round = 0; round < 8; round += 1) {
    // All that were in flight at that moment count once.
    for (let n = 0; n < 16; n += 1) end(nowMs, 10 * SECOND_MS, false)
    nowMs += 10 * SECOND_MS
    const period = relayedFrom(nowMs)
    periods.push(period)
    nowMs += period * SECOND_MS
  }
  expect(periods).toEqual([10, 20, 40, 80, 160, 320, 600, 600])
  nowMs += HOUR_MS
  end(nowMs, 3 * SECOND_MS)
  expect(relayedFrom(nowMs + 3 * SECOND_MS)).toBe(10)
  expect(origins.has('another', nowMs)).toBe(true)
})
