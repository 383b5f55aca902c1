import { describe, expect, setSystemTime, test } from 'bun:test'
import { createClientOf } from '../../src/auth/client-address.ts'
import { createLoginLimits } from '../../src/auth/login-limits.ts'
import { Fault } from '../../src/lib/fault.ts'
import { SECOND } from '../../src/lib/time.ts'

function limited(limit = 3) {
  let atUs = 1_000 * SECOND
  const limits = createLoginLimits(() => atUs)
  const attempt = (result: string | undefined, keys = ['a']) =>
    limits.attempt(
      keys.map((key) => ({ key, limit })),
      async () => result,
    )
  return { attempt, limits, pass: (seconds: number) => (atUs += seconds * SECOND) }
}
const tooMany = (seconds: number) =>
  expect.objectContaining({ code: 'too_many_requests', headers: { 'retry-after': String(seconds) } })
const caught = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

describe('failures in five minutes', () => {
  test('are five minutes, also when the clock of the machine is set', async () => {
    const limits = createLoginLimits()
    const attempt = () => caught(limits.attempt([{ key: 'a', limit: 1 }], async () => undefined))
    setSystemTime(new Date(Date.now() + 86_400_000))
    await attempt()
    setSystemTime()
    expect(await attempt()).toEqual(tooMany(300))
  })

  test('are counted up to the limit, and free again when they are old', async () => {
    const { attempt, pass } = limited()
    for (let n = 0; n < 3; n += 1) {
      await attempt(undefined)
      pass(10)
    }
    expect(await caught(attempt('right'))).toEqual(tooMany(270))
    pass(269)
    expect(await caught(attempt('right'))).toEqual(tooMany(1))
    pass(1)
    expect(await attempt('right')).toBe('right')
  })

  test('are cleared by a success, of the pair but not of the address', async () => {
    const { attempt } = limited()
    await attempt(undefined, ['address', 'pair'])
    await attempt(undefined, ['address', 'pair'])
    expect(await attempt('right', ['address', 'pair'])).toBe('right')
    await attempt(undefined, ['address', 'pair'])
    expect(await caught(attempt('right', ['address', 'other pair']))).toBeInstanceOf(Fault)
    expect(await attempt('right', ['other address', 'pair'])).toBe('right')
  })

  test('leave nothing behind when an attempt is refused, succeeds, or breaks off', async () => {
    const { attempt, limits } = limited()
    for (let n = 0; n < 3; n += 1) await attempt(undefined, ['address', 'pair'])
    expect(limits.size()).toBe(2)
    for (let n = 0; n < 100; n += 1) expect(await caught(attempt('x', ['address', `pair ${n}`]))).toEqual(tooMany(300))
    await attempt('right', ['new address', 'new pair'])
    await caught(limits.attempt([{ key: 'broken', limit: 3 }], () => Promise.reject(new Error('no store'))))
    expect(limits.size()).toBe(2)
  })

  test('are forgotten when they are old, and the oldest first when there are too many', async () => {
    let atUs = 1_000 * SECOND
    const limits = createLoginLimits(() => atUs, { maxKeys: 10 })
    const fail = (key: string) => caught(limits.attempt([{ key, limit: 1 }], async () => undefined))
    for (let n = 0; n < 100; n += 1) {
      await fail(`key ${n}`)
      expect(limits.size()).toBeLessThanOrEqual(10)
    }
    expect(await fail('key 99')).toBeInstanceOf(Fault)
    expect(await fail('key 89')).toBeUndefined()
    atUs += 301 * SECOND
    await fail('another')
    expect(limits.size()).toBe(1)
  })

  test('remember keys of one size, regardless of their length', async () => {
    const { attempt, limits } = limited()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 200; n += 1) await attempt(undefined, [`${n}${'x'.repeat(1_000_000)}`])
    Bun.gc(true)
    expect(limits.size()).toBe(200)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  })

  test('let only as many wait as can be answered in time', async () => {
    const { limits } = limited()
    const release = Promise.withResolvers<undefined>()
    const attempts = Array.from({ length: 600 }, () =>
      caught(limits.attempt([{ key: 'a', limit: 3 }], () => release.promise)),
    )
    const refused = (await Promise.all(attempts.slice(503))) as Fault[]
    expect(refused.map(({ code }) => code)).toEqual(Array(97).fill('too_many_requests'))
    release.resolve(undefined)
    await Promise.all(attempts)
  })

  test('are the same for simultaneous logins as for logins in a row', async () => {
    const { limits } = limited()
    let checked = 0
    const wrong = async () => {
      checked += 1
      await Bun.sleep(1)
      return undefined
    }
    const all = await Promise.all(
      Array.from({ length: 20 }, () => caught(limits.attempt([{ key: 'a', limit: 3 }], wrong))),
    )
    expect(checked).toBe(3)
    expect(all.filter((one) => one instanceof Fault)).toHaveLength(17)
  })

  test('do not stand in the way of many that are right at a time', async () => {
    const { limits } = limited()
    const right = async () => {
      await Bun.sleep(1)
      return 'right'
    }
    const all = await Promise.all(Array.from({ length: 20 }, () => limits.attempt([{ key: 'a', limit: 3 }], right)))
    expect(new Set(all)).toEqual(new Set(['right']))
  })
})

test.each<[string, string, string | null, string]>([
  ["the socket's", '203.0.113.1', null, '203.0.113.1'],
  ['not what a stranger claims', '203.0.113.1', '198.51.100.1', '203.0.113.1'],
  ['the last hop behind a trusted proxy', '10.1.2.3', '198.51.100.1, 198.51.100.2', '198.51.100.2'],
  ['the proxy, where it sends no address', '10.1.2.3', null, '10.1.2.3'],
  ['the proxy, where it sends something else than an address', '10.1.2.3', 'unknown', '10.1.2.3'],
  ['IPv4 inside IPv6', '::ffff:10.1.2.3', '::ffff:198.51.100.2', '198.51.100.2'],
  ['the /64 of IPv6', '2001:db8:1:2:3:4:5:6', null, '2001:db8:1:2::/64'],
  ['the last hop without the port that some proxies add', '10.0.0.1', '203.0.113.9:5678', '203.0.113.9'],
])('the address is %s', (_, socket, forwarded, expected) => {
  const headers = forwarded === null ? {} : { 'x-forwarded-for': forwarded }
  const peers = { requestIP: () => ({ address: socket }) }
  const client = createClientOf(['10.0.0.0/8'])(new Request('http://x/', { headers }), peers)
  expect(client.network).toBe(expected)
  expect(client.address).toBe(expected === '2001:db8:1:2::/64' ? socket : expected)
})
