import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import { startReplyDeadline } from '../../../src/pbx/connection/reply-deadline.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

test('a reply has its time, and no more once all bytes are decoded', () => {
  let rang = 0
  startReplyDeadline(10_000, () => void rang++)
  jest.advanceTimersByTime(9_999)
  expect(rang).toBe(0)
  jest.advanceTimersByTime(1)
  expect(rang).toBe(1)
})

test('while bytes wait to be decoded the reply may be among them, so the deadline waits too', () => {
  let rang = 0
  let isBehind = true
  startReplyDeadline(
    10_000,
    () => void rang++,
    () => isBehind,
  )
  jest.advanceTimersByTime(15_000)
  expect(rang).toBe(0)
  isBehind = false
  jest.advanceTimersByTime(250)
  expect(rang).toBe(1)
})

test('a cancelled deadline never rings, neither before nor after its first time', () => {
  let rang = 0
  const ring = (): void => void rang++
  const early = startReplyDeadline(10_000, ring)
  const late = startReplyDeadline(10_000, ring, () => true)
  early.cancel()
  jest.advanceTimersByTime(11_000)
  late.cancel()
  jest.advanceTimersByTime(100_000)
  expect(rang).toBe(0)
})
