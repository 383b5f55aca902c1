import { expect, test } from 'bun:test'
import { type Attempt, newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { stallableDisk } from '../../help/stalling-disk.ts'
import { ACCOUNT, allowing, newRig } from './rig.ts'

const idsOf = (received: readonly { id: string }[]) => received.map(({ id }) => id)
const states = async (rig: Awaited<ReturnType<typeof newRig>>) =>
  (await rig.deliveries.list(ACCOUNT, {}, 200)).items.map(({ state }) => state)

test('a stored event is sent once, signed, and recorded', async () => {
  using receiver = disposable(startReceiver())
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  const [id = ''] = await rig.emit('a')
  await until('it is delivered', async () => (await states(rig))[0] === 'delivered')
  const [secret] = await rig.webhooks.secrets(ACCOUNT)
  expect(receiver.faults(secret?.secret ?? '')).toEqual([])
  expect(idsOf(receiver.received)).toEqual([id])
  const { headers } = receiver.received[0] ?? { headers: {} }
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'HookswitchHttpAgent/1.0',
    'accept-encoding': 'identity',
    host: new URL(receiver.url).host,
    traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  })
  const [item] = (await rig.deliveries.list(ACCOUNT, {})).items
  const shown = await rig.deliveries.show(ACCOUNT, item?.id ?? '')
  expect(shown).toMatchObject({ state: 'delivered', attempts_made: 1, event_id: id, next_attempt_at: null })
  expect(shown.attempts).toMatchObject([{ status: 200, error: null, address: '127.0.0.1', response: 'ok' }])
})

test('the events of one call come in their order, one at a time, while others do not wait', async () => {
  let most = 0
  const under = new Map<string, number>()
  using receiver = disposable(
    startReceiver(async ({ body }) => {
      const { call } = JSON.parse(body).data
      under.set(call, (under.get(call) ?? 0) + 1)
      most = Math.max(most, under.get(call) ?? 0)
      await Bun.sleep(2)
      under.set(call, (under.get(call) ?? 0) - 1)
      return new Response()
    }),
  )
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  const emitted: string[] = []
  for (let round = 0; round < 10; round += 1) emitted.push(...(await rig.emit('a', 'a', 'b', 'a', 'c', 'b')))
  await until('all came', () => receiver.received.length === 60)
  expect(most).toBe(1)
  for (const call of ['a', 'b', 'c']) {
    const got = receiver.received.map(({ body }) => JSON.parse(body).data).filter((data) => data.call === call)
    expect(got.map(({ sequence }) => sequence)).toEqual(got.map(({ sequence }) => sequence).toSorted((x, y) => x - y))
  }
  expect(new Set(idsOf(receiver.received))).toEqual(new Set(emitted))
})

test('16 go to one webhook at a time, and 64 at most while all goes well', async () => {
  let under = 0
  let most = 0
  let answered = 0
  const full = Promise.withResolvers<void>()
  using receiver = disposable(
    startReceiver(async () => {
      under += 1
      most = Math.max(most, under)
      if (under === 16) full.resolve()
      // It begins with fewer at a time, and is given more as it answers.
      if (answered >= 20) await full.promise
      under -= 1
      answered += 1
      return new Response()
    }),
  )
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await rig.emit(...Array.from({ length: 200 }, (_, index) => `call ${index}`))
  await until('all came', () => receiver.received.length === 200)
  expect(most).toBeWithin(16, 65)
})

test('a failure is tried again on the schedule, with the same webhook-id, and the last one fails', async () => {
  using receiver = disposable(startReceiver(() => new Response('no', { status: 418 })))
  await using rig = await newRig({ scheduleMs: [30, 30] })
  await rig.setUrls(receiver.url)
  const [id] = await rig.emit('a')
  await until('it failed', async () => (await states(rig))[0] === 'failed')
  expect(idsOf(receiver.received)).toEqual([id ?? '', id ?? '', id ?? ''])
  receiver.answerWith(() => new Response())
  const [failed] = (await rig.deliveries.list(ACCOUNT, { state: 'failed' })).items
  await rig.deliveries.retry(ACCOUNT, failed?.id ?? '')
  await until('it is delivered', async () => (await states(rig))[0] === 'delivered')
  const shown = await rig.deliveries.show(ACCOUNT, failed?.id ?? '')
  expect(shown.attempts.map(({ status }) => status)).toEqual([418, 418, 418, 200])
})

test('a webhook that goes down and comes back gets all, in order, and probes spend no attempts', async () => {
  using receiver = disposable(startReceiver(() => new Response('', { status: 500 })))
  await using rig = await newRig({ scheduleMs: [60_000, 60_000] })
  await rig.setUrls(receiver.url)
  const calls = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  for (let round = 0; round < 5; round += 1) await rig.emit(...calls)
  await until('it is down', () => rig.dispatcher.health(1).state === 'down')
  const whileDown = receiver.received.length
  await until('it is probed', () => receiver.received.length >= whileDown + 1)
  receiver.received.length = 0
  receiver.answerWith(() => new Response())
  await until('all are delivered', async () => (await states(rig)).every((state) => state === 'delivered'))
  for (const call of calls) {
    const got = receiver.received.map(({ body }) => JSON.parse(body).data).filter((data) => data.call === call)
    expect(got.map(({ sequence }) => sequence)).toEqual(got.map(({ sequence }) => sequence).toSorted((x, y) => x - y))
  }
  expect(rig.dispatcher.health(1).state).toBe('up')
  const { items } = await rig.deliveries.list(ACCOUNT, {}, 200)
  expect(Math.max(...items.map(({ attempts_made }) => attempts_made))).toBeLessThanOrEqual(2)
})

test('one that hangs does not hold up another', async () => {
  using dead = disposable(startReceiver(() => new Promise<Response>(() => {})))
  using well = disposable(startReceiver())
  await using rig = await newRig({ attemptOptions: { timeoutMs: 3_600_000 } })
  await rig.setUrls(dead.url, well.url)
  for (let round = 0; round < 20; round += 1) await rig.emit(...Array.from({ length: 10 }, (_, n) => `${round} ${n}`))
  await until('the well one has all', () => well.received.length === 200)
  expect(dead.received.length).toBeLessThanOrEqual(16)
  await dead.stop()
})

test('what waits for a URL that leaves the list is cancelled; one that comes back begins again', async () => {
  using receiver = disposable(startReceiver(() => new Response('', { status: 400 })))
  await using rig = await newRig({ scheduleMs: [60_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b', 'c')
  await until('each was tried', () => receiver.received.length === 3)
  const changed = new Map<number, number | undefined>()
  rig.emitter.on('deliveries', (ids, accountId) => {
    for (const id of ids) changed.set(id, accountId)
  })
  await rig.setUrls()
  await until('each is reported as changed', () => changed.size === 3)
  expect(new Set(changed.values())).toEqual(new Set([ACCOUNT]))
  await until('all are cancelled', async () => (await states(rig)).every((state) => state === 'cancelled'))
  const [item] = (await rig.deliveries.list(ACCOUNT, { state: 'cancelled' })).items
  const refused = await rig.deliveries.retry(ACCOUNT, item?.id ?? '').catch((error) => error)
  expect(refused).toMatchObject({ status: 422 })
  receiver.answerWith(() => new Response())
  await rig.setUrls(receiver.url)
  await rig.emit('d')
  await until('the new one is delivered', async () => (await states(rig))[0] === 'delivered')
  await until('the cancellation is over', async () => {
    await rig.deliveries.retry(ACCOUNT, item?.id ?? '')
    // A retry that was asked for again after it had begun is sent again.
    return receiver.received.length >= 5
  })
})

test('a backlog on disk is sent when the process starts, in order', async () => {
  using receiver = disposable(startReceiver())
  await using rig = await newRig({ asleep: true })
  await rig.setUrls(receiver.url)
  for (let round = 0; round < 100; round += 1) await rig.emit('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j')
  rig.wake()
  await until('all came', () => receiver.received.length === 1_000)
  const got = receiver.received.map(({ body }) => JSON.parse(body).data).filter((data) => data.call === 'c')
  expect(got.map(({ sequence }) => sequence)).toEqual(got.map(({ sequence }) => sequence).toSorted((x, y) => x - y))
  expect(new Set(idsOf(receiver.received)).size).toBe(1_000)
})

test('of many retries that are due each is read once, a part at a time', async () => {
  using receiver = disposable(startReceiver())
  await using rig = await newRig({ asleep: true })
  await rig.setUrls(receiver.url)
  const calls = Array.from({ length: 600 }, (_, call) => `call ${call}`)
  for (let sent = 0; sent < calls.length; sent += 100) await rig.emit(...calls.slice(sent, sent + 100))
  rig.wake()
  await until('all came', () => receiver.received.length === calls.length)
  await until('all ended', async () => (await rig.store.queue.pendingCount()) === 0)
  const { queue } = rig.store
  const { deliveryGetDue } = queue
  const read: number[][] = []
  Object.assign(queue, {
    async deliveryGetDue(query: Parameters<typeof deliveryGetDue>[0]) {
      const due = await deliveryGetDue(query)
      read.push(due.map(({ id }) => id))
      return due
    },
  })
  await rig.deliveries.retryAll(ACCOUNT, { state: 'delivered' })
  await until('all came again', () => receiver.received.length === 2 * calls.length)
  const ids = read.flat()
  expect(ids).toHaveLength(calls.length)
  expect(new Set(ids).size).toBe(calls.length)
  expect(Math.max(...read.map(({ length }) => length))).toBeLessThanOrEqual(128)
})

test('the number of repeats after a kill is bounded: while outcomes cannot be stored, sending stops at the bound', async () => {
  using receiver = disposable(startReceiver())
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread, asleep: true })
  await rig.setUrls(receiver.url)
  await rig.emit(...Array.from({ length: 1_000 }, (_, n) => `call ${n}`))
  disk.stall()
  const dispatcher = rig.wake()
  await until('no more is sent', () => receiver.received.length >= 224 && dispatcher.inFlight === 0)
  expect(receiver.received.length).toBeLessThanOrEqual(300)
  disk.release()
  await until('all came', () => receiver.received.length === 1_000)
})

test('what this machine could not send is no attempt: it is sent in its order as soon as it can be', async () => {
  using receiver = disposable(startReceiver())
  const real = newAttempt({ allow: allowing('loopback') })
  let unsent = 0
  const starved: Attempt = async (request) => {
    if (unsent >= 6) return real(request)
    unsent += 1
    return { outcome: { kind: 'unsent', reason: 'nothing to send with' }, durationMs: 0, address: null, response: null }
  }
  await using rig = await newRig({ attempt: starved })
  await rig.setUrls(receiver.url)
  const emitted = await rig.emit(...Array.from({ length: 30 }, (_, n) => `call ${n % 3}`))
  await until('all are delivered', async () => (await states(rig)).every((state) => state === 'delivered'))
  expect(unsent).toBe(6)
  expect(idsOf(receiver.received).toSorted()).toEqual(emitted.toSorted())
  for (const call of ['call 0', 'call 1', 'call 2']) {
    const got = receiver.received.map(({ body }) => JSON.parse(body).data).filter((data) => data.call === call)
    expect(got.map(({ sequence }) => sequence)).toEqual(got.map(({ sequence }) => sequence).toSorted((x, y) => x - y))
  }
  const { items } = await rig.deliveries.list(ACCOUNT, {}, 200)
  for (const { id, attempts_made } of items) {
    expect(attempts_made).toBe(1)
    expect((await rig.deliveries.show(ACCOUNT, id)).attempts).toHaveLength(1)
  }
})

function disposable<T extends { stop(): unknown }>(value: T): T & Disposable {
  return Object.assign(value, { [Symbol.dispose]: () => void value.stop() })
}

test('while intake is behind only a few attempts run at a time, and all of them go on when it is not', async () => {
  const released = Promise.withResolvers<void>()
  const receiver = startReceiver(async () => {
    await released.promise
    return new Response()
  })
  let behind = true
  await using rig = await newRig({ isIntakeBehind: () => behind })
  const urls = Array.from({ length: 6 }, (_, n) => `${receiver.url}/${n}`)
  await rig.setUrls(...urls)
  await rig.emit('a', 'b', 'c')
  await until('some are under way', () => receiver.received.length === 4)
  expect(rig.dispatcher.inFlight).toBe(4)
  behind = false
  await until('all are under way', () => rig.dispatcher.inFlight === 18)
  released.resolve()
  await until('all came', () => receiver.received.length === 18)
  await receiver.stop()
})
