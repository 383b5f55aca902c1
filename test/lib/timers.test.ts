import { expect, test } from 'bun:test'
import { newTimers } from '../../src/lib/timers.ts'

test('timers are due in order of time, then of key, and no more than are asked for', () => {
  const timers = newTimers()
  for (const [key, atUs] of [
    ['c', 2],
    ['b', 1],
    ['d', 9],
    ['a', 1],
  ] as const)
    timers.set(key, atUs)
  expect(timers.due(5, 2)).toEqual(['a', 'b'])
  expect(timers.earliest()).toBe(2)
  expect(timers.due(5)).toEqual(['c'])
  expect(timers.due(5)).toEqual([])
})

test('a timer that is set anew rings once, at its last time, however often that was', () => {
  const timers = newTimers()
  timers.set('first', 0)
  for (let time = 1; time <= 1_000; time += 1) for (const key of ['a', 'b']) timers.set(key, time)
  timers.delete('b')
  expect(timers.due(999)).toEqual(['first'])
  expect(timers.earliest()).toBe(1_000)
  expect(timers.due(1_000)).toEqual(['a'])
  expect(timers.earliest()).toBeNull()
})
