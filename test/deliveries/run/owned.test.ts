import { expect, test } from 'bun:test'
import { createAttempts } from '../../../src/deliveries/mqtt/attempts.ts'
import { silent } from '../../../src/deliveries/sending/observer.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { type Fence, LeaseLost } from '../../../src/store/operations/cluster.ts'
import { startBroker } from '../../help/mqtt-broker.ts'
import { changingOwnership } from '../../help/ownership.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { storeEvents } from '../../help/store.ts'
import { ACCOUNT, allowing, newRig } from './rig.ts'

/** A node sends for accounts that it owns, loses and gains. */

const pendingOf = async (rig: Awaited<ReturnType<typeof newRig>>) => rig.store.queue.pendingCount()

test('deliveries of an account are sent while it is owned, and the others when the account is gained', async () => {
  const receiver = startReceiver()
  const { ownership, lose, gain } = changingOwnership()
  await using rig = await newRig({ ownership })
  await rig.setUrls(receiver.url)
  await lose(ACCOUNT)
  await rig.emit('a', 'b')
  await gain(ACCOUNT)
  await rig.emit('c')
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received).toHaveLength(3)
  await lose(ACCOUNT)
  await rig.emit('d')
  await gain(ACCOUNT)
  await until('it is sent when it is gained', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received).toHaveLength(4)
  await receiver.stop()
})

test('an MQTT connection is closed when its account is lost', async () => {
  using broker = await startBroker()
  const { ownership, lose, gain } = changingOwnership()
  const { attempt, forget, stop } = createAttempts({ allow: allowing('loopback') })
  await using rig = await newRig({ ownership, attempt, observer: { ...silent, webhookRemoved: forget } })
  await rig.setUrls(`${broker.url}/calls`)
  await rig.emit('a')
  await until('it is sent', async () => (await pendingOf(rig)) === 0)
  expect(broker.open()).toBe(1)
  await lose(ACCOUNT)
  await until('the connection is closed', () => broker.open() === 0)
  await gain(ACCOUNT)
  await rig.emit('b')
  await until('it is sent', async () => (await pendingOf(rig)) === 0)
  expect(broker.messages.map(({ connection }) => connection)).toEqual([1, 2])
  await stop()
})

test('attempts in flight when an account is lost are aborted and do not count, and the next owner makes them', async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  let requests = 0
  const receiver = startReceiver(async () => {
    requests += 1
    if (requests === 1) await isOver
    return new Response()
  })
  const { ownership, lose, gain } = changingOwnership()
  await using rig = await newRig({ ownership, drainMs: 0 })
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'a')
  await until('the first is in flight', () => requests === 1)
  await lose(ACCOUNT)
  expect(rig.dispatcher.inFlight).toBe(0)
  const [first] = (
    await rig.store.log.deliveryList({ filter: { accountId: ACCOUNT }, fromId: 0, limit: 1, order: 'oldest' })
  ).rows
  expect(first).toMatchObject({ state: 'pending', attemptsMade: 0 })
  await gain(ACCOUNT)
  await until('both are sent', async () => (await pendingOf(rig)) === 0)
  expect(requests).toBe(3)
  end()
  await receiver.stop()
})

test('an attempt that ends soon enough after its account was lost is recorded before another node begins', async () => {
  const { promise: isLost, resolve: lost } = Promise.withResolvers<void>()
  let requests = 0
  const receiver = startReceiver(async () => {
    requests += 1
    await isLost
    return new Response()
  })
  const { ownership, lose } = changingOwnership()
  await using rig = await newRig({ ownership, drainMs: 3_600_000 })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('it is in flight', () => requests === 1)
  const handedOver = lose(ACCOUNT)
  lost()
  await handedOver
  expect(await pendingOf(rig)).toBe(0)
  await receiver.stop()
})

test('sending goes on after outcomes could not be recorded until their account was lost', async () => {
  const receiver = startReceiver()
  const { ownership, lose, gain } = changingOwnership()
  let tries = 0
  let fenceOf = (_lease: string): Fence | undefined => {
    tries += 1
    throw new Fault('unavailable', 'the database does not answer')
  }
  await using rig = await newRig({ ownership: { ...ownership, fenceOf: (lease) => fenceOf(lease) } })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('its outcome could not be recorded', () => tries > 0)
  fenceOf = (lease) => {
    throw new LeaseLost(lease)
  }
  await lose(ACCOUNT)
  fenceOf = () => undefined
  await gain(ACCOUNT)
  await rig.emit('b')
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received.length).toBe(3)
  await receiver.stop()
})

test('an outcome that is refused, since another node owns the account, is dropped; its delivery is loaded again when the account is gained', async () => {
  const receiver = startReceiver()
  const { ownership, lose, gain } = changingOwnership()
  let isFenced = true
  const fenceOf = (lease: string): Fence | undefined => {
    if (isFenced) throw new LeaseLost(lease)
    return undefined
  }
  await using rig = await newRig({ ownership: { ...ownership, fenceOf } })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('it is sent', () => receiver.received.length === 1)
  await lose(ACCOUNT)
  expect(await pendingOf(rig)).toBe(1)
  isFenced = false
  await gain(ACCOUNT)
  await until('it is sent again, and recorded', async () => (await pendingOf(rig)) === 0)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  await receiver.stop()
})

test('deliveries read without trust are read again, also if nobody is notified that trust began again', async () => {
  const receiver = startReceiver()
  const { ownership } = changingOwnership()
  let isTrusted = true
  await using rig = await newRig({ ownership: { ...ownership, ownsAccount: () => isTrusted }, asleep: true })
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b')
  const { queue } = rig.store
  const { deliveryGetUntried } = queue
  let reads = 0
  Object.assign(queue, {
    async deliveryGetUntried(page: Parameters<typeof deliveryGetUntried>[0]) {
      const found = await deliveryGetUntried(page)
      reads += 1
      isTrusted = reads > 1
      return found
    },
  })
  rig.wake()
  await until('the first read has ended', () => !isTrusted)
  expect(await pendingOf(rig)).toBe(2)
  isTrusted = true
  await until('both are sent', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received).toHaveLength(2)
  await receiver.stop()
})

test('a retry in the store is sent also when the question when it is due was not answered', async () => {
  let isUp = false
  const receiver = startReceiver(() => new Response(null, { status: isUp ? 200 : 500 }))
  const { ownership, lose, gain } = changingOwnership()
  let leapUs = 0
  const steadyUs = () => performance.now() * 1_000 + leapUs
  await using rig = await newRig({ ownership, steadyUs, scheduleMs: [600_000, 86_400_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  const attempts = async () => (await rig.deliveries.list(ACCOUNT, {}, 100)).items.map((one) => one.attempts_made)
  await until('its first attempt is recorded', async () => (await attempts())[0] === 1)
  const { queue } = rig.store
  const { deliveryGetNextDue } = queue
  let asked = 0
  let isAway = true
  Object.assign(queue, {
    async deliveryGetNextDue(question: Parameters<typeof deliveryGetNextDue>[0]) {
      asked += 1
      if (isAway) throw new Fault('unavailable', 'the database does not answer')
      return await deliveryGetNextDue(question)
    },
  })
  await lose(ACCOUNT)
  await gain(ACCOUNT)
  await until('it is asked again and again', () => asked > 20)
  isAway = false
  isUp = true
  leapUs = 1_200 * 1_000_000
  await until('it is sent', async () => (await pendingOf(rig)) === 0)
  await receiver.stop()
})

test('while the database does not answer nothing is begun', async () => {
  const receiver = startReceiver()
  const { ownership, gain } = changingOwnership()
  let isTrusted = false
  await using rig = await newRig({ ownership: { ...ownership, isTrusted: () => isTrusted } })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('it is loaded', async () => (await pendingOf(rig)) === 1)
  await rig.emit('b')
  expect(receiver.received).toEqual([])
  isTrusted = true
  await gain(ACCOUNT)
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  await receiver.stop()
})

test('when a PBX has come from another node, what that stored of its calls is sent first', async () => {
  const receiver = startReceiver()
  const { ownership, setPbxs } = changingOwnership()
  await using rig = await newRig({ ownership })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  // A server that takes its time to list the webhooks.
  const { promise: isEnough, resolve: end } = Promise.withResolvers<void>()
  const { webhookListVersions } = rig.store.webhooks
  Object.assign(rig.store.webhooks, { webhookListVersions: () => isEnough.then(() => webhookListVersions()) })
  await setPbxs('not owned')
  // Stored by another node while that watched the PBX.
  const [theirs] = await storeEvents(rig.store, [
    { uuid: 'theirs', callId: 'b', name: 'call_started', sequence: 1, atUs: 0, body: '{}' },
  ])
  await setPbxs('owned')
  const [ours] = await rig.emit('b')
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received.slice(-2).map(({ id }) => id)).toEqual([theirs?.uuid ?? '', ours ?? ''])
  end()
  await receiver.stop()
})

test('an event that was read and sent before its answer came is not sent again', async () => {
  const receiver = startReceiver()
  const { ownership } = changingOwnership()
  await using rig = await newRig({ ownership })
  await rig.setUrls(receiver.url)
  const allSent = () => until('all is sent', async () => (await pendingOf(rig)) === 0)
  await rig.emit('a')
  await allSent()
  const late = await storeEvents(rig.store, [
    { uuid: 'late', callId: 'b', name: 'call_started', sequence: 1, atUs: 0, body: '{}' },
  ])
  await allSent()
  let reads = 0
  const { deliveryGetUntried } = rig.store.queue
  const counted: typeof deliveryGetUntried = async (query) => {
    const found = await deliveryGetUntried(query)
    reads += 1
    return found
  }
  Object.assign(rig.store.queue, { deliveryGetUntried: counted })
  // All is read again, from the first on: nothing is pending.
  rig.emitter.emit('foreign')
  await until('it was read', () => reads > 0)
  rig.emitter.emit('stored', late)
  await rig.emit('c')
  await allSent()
  expect(receiver.received.filter(({ id }) => id === 'late')).toHaveLength(1)
  await receiver.stop()
})

test('one query finds the gained webhooks with pending deliveries, and only these are read', async () => {
  const receiver = startReceiver()
  const { ownership, lose, gain } = changingOwnership()
  await using rig = await newRig({ ownership })
  const urls = Array.from({ length: 40 }, (_, at) => `${receiver.url}?${at}`)
  await rig.setUrls(...urls)
  await rig.emit('a')
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  const { queue } = rig.store
  const { deliveryGetUntried, deliveryGetDue, pendingGetFirst } = queue
  let reads = 0
  let surveyed = 0
  Object.assign(queue, {
    deliveryGetUntried(page: Parameters<typeof deliveryGetUntried>[0]) {
      reads += 1
      return deliveryGetUntried(page)
    },
    deliveryGetDue(page: Parameters<typeof deliveryGetDue>[0]) {
      reads += 1
      return deliveryGetDue(page)
    },
    async pendingGetFirst(asked: Parameters<typeof pendingGetFirst>[0]) {
      const found = await pendingGetFirst(asked)
      surveyed += asked.webhookIds.length
      return found
    },
  })
  await lose(ACCOUNT)
  await gain(ACCOUNT)
  await until('all are known', () => surveyed >= urls.length)
  expect(reads).toBe(0)
  await lose(ACCOUNT)
  await rig.emit('b')
  await gain(ACCOUNT)
  await until('all is sent', async () => (await pendingOf(rig)) === 0)
  expect(receiver.received).toHaveLength(2 * urls.length)
  await receiver.stop()
})
