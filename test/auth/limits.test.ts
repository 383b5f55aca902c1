import { describe, expect, setSystemTime, test } from 'bun:test'
import { createClientAddress } from '../../src/auth/client.ts'
import { createAttemptLimits } from '../../src/auth/limits.ts'
import { Fault } from '../../src/lib/fault.ts'
import { SECOND } from '../../src/lib/time.ts'

function limited(limit = 3) {
  let atUs = 1_000 * SECOND
  const limits = createAttemptLimits(() => atUs)
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
  test('are five minutes, whatever is done to the clock of the machine', async () => {
    const limits = createAttemptLimits()
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
    await attempt(undefined, ['pair', 'address'])
    await attempt(undefined, ['pair', 'address'])
    expect(await attempt('right', ['pair', 'address'])).toBe('right')
    await attempt(undefined, ['pair', 'address'])
    expect(await caught(attempt('right', ['other pair', 'address']))).toBeInstanceOf(Fault)
    expect(await attempt('right', ['pair', 'other address'])).toBe('right')
  })

  test('are no more for many at a time than for many in a row', async () => {
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
  ['the proxy, where it says nothing', '10.1.2.3', null, '10.1.2.3'],
  ['the proxy, where what it says is no address', '10.1.2.3', 'unknown', '10.1.2.3'],
  ['IPv4 inside IPv6', '::ffff:10.1.2.3', '::ffff:198.51.100.2', '198.51.100.2'],
  ['the /64 of IPv6', '2001:db8:1:2:3:4:5:6', null, '2001:db8:1:2::/64'],
  ['the last hop without the port that some proxies add', '10.0.0.1', '203.0.113.9:5678', '203.0.113.9'],
])('the address is %s', (_, socket, forwarded, expected) => {
  expect(createClientAddress(['10.0.0.0/8'])(socket, forwarded)).toBe(expected)
})
