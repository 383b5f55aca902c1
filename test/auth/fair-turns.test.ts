import { describe, expect, test } from 'bun:test'
import { createFairTurns } from '../../src/auth/fair-turns.ts'
import { createRandom } from '../help/random.ts'
import { scaled, seedsOf } from '../help/seed.ts'

type Work = { readonly name: string; end(): void }

/** Turns whose work ends when a test says so; `begun` has the names of all work in the order in which it began. */
function newTurns(atOnce: number, maxWaiting = 500) {
  const turns = createFairTurns({ atOnce, maxWaiting })
  const begun: string[] = []
  let running: Work[] = []
  const send = (network: string, user: string, name = `${network} ${user}`): Promise<void> =>
    turns({ network, user }, () => {
      begun.push(name)
      const { promise, resolve } = Promise.withResolvers<void>()
      running.push({ name, end: resolve })
      return promise
    })
  return {
    begun,
    send,
    running: () => running.map(({ name }) => name),
    async endOne(at = 0): Promise<void> {
      const [one] = running.splice(at, 1)
      running = [...running]
      one?.end()
      // The next begins in the microtasks after this end.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    },
  }
}

describe('work of others', () => {
  test.each([
    ['another network', 'b', 'anna'],
    ['another user of the same network', 'a', 'anna'],
  ])('is the next, however much one source has sent before: %s', async (_, network, user) => {
    const turns = newTurns(4)
    for (let n = 0; n < 60; n += 1) void turns.send('a', 'flooder')
    void turns.send(network, user)
    expect(turns.begun).toHaveLength(4)
    await turns.endOne()
    expect(turns.begun.slice(4)).toEqual([`${network} ${user}`])
  })

  test('is the next of its network, whatever number of users another network names', async () => {
    const turns = newTurns(4)
    for (let n = 0; n < 60; n += 1) void turns.send('a', `user ${n}`)
    void turns.send('b', 'anna')
    void turns.send('b', 'bert')
    await turns.endOne()
    await turns.endOne()
    expect(turns.begun.slice(4)).toEqual(['b anna', 'b bert'])
  })

  test('is not refused work for ever: nothing is lost, at most four run, and equals keep their order', async () => {
    for (const seed of seedsOf(17, scaled(100))) {
      const random = createRandom(seed)
      const turns = newTurns(4)
      const sent: string[] = []
      for (let n = 0; n < 40; n += 1) {
        const [network, user] = [`n${random.int(3)}`, `u${random.int(3)}`]
        sent.push(`${network} ${user} ${n}`)
        void turns.send(network, user, `${network} ${user} ${n}`)
        if (random.chance(0.3)) await turns.endOne(random.int(4))
        expect(turns.running().length).toBeLessThanOrEqual(4)
      }
      while (turns.running().length > 0) await turns.endOne(random.int(turns.running().length))
      expect(turns.begun.toSorted()).toEqual(sent.toSorted())
      const ofSource = (names: readonly string[], source: string) => names.filter((name) => name.startsWith(source))
      for (const source of ['n0 u0', 'n1 u1', 'n2 u2'])
        expect(ofSource(turns.begun, source)).toEqual(ofSource(sent, source))
    }
  })
})

test('more than may wait is refused, with the time after which to try again', async () => {
  const turns = newTurns(1, 2)
  for (let n = 0; n < 3; n += 1) void turns.send('a', 'x')
  await expect(turns.send('a', 'x')).rejects.toMatchObject({
    code: 'too_many_requests',
    headers: { 'retry-after': '10' },
  })
  await turns.endOne()
  void turns.send('a', 'x')
  expect(turns.begun).toHaveLength(2)
})

test('work that fails gives its turn back', async () => {
  const turns = createFairTurns({ atOnce: 1, maxWaiting: 0 })
  const source = { network: 'a', user: 'x' }
  await expect(turns(source, () => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory')
  expect(await turns(source, async () => 'done')).toBe('done')
})
