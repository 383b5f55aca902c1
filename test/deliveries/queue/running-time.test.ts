import { expect, test } from 'bun:test'
import { createRunningTime } from '../../../src/deliveries/queue/running-time.ts'
import { MILLISECOND } from '../../../src/lib/time.ts'

const ms = (count: number): number => count * MILLISECOND

test('the clock runs with the steady one while the ticks come in time', () => {
  const running = createRunningTime()
  expect(running.at(ms(500))).toBe(ms(500))
  for (let at = 0; at <= 1_000; at += 25) running.tick(ms(at))
  expect(running.at(ms(1_030))).toBe(ms(1_030))
})

test('it stands still from the moment at which a tick is late until it comes, and runs on from there', () => {
  const running = createRunningTime()
  running.tick(0)
  expect([30, 35, 36, 200, 1_000].map((at) => running.at(ms(at)))).toEqual([30, 35, 35, 35, 35].map(ms))
  running.tick(ms(1_000))
  expect([1_000, 1_025, 1_035, 1_100].map((at) => running.at(ms(at)))).toEqual([35, 60, 70, 70].map(ms))
})
