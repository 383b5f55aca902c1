import { expect, test } from 'bun:test'
import { createTestSender } from '../../../src/deliveries/log/test-request.ts'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { silent } from '../../../src/deliveries/sending/observer.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, newRig } from './rig.ts'

/** Errors of this program in the middle of an attempt: they end neither the process nor a delivery. */

const attempt = newAttempt({ allow: allowing('loopback'), timeoutMs: 3_600_000 })

/** Fails when it is called for the first time, as an assertion would. */
function failsOnce<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result {
  let isFirst = true
  return (...args) => {
    if (!isFirst) return work(...args)
    isFirst = false
    throw new Error('an invariant does not hold')
  }
}

type Options = Parameters<typeof newRig>[0]
const ERRORS: readonly [when: string, options: () => Options, requests: number][] = [
  ['before it is sent', () => ({ observer: { ...silent, started: failsOnce(() => {}) } }), 3],
  ['while it is sent', () => ({ attempt: failsOnce(attempt) }), 3],
  ['in its promise', () => ({ attempt: failsOnce(async (request) => await attempt(request)) }), 3],
  // The receiver answers the first request of all with 503: the random part of the wait for its retry is asked for.
  ['when it is answered', () => ({ random: failsOnce(() => 0), scheduleMs: [0, 1, 1] }), 4],
  ['when its outcome is being recorded', () => ({ observer: { ...silent, ended: failsOnce(() => {}) } }), 4],
]

test.each(ERRORS)(
  'an error %s costs that attempt alone: its delivery is sent again',
  async (_when, options, requests) => {
    let answered = 0
    const receiver = startReceiver(() => {
      answered += 1
      return new Response(null, { status: requests === 4 && answered === 1 ? 503 : 200 })
    })
    const logged: string[] = []
    const log = createLog('error', { readable: false, write: (line) => void logged.push(line) })
    const rig = await newRig({ scheduleMs: [0, 1, 1], ...options(), log })
    await rig.setUrls(receiver.url)
    const ids = await rig.emit('a', 'a', 'b')
    const states = async () => (await rig.deliveries.list(ACCOUNT, {}, 10)).items.map(({ state }) => state)
    await until('all are delivered', async () => (await states()).join() === 'delivered,delivered,delivered')
    expect(rig.dispatcher.interrupted()).toBe(1)
    expect(logged).toEqual([expect.stringContaining('an internal error interrupted an attempt')])
    expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(
      [...ids, ...(requests === 4 ? [receiver.received[0]?.id ?? ''] : [])].toSorted(),
    )
    await rig[Symbol.asyncDispose]()
    await receiver.stop()
  },
)

test('a webhook with an error in each attempt is tried once a second, and delays no other', async () => {
  const [broken, fine] = [startReceiver(), startReceiver()]
  const rig = await newRig({
    attempt: (request) => {
      if (request.target.plain.startsWith(broken.url)) throw new Error('an invariant does not hold')
      return attempt(request)
    },
  })
  await rig.setUrls(broken.url, fine.url)
  for (let n = 0; n < 20; n += 1) await rig.emit(`call ${n}`)
  await until('the other webhook has all', () => fine.received.length === 20)
  await until('it was tried again', () => rig.dispatcher.interrupted() >= 2)
  expect(broken.received).toEqual([])
  // Outcomes of requests that the receiver has got may be recorded a moment later.
  const pendingOf = async () => (await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 100)).items
  await until('the outcomes of the other webhook are recorded', async () => (await pendingOf()).length === 20)
  const pending = await pendingOf()
  expect(pending.every(({ url }) => url === broken.url)).toBe(true)
  expect(pending.every(({ attempts_made: made }) => made === 0)).toBe(true)
  await rig[Symbol.asyncDispose]()
  await broken.stop()
  await fine.stop()
})

test('a test request that fails so gives its place in flight back', async () => {
  await using rig = await newRig()
  await rig.setUrls('http://127.0.0.1:9/')
  const failing = () => Promise.reject(new Error('an invariant does not hold'))
  const sendTest = createTestSender({
    templates: TEMPLATES,
    store: rig.store,
    attempt: failing,
    reserve: rig.dispatcher.reserve,
  })
  expect(await sendTest(ACCOUNT, 'http://127.0.0.1:9/').catch(String)).toContain('an invariant does not hold')
  expect(rig.dispatcher.inFlight).toBe(0)
})
