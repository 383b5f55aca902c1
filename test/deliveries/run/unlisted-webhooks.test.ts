import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { cancelPending } from '../../../src/deliveries/run/expiry.ts'
import { silent } from '../../../src/deliveries/sending/observer.ts'
import { nowUs, SECOND } from '../../../src/lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../../../src/store/operations/queue.ts'
import { mutation, type Tx } from '../../../src/store/sqlite/engine/mutation.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { type Answer, startReceiver, until } from '../../help/receiver.ts'
import { openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { wholeLog } from '../../help/whole-log.ts'
import { ACCOUNT, listed, newRig } from './rig.ts'

/**
 * A URL leaves the list and comes back, and its deliveries are retried. An attempt of another call is in flight all the
 * time, so that the removal of the URL has not ended when the retry is requested.
 */

type Rig = Awaited<ReturnType<typeof newRig>>
const refuse: Answer = () => new Response('', { status: 400 })
const take: Answer = () => new Response()
const callOf = (body: string): string => JSON.parse(body).data.call

/** Answers one call only when `release` is called; the others as `rest` does. */
function holding(call: string) {
  const answered = Promise.withResolvers<Response>()
  const state = { rest: refuse, came: 0 }
  const answer: Answer = (request) => {
    if (callOf(request.body) !== call) return state.rest(request)
    state.came += 1
    return state.came === 1 ? answered.promise : new Response()
  }
  return { answer, state, release: (status: number) => answered.resolve(new Response('', { status })) }
}

async function delivery(rig: Rig, call: string) {
  const { items } = await rig.deliveries.list(ACCOUNT, { call_id: call })
  if (items[0] === undefined) throw new Error(`no delivery of ${call}`)
  return items[0]
}
const stateOf = async (rig: Rig, call: string) => (await delivery(rig, call)).state
const isIn = (rig: Rig, call: string, state: string) =>
  until(`${call} is ${state}`, async () => (await stateOf(rig, call)) === state)
const retry = async (rig: Rig, call: string) => rig.deliveries.retry(ACCOUNT, (await delivery(rig, call)).id)
const attemptsOf = async (rig: Rig, call: string) =>
  (await rig.deliveries.show(ACCOUNT, (await delivery(rig, call)).id)).attempts.map(({ status }) => status)

test('a delivery that is retried after its URL came back is sent, although an earlier attempt is still in flight', async () => {
  const { answer, state, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig({ scheduleMs: [60_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('slow', 'a')
  await until('both were tried', () => receiver.received.length === 2)
  await rig.setUrls()
  await isIn(rig, 'a', 'cancelled')
  await rig.setUrls(receiver.url)
  state.rest = take
  await retry(rig, 'a')
  await isIn(rig, 'a', 'delivered')
  release(500)
  await until('the other one has ended', async () => (await attemptsOf(rig, 'slow')).length === 1)
  expect(await stateOf(rig, 'slow')).toBe('cancelled')
  expect((await delivery(rig, 'slow')).attempts_made).toBe(1)
  await receiver.stop()
})

test.each([
  ['fails: it is sent again', 500, [500, 200]],
  ['succeeds: it is delivered, and not sent again', 200, [200]],
])('a delivery that is retried while its own earlier attempt is in flight, which %s', async (_, status, attempts) => {
  const { answer, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig({ scheduleMs: [60_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('slow')
  await until('it is tried', () => receiver.received.length === 1)
  await rig.setUrls()
  await isIn(rig, 'slow', 'cancelled')
  await rig.setUrls(receiver.url)
  await retry(rig, 'slow')
  expect(await stateOf(rig, 'slow')).toBe('pending')
  release(status)
  await isIn(rig, 'slow', 'delivered')
  expect(await attemptsOf(rig, 'slow')).toEqual(attempts)
  expect(receiver.received).toHaveLength(attempts.length)
  await receiver.stop()
})

test('what fails while its URL leaves is not tried again, though writing that down takes longer than its wait', async () => {
  const { answer, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig({
    scheduleMs: [1, 1, 1],
    writer: new URL('../../help/slow-writer.ts', import.meta.url),
  })
  await rig.setUrls(receiver.url)
  await rig.emit('slow')
  await until('it is tried', () => receiver.received.length === 1)
  await rig.setUrls()
  await isIn(rig, 'slow', 'cancelled')
  release(500)
  await until('it has ended', async () => (await attemptsOf(rig, 'slow')).length === 1)
  await until('nothing is under way', () => rig.dispatcher.inFlight === 0)
  expect(receiver.received).toHaveLength(1)
  await receiver.stop()
})

test('a delivery that is cancelled and deleted during an attempt leaves nothing behind', async () => {
  const { answer, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await rig.emit('slow')
  await until('it is tried', () => receiver.received.length === 1)
  await rig.setUrls()
  await isIn(rig, 'slow', 'cancelled')
  await rig.emit('the newest event stays')
  const endUs = nowUs() + SECOND
  await rig.store.maintenance.deliveryPrune({
    afterId: 0,
    deliveredBeforeUs: endUs,
    failedBeforeUs: endUs,
    nowUs: endUs,
    limit: 10,
  })
  release(500)
  await until('the attempt is over', () => rig.dispatcher.inFlight === 0)
  await rig.dispatcher.stop()
  expect((await rig.store.maintenance.verify()).filter((text) => text.includes('attempt'))).toEqual([])
  await receiver.stop()
})

test('a URL that leaves and comes back at once: deliveries that were pending are cancelled, new ones are sent', async () => {
  const { answer, state, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig({ scheduleMs: [60_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('slow', 'a')
  await until('both were tried', () => receiver.received.length === 2)
  state.rest = take
  await Promise.all([rig.setUrls(), rig.setUrls(receiver.url), rig.emit('b', 'a')])
  await isIn(rig, 'b', 'delivered')
  release(200)
  await isIn(rig, 'slow', 'delivered')
  const { items } = await rig.deliveries.list(ACCOUNT, { call_id: 'a' })
  expect(items.map((item) => item.state)).toEqual(['delivered', 'cancelled'])
  await receiver.stop()
})

test('a retry that is asked for while nobody sends is not lost to a leaving before it', async () => {
  const receiver = startReceiver()
  await using rig = await newRig({ asleep: true })
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b', 'c')
  await rig.setUrls()
  await rig.setUrls(receiver.url)
  await retry(rig, 'b')
  rig.wake()
  await isIn(rig, 'b', 'delivered')
  await isIn(rig, 'c', 'cancelled')
  expect(await stateOf(rig, 'a')).toBe('cancelled')
  expect(receiver.received.map(({ body }) => callOf(body))).toEqual(['b'])
  expect(await rig.deliveries.retryAll(ACCOUNT, { state: 'cancelled' })).toBe(2)
  await until('all came', () => receiver.received.length === 3)
  await receiver.stop()
})

test('what another node cancelled and retried is not believed to wait as before', async () => {
  const { promise: answered, resolve: release } = Promise.withResolvers<void>()
  const receiver = startReceiver(async () => {
    await answered
    return new Response()
  })
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  const calls = Array.from({ length: 20 }, (_, n) => `call ${n}`)
  await rig.emit(...calls)
  await until('the first are under way, the others in memory', () => receiver.received.length >= 4)
  const sent = receiver.received.length
  const other = openStore(rig.path)
  const webhooks = createWebhookService({ webhooks: other.webhooks })
  await webhooks.replace(ACCOUNT, [], null)
  await webhooks.replace(ACCOUNT, [listed(receiver.url)], null)
  const last = await delivery(rig, 'call 19')
  await createDeliveryService({ templates: TEMPLATES, store: other }).retry(ACCOUNT, last.id)
  await other.stop()
  rig.emitter.emit('foreign')
  release()
  await isIn(rig, 'call 19', 'delivered')
  await until('none waits', async () => (await rig.deliveries.list(ACCOUNT, { state: 'pending' })).items.length === 0)
  expect(receiver.received.map(({ body }) => callOf(body))).toEqual([...calls.slice(0, sent), 'call 19'])
  await receiver.stop()
})

test('a webhook that left is forgotten when nothing of it is under way, and begins again when it comes back', async () => {
  const left: number[] = []
  const { answer, state, release } = holding('slow')
  const receiver = startReceiver(answer)
  await using rig = await newRig({ observer: { ...silent, webhookRemoved: (webhookId) => void left.push(webhookId) } })
  await rig.setUrls(receiver.url)
  state.rest = take
  await rig.emit(...Array.from({ length: 12 }, (_, n) => `before ${n}`))
  await until(
    'as many as can are sent at a time',
    () => rig.dispatcher.health(1).state === 'up' && receiver.received.length === 12,
  )
  state.rest = () => new Response('', { status: 500 })
  await rig.emit('slow', 'a', 'b', 'c', 'd', 'e', 'f')
  await until('it is down', () => rig.dispatcher.down().now === 1)
  await rig.setUrls()
  await isIn(rig, 'slow', 'cancelled')
  await rig.setUrls('http://127.0.0.1:9/')
  expect(left).toEqual([])
  release(500)
  await until('it is forgotten', () => left.length === 1)
  expect(rig.dispatcher.down().now).toBe(0)
  state.rest = take
  await rig.setUrls(receiver.url)
  await rig.emit('g')
  await isIn(rig, 'g', 'delivered')
  expect(left).toEqual([1, 2])
  await receiver.stop()
})

test('many that are retried after a leaving are sent, and those that were not are not', async () => {
  const receiver = startReceiver()
  await using rig = await newRig({ asleep: true })
  await rig.setUrls(receiver.url)
  for (const name of ['old', 'new']) {
    await rig.emit(...Array.from({ length: 700 }, (_, n) => `${name} ${n}`))
    if (name === 'old') await rig.setUrls()
    if (name === 'old') await rig.setUrls(receiver.url)
  }
  expect(await rig.deliveries.retryAll(ACCOUNT, { state: 'pending' })).toBe(700)
  rig.wake()
  await until('the new ones came', () => receiver.received.length === 700)
  await until(
    'all have ended',
    async () => (await rig.deliveries.list(ACCOUNT, { state: 'pending' })).items.length === 0,
  )
  expect(receiver.received.every(({ body }) => callOf(body).startsWith('new'))).toBe(true)
  await receiver.stop()
})

test('an old retry that is due after many new ones is cancelled all the same', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const { db } = store
  const webhooks = createWebhookService({ webhooks: store.webhooks })
  const list = [listed('http://receiver.example/')]
  const put = (count: number) => {
    const event = (n: number) => ({
      uuid: `${n}`,
      callId: `${n}`,
      name: 'call_started' as const,
      sequence: 1,
      atUs: 1,
      body: '{}',
    })
    return storeEvents(
      store,
      Array.from({ length: count }, (_, n) => event(n)),
      { nowSteadyUs: 1 },
    )
  }
  await webhooks.replace(ACCOUNT, list, null)
  const [old] = await put(1)
  await webhooks.replace(ACCOUNT, [], null)
  await webhooks.replace(ACCOUNT, list, null)
  await put(600)
  const makeRetries = mutation('test.makeRetries', (tx: Tx): void => {
    tx.run('UPDATE deliveries SET tries = 1, due_at = 1000000 - id')
  })
  await db.commit(makeRetries, undefined)
  await cancelPending(store.queue, 1, { nowUs: () => 2, onCancelled: () => {} })
  const filter = { accountId: ACCOUNT, state: 'pending' } as const
  const pending = await wholeLog(store.log, filter)
  expect(pending).toHaveLength(600)
  expect(pending.some(({ uuid, id }) => uuid === '0' && id === (old?.id ?? 0) * DELIVERIES_PER_EVENT)).toBe(false)
  expect((await store.webhooks.webhookGetMany([1]))[0]?.cancelledTo).toBe(0)
  await store.stop()
})
