import { expect, test } from 'bun:test'
import { createTestSender } from '../../../src/deliveries/log/test-request.ts'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, newRig } from './rig.ts'

/** People retry and test a webhook that is down. */

const REFUSED = () => new Response('', { status: 503, headers: { 'retry-after': '3600' } })

/** A webhook that is down and asks not to be called for an hour, with deliveries that wait. */
async function downRig() {
  const receiver = startReceiver(REFUSED)
  const rig = await newRig()
  await rig.setUrls(receiver.url)
  await rig.emit(...Array.from({ length: 100 }, (_, n) => `call ${n}`))
  await until('it is down', () => rig.dispatcher.health(1).state === 'down')
  await until('nothing is under way', () => rig.dispatcher.inFlight === 0)
  receiver.received.length = 0
  const tester = createTestSender({
    templates: TEMPLATES,
    store: rig.store,
    attempt: newAttempt({ allow: allowing('loopback') }),
    reserve: rig.dispatcher.reserve,
  })
  return {
    ...rig,
    dispatcher: rig.dispatcher,
    receiver,
    sendTest: () => tester(ACCOUNT, receiver.url),
    async [Symbol.asyncDispose]() {
      receiver.answerWith(() => new Response())
      await rig[Symbol.asyncDispose]()
      await receiver.stop()
    },
  }
}

test('one delivery of a webhook that is down is sent at once when it is retried, and no other', async () => {
  await using rig = await downRig()
  const { items } = await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 200)
  // The newest delivery: the queue in memory does not reach that far.
  const [asked] = items
  await rig.deliveries.retry(ACCOUNT, asked?.id ?? '')
  await until('it was tried', () => rig.receiver.received.length > 0)
  expect(rig.receiver.received.map(({ id }) => id)).toEqual([asked?.event_id ?? ''])
  await until('that is written down', async () => {
    const { attempts } = await rig.deliveries.show(ACCOUNT, asked?.id ?? '')
    return attempts.length > 0
  })
  rig.receiver.answerWith(() => new Response())
  await rig.deliveries.retry(ACCOUNT, items[1]?.id ?? '')
  await until('it is back', () => rig.dispatcher.health(1).state === 'up')
  await until('all are delivered', async () => {
    return (await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 200)).items.length === 0
  })
})

test('a bulk retry of a webhook that is down waits for its probes', async () => {
  await using rig = await downRig()
  expect(await rig.deliveries.retryAll(ACCOUNT, { state: 'pending' })).toBe(100)
  await rig.deliveries.retry(ACCOUNT, (await rig.deliveries.list(ACCOUNT, {})).items[0]?.id ?? '')
  await until('one was tried', () => rig.receiver.received.length > 0)
  expect(rig.receiver.received).toHaveLength(1)
})

test('a test that succeeds brings a webhook back that is down; one that fails does not', async () => {
  await using rig = await downRig()
  expect(await rig.sendTest()).toMatchObject({ status: 503 })
  expect(rig.dispatcher.health(1).state).toBe('down')
  rig.receiver.answerWith(() => new Response())
  expect(await rig.sendTest()).toMatchObject({ status: 200 })
  expect(rig.dispatcher.health(1).state).toBe('up')
  await until('all are delivered', async () => {
    return (await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 200)).items.length === 0
  })
})

test('an account has two tests at a time; a third is 429, with the time to try again', async () => {
  await using rig = await downRig()
  const answers: ((response: Response) => void)[] = []
  rig.receiver.answerWith(() => new Promise((resolve) => answers.push(resolve)))
  const two = [rig.sendTest(), rig.sendTest()]
  await until('both are under way', () => answers.length === 2)
  const third = await rig.sendTest().catch((error) => error)
  expect(third).toMatchObject({ status: 429, headers: { 'retry-after': '10' } })
  for (const answer of answers) answer(new Response('', { status: 500 }))
  expect(await Promise.all(two)).toMatchObject([{ status: 500 }, { status: 500 }])
  rig.receiver.answerWith(REFUSED)
  expect(await rig.sendTest()).toMatchObject({ status: 503 })
})

test('tests and deliveries together are 16 at a time, 64 at most while all goes well', async () => {
  let [under, most, answered] = [0, 0, 0]
  const full = Promise.withResolvers<void>()
  const receiver = startReceiver(async () => {
    under += 1
    most = Math.max(most, under)
    if (under === 16) full.resolve()
    // It begins with fewer at a time, and is given more as it answers.
    if (answered >= 20) await full.promise
    await Bun.sleep(20)
    under -= 1
    answered += 1
    return new Response()
  })
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  const { store } = rig
  const sendTest = createTestSender({
    templates: TEMPLATES,
    store,
    attempt: newAttempt({ allow: allowing('loopback') }),
    reserve: rig.dispatcher.reserve,
  })
  await rig.emit(...Array.from({ length: 300 }, (_, n) => `call ${n}`))
  await until('it is busy', () => most >= 16)
  for (let round = 0; round < 5; round += 1)
    expect(await Promise.all([1, 2].map(() => sendTest(ACCOUNT, receiver.url)))).toMatchObject([
      { status: 200 },
      { status: 200 },
    ])
  await until('all came', () => receiver.received.length === 310)
  expect(most).toBeWithin(16, 65)
  await receiver.stop()
})
