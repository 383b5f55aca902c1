import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newAttempt } from '../../src/deliveries/sending/attempt.ts'
import { newResolver } from '../../src/outbound/resolver.ts'
import { targetOf } from '../../src/outbound/target.ts'
import { allowing } from '../deliveries/run/rig.ts'
import { type NameAnswer, startNameServer } from '../help/name-server.ts'
import { startReceiver } from '../help/receiver.ts'

/** The service's own look-up, against a name server of the test. */

const ANSWERS: Readonly<Record<string, NameAnswer>> = {
  'good.example': ['127.0.0.1'],
  'both.example': ['::1', '127.0.0.1'],
  'six.example': ['::1'],
  'inside.example': ['10.1.2.3'],
  'metadata.example': ['169.254.169.254'],
  'mapped.example': ['::ffff:a01:203'],
  'mixed.example': ['10.1.2.3', '127.0.0.1', '192.168.1.1'],
  'empty.example': [],
  'unknown.example': 'unknown',
  'failed.example': 'failed',
}
const answerOf = (name: string, asked: number): NameAnswer => {
  if (name.startsWith('hang')) return 'nothing'
  if (name.startsWith('rebind')) return asked === 1 ? ['127.0.0.1'] : ['169.254.169.254']
  return ANSWERS[name] ?? 'unknown'
}

let names: Awaited<ReturnType<typeof startNameServer>>
let receiver: ReturnType<typeof startReceiver>
beforeAll(async () => {
  names = await startNameServer(answerOf)
  receiver = startReceiver()
})
afterAll(() => {
  names[Symbol.dispose]()
  receiver.stop()
})

const post = (attempt: ReturnType<typeof newAttempt>, host: string, port = receiver.port) =>
  attempt({
    target: targetOf(`http://${host}:${port}/`),
    id: 'x',
    timestampS: 1,
    signature: 'v1,x',
    traceparent: '',
    body: '{}',
  })
const unreachable = (reason: RegExp) => ({ outcome: { kind: 'unreachable', reason: expect.stringMatching(reason) } })
const delivered = { outcome: { kind: 'delivered' }, address: '127.0.0.1' }

test.each([
  ['a name is called at its address', 'good.example', delivered],
  ['of both families IPv4 comes first', 'both.example', delivered],
  ['of several addresses the one that may be called is', 'mixed.example', delivered],
  ['this machine is in /etc/hosts', 'localhost', delivered],
  ['a name at IPv6 alone is called there', 'six.example', { address: '::1' }],
  [
    'a name within the network is refused',
    'inside.example',
    unreachable(/^inside\.example has a private address: --allow-net private allows it$/),
  ],
  [
    'a name at the metadata of a cloud is refused',
    'metadata.example',
    unreachable(/^metadata\.example has a special address: /),
  ],
  ['an IPv4 address in the clothes of IPv6 is refused', 'mapped.example', unreachable(/--allow-net private/)],
  ['an unknown name is reported', 'unknown.example', unreachable(/^the name is unknown/)],
  ['a name without an address is reported', 'empty.example', unreachable(/has no address$/)],
  ['a name server that failed is reported', 'failed.example', unreachable(/^the name server failed$/)],
])('%s', async (_, host, expected) => {
  expect(await post(newAttempt({ allow: allowing('loopback') }), host)).toMatchObject(expected)
})

test.each(['localhost', 'receiver.localhost', 'localhost.'])(
  'without --allow-net %s is refused, from any name server',
  async (host) => {
    const before = receiver.received.length
    expect(await post(newAttempt({ allow: [] }), host)).toMatchObject(unreachable(/--allow-net loopback/))
    expect(receiver.received).toHaveLength(before)
  },
)

test('an answer is cached for 5 s, regardless of its own time, and asked for once by many at a time', async () => {
  let nowMs = 0
  const resolve = newResolver(undefined, () => nowMs)
  const attempt = newAttempt({ allow: allowing('loopback'), resolve })
  const all = await Promise.all(Array.from({ length: 20 }, () => post(attempt, 'rebind.example')))
  expect(new Set(all.map(({ outcome }) => outcome.kind))).toEqual(new Set(['delivered']))
  nowMs = 4_999
  expect(await post(attempt, 'rebind.example')).toMatchObject(delivered)
  expect(names.asked('rebind.example')).toBe(1)
  nowMs = 5_000
  expect(await post(attempt, 'rebind.example')).toMatchObject(unreachable(/has a special address/))
  expect(names.asked('rebind.example')).toBe(2)
})

test('a failure is not kept', async () => {
  const attempt = newAttempt({ allow: allowing('loopback') })
  for (let round = 1; round <= 3; round += 1) {
    await post(attempt, 'unknown.example')
    expect(names.asked('unknown.example')).toBeGreaterThanOrEqual(round)
  }
})

test('40 names whose name server never answers delay no other, and time out', async () => {
  const attempt = newAttempt({ allow: allowing('loopback') })
  let hanging = 40
  const hung = Array.from({ length: hanging }, async (_, n) => {
    const attempted = await post(attempt, `hang${n}.example`)
    hanging -= 1
    return attempted
  })
  // One whose answers were not kept has to ask.
  const fresh = newAttempt({ allow: allowing('loopback') })
  expect(await post(fresh, 'good.example')).toMatchObject(delivered)
  expect(hanging).toBe(40)
  for (const attempted of await Promise.all(hung))
    expect(attempted).toMatchObject(unreachable(/^the name server did not answer$/))
})
