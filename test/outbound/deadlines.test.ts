import { expect, test } from 'bun:test'
import { newAttempt } from '../../src/deliveries/sending/attempt.ts'
import { createDeadlines } from '../../src/outbound/deadlines.ts'
import { targetOf } from '../../src/outbound/target.ts'
import { allowing } from '../deliveries/run/rig.ts'
import { startReceiver, until, withEnoughTime } from '../help/receiver.ts'

test('what began together shares a signal, up to a number; what began later does not', () => {
  const deadlines = createDeadlines(400)
  const first = Array.from({ length: 40 }, () => deadlines.begin(1_000))
  const later = deadlines.begin(1_002)
  expect(new Set(first.map(({ signal }) => signal)).size).toBe(3)
  expect(first.map(({ signal }) => signal)).not.toContain(later.signal)
})

test('a limit passes for those that are open, and not before the last of them had its time', async () => {
  const deadlines = createDeadlines(50)
  const startedMs = performance.now()
  const [ended, open] = [deadlines.begin(startedMs - 100), deadlines.begin(startedMs)]
  ended.end()
  await until('it has passed', () => open.signal.aborted)
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(50)
  expect(ended.signal.aborted).toBe(false)
})

test('each of many requests of one turn has its own deadline', async () => {
  await withEnoughTime(async (timeoutMs) => {
    const receiver = startReceiver(async ({ path }) => {
      if (path === '/hang') return new Promise<Response>(() => {})
      if (path === '/late') await Bun.sleep(timeoutMs / 4)
      return new Response(path)
    })
    const attempt = newAttempt({ allow: allowing('loopback'), timeoutMs })
    const paths = Array.from({ length: 120 }, (_, n) => ['/quick', '/late', '/hang'][n % 3] ?? '')
    const attempted = await Promise.all(
      paths.map((path) =>
        attempt({
          target: targetOf(receiver.url + path),
          id: 'id',
          timestampS: 1,
          signature: 'v1,x',
          traceparent: '',
          body: '{}',
        }),
      ),
    )
    await receiver.stop()
    const reason = `no answer within ${timeoutMs / 1_000} s`
    for (const [n, path] of paths.entries()) {
      if (path !== '/hang') expect(attempted[n]).toMatchObject({ outcome: { kind: 'delivered' }, response: path })
      else expect(attempted[n]).toMatchObject({ outcome: { kind: 'unreachable', reason } })
      if (path === '/hang') expect(attempted[n]?.durationMs).toBeGreaterThanOrEqual(timeoutMs)
    }
  })
})
