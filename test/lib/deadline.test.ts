import { expect, test } from 'bun:test'
import { startDeadline } from '../../src/lib/deadline.ts'

test('an answer that came while the event loop was held is in time, and none is late', async () => {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const deadline = startDeadline(10, () => resolve('late'))
  // It comes after the deadline only because the loop is held until both are over.
  const answer = new Promise<string>((answered) => void setTimeout(answered, 20, 'answered'))
  const heldUntilMs = performance.now() + 40
  while (performance.now() < heldUntilMs);
  expect(await Promise.race([answer, late])).toBe('answered')
  deadline.cancel()
  startDeadline(10, () => resolve('late'))
  expect(await late).toBe('late')
})

test('a deadline that is cancelled never calls back', async () => {
  let calls = 0
  startDeadline(1, () => {
    calls += 1
  }).cancel()
  const { promise, resolve } = Promise.withResolvers<void>()
  startDeadline(2, resolve)
  await promise
  expect(calls).toBe(0)
})
