import { afterAll, expect, test } from 'bun:test'
import { newAttempt } from '../../src/deliveries/attempt.ts'
import { createDeadlines } from '../../src/deliveries/deadlines.ts'
import { targetOf } from '../../src/deliveries/target.ts'
import { until } from '../help/receiver.ts'
import { allowing } from './rig.ts'

const TIMEOUT_MS = 400

test('what began together shares a signal, up to a number; what began later does not', () => {
  const deadlines = createDeadlines(TIMEOUT_MS)
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

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/hang') return new Promise<Response>(() => {})
    if (pathname === '/late') await Bun.sleep(TIMEOUT_MS / 2)
    return new Response(pathname)
  },
})
afterAll(() => server.stop(true))

test('of many that go out in one turn each has its own end', async () => {
  const attempt = newAttempt({ allow: allowing('loopback'), timeoutMs: TIMEOUT_MS })
  const paths = Array.from({ length: 120 }, (_, n) => ['/quick', '/late', '/hang'][n % 3] ?? '')
  const attempted = await Promise.all(
    paths.map((path) => {
      const target = targetOf(`http://127.0.0.1:${server.port}${path}`)
      return attempt({ target, id: 'id', timestampS: 1, signature: 'v1,x', body: '{}' })
    }),
  )
  for (const [n, path] of paths.entries()) {
    if (path !== '/hang') expect(attempted[n]).toMatchObject({ outcome: { kind: 'delivered' }, response: path })
    else expect(attempted[n]).toMatchObject({ outcome: { kind: 'unreachable', reason: 'no answer within 0.4 s' } })
    if (path === '/hang') expect(attempted[n]?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS)
  }
})
