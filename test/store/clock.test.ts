import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { startPruner } from '../../src/deliveries/log/pruner.ts'
import { createScheduler } from '../../src/deliveries/queue/scheduler.ts'
import { expireDeliveries } from '../../src/deliveries/run/expiry.ts'
import { createWebhookCache } from '../../src/deliveries/sending/webhook-cache.ts'
import { Fault } from '../../src/lib/fault.ts'
import { nowUs as realUs, SECOND } from '../../src/lib/time.ts'
import { recordOutcome } from '../../src/outbound/circuit-breaker.ts'
import { openClock } from '../../src/store/clock.ts'
import { prepared } from '../../src/store/sqlite/engine/prepared.ts'
import { ACCOUNT, LOG, newRig } from '../deliveries/run/rig.ts'
import { type Receiver, startReceiver, until } from '../help/receiver.ts'
import { NO_FLOW_RECORDS } from '../help/store.ts'
import { TEMPLATES } from '../help/templates.ts'

const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
const STEPS = [
  ['back by five hours', -5 * HOUR],
  ['back by a year', -365 * DAY],
  ['forward by two days', 2 * DAY],
] as const

/** A wall clock that can be set, and a log that is kept. */
function newWorld() {
  const logged: string[] = []
  const world = {
    setUs: 0,
    leapUs: 0,
    logged,
    nowUs: () => realUs() + world.leapUs + world.setUs,
    steadyUs: () => performance.now() * 1_000 + world.leapUs,
    log: { ...LOG, warn: (...given: unknown[]) => void logged.push(String(given.at(-1))) },
  }
  return world
}

/** A world in which time passes only by leaps. */
function newStillWorld() {
  const world = newWorld()
  const startUs = realUs()
  return Object.assign(world, {
    nowUs: () => startUs + world.leapUs + world.setUs,
    steadyUs: () => world.leapUs,
  })
}

const refusing = () => new Response('', { status: 418 })
const failing = () => new Response('', { status: 500 })
const first = async (rig: Awaited<ReturnType<typeof newRig>>) => {
  const [item] = (await rig.deliveries.list(ACCOUNT, {})).items
  if (item === undefined) throw new Error('there is no delivery')
  return item
}

const HOURS = [HOUR / 1_000, HOUR / 1_000]
const ANOTHER = 'another'

test.each(STEPS)('a retry comes at its time when the clock is set %s', async (_, byUs) => {
  const world = newWorld()
  const receiver = startReceiver(refusing)
  await using rig = await newRig({ ...world, scheduleMs: HOURS })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('it was tried', async () => (await first(rig)).attempts_made === 1)
  const elapsedUs = takeTimes(receiver, world)
  world.setUs += byUs
  await letPass(rig, world, 50)
  world.leapUs += HOUR
  await until('it is tried again', () => elapsedUs.length === 1)
  expect(elapsedUs[0]).toBeGreaterThan(HOUR)
  await receiver.stop()
})

test.each(STEPS)('a retry that is on disk alone comes at its time when the clock is set %s', async (_, byUs) => {
  const world = newWorld()
  const receiver = startReceiver(refusing)
  await using rig = await newRig({ ...world, scheduleMs: HOURS })
  await rig.setUrls(receiver.url)
  const calls = Array.from({ length: 100 }, (_, n) => `call ${n}`)
  await rig.emit(...calls)
  const waiting = async () => (await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 200)).items
  await until('all were tried', async () => (await waiting()).every(({ attempts_made: made }) => made === 1))
  const elapsedUs = takeTimes(receiver, world)
  world.setUs += byUs
  await letPass(rig, world, 50)
  world.leapUs += HOUR
  await until('all have come', async () => (await waiting()).length === 0)
  expect(elapsedUs).toHaveLength(100)
  expect(Math.min(...elapsedUs)).toBeGreaterThan(HOUR)
  await receiver.stop()
})

/** Lets a receiver take all. Returns how much time has passed when each retry comes. */
function takeTimes(receiver: Receiver, world: { leapUs: number }): readonly number[] {
  const elapsedUs: number[] = []
  receiver.answerWith(({ body }) => {
    if (JSON.parse(body).data.call !== ANOTHER) elapsedUs.push(world.leapUs)
    return new Response()
  })
  return elapsedUs
}

/** Lets minutes pass, then emits an event: its delivery wakes the loop, which then sends all due deliveries. */
async function letPass(rig: Awaited<ReturnType<typeof newRig>>, world: { leapUs: number }, minutes: number) {
  world.leapUs += minutes * 60 * SECOND
  await rig.emit(ANOTHER)
  await until('the other is delivered', async () => {
    const { items } = await rig.deliveries.list(ACCOUNT, { call_id: ANOTHER })
    return items[0]?.state === 'delivered'
  })
}

test.each(STEPS)('what waits for a webhook that is down does not fail when the clock is set %s', async (_, byUs) => {
  const world = newWorld()
  const receiver = startReceiver(failing)
  await using rig = await newRig({ ...world, scheduleMs: [20_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b', 'c', 'd', 'e', 'f')
  await until('it is down', () => rig.dispatcher.health(1).state === 'down')
  world.setUs += byUs
  const before = receiver.received.length
  await rig.emit('g')
  world.leapUs += 2 * SECOND
  await until('it is probed', () => receiver.received.length > before)
  await expireDeliveries(await expiryOf(rig, world.nowUs))
  expect((await rig.deliveries.list(ACCOUNT, {})).items.map(({ state }) => state)).toEqual(Array(7).fill('pending'))
  receiver.answerWith(() => new Response())
  world.leapUs += 4 * SECOND
  const delivered = async () => (await rig.deliveries.list(ACCOUNT, { state: 'delivered' })).items.length
  await until('all have come', async () => (await delivered()) === 7)
  await receiver.stop()
})

test('what waits for a webhook that is down expires regardless of the wall clock', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  await rig.setUrls('http://127.0.0.1:9/')
  await rig.emit('a')
  world.leapUs += 10 * SECOND
  await rig.emit('b')
  world.setUs -= DAY
  world.leapUs += 11 * SECOND
  await expireDeliveries(await expiryOf(rig, world.nowUs))
  expect((await rig.deliveries.list(ACCOUNT, {})).items.map(({ state }) => state)).toEqual(['pending', 'failed'])
})

/** The expiry of a webhook that is down, with a schedule of 20 seconds. */
async function expiryOf(
  rig: Awaited<ReturnType<typeof newRig>>,
  nowUs: () => number,
): Promise<Parameters<typeof expireDeliveries>[0]> {
  const { store, clock } = rig
  const { steadyUs } = clock
  const scheduler = createScheduler()
  const trouble = { kind: 'refused', status: 500 } as const
  for (let n = 0; n < 5; n += 1) recordOutcome(scheduler.queueOf(1).breaker, trouble, { probe: false, nowUs: 0 })
  const webhooks = createWebhookCache({
    webhooks: store.webhooks,
    templates: TEMPLATES,
    nowUs,
    onLoaded: scheduler.setTiming,
  })
  await webhooks.load([1])
  const ownership = OWNS_EVERYTHING
  return {
    queue: store.queue,
    scheduler,
    webhooks,
    ownership,
    nowUs,
    steadyUs,
    maxAgeUs: 20 * SECOND,
    onEnded: () => {},
  }
}

test('times are shown in wall time, and a retry by hand is due at once', async () => {
  const world = newWorld()
  const receiver = startReceiver(refusing)
  await using rig = await newRig({ ...world, scheduleMs: [60_000] })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await until('it was tried', async () => (await first(rig)).attempts_made === 1)
  const usOf = (time: string | null) => Date.parse(time ?? '') * 1_000
  const { created_at: createdAt, next_attempt_at: nextAt } = await first(rig)
  expect(usOf(nextAt) - usOf(createdAt)).toBeGreaterThan(50 * SECOND)
  world.setUs -= DAY
  await until('it is noticed', async () => (await rig.store.maintenance.clockGet()).steppedUs < -DAY + SECOND)
  expect(usOf(nextAt) - usOf((await first(rig)).next_attempt_at)).toBeWithin(DAY - SECOND, DAY + SECOND)
  await rig.deliveries.retry(ACCOUNT, (await first(rig)).id)
  await until('it is tried again', () => receiver.received.length === 2)
  const beforeUs = world.nowUs()
  await rig.emit('b')
  expect(usOf((await first(rig)).created_at)).toBeWithin(beforeUs - SECOND, world.nowUs() + SECOND)
  await receiver.stop()
})

test('a retry by hand at the moment when the clock is set is due at once', async () => {
  const world = newWorld()
  const receiver = startReceiver()
  await using rig = await newRig({ ...world, asleep: true })
  await rig.setUrls(receiver.url)
  await rig.emit('a')
  await rig.setUrls()
  await rig.setUrls(receiver.url)
  world.setUs += HOUR
  await rig.deliveries.retry(ACCOUNT, (await first(rig)).id)
  rig.wake()
  await until('it is sent', () => receiver.received.length === 1)
  await receiver.stop()
})

test('a step is logged once, how far and which way, and time goes on after a restart', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  const clock = await openClock({ maintenance: rig.store.maintenance, ...world })
  const beforeUs = clock.steadyUs()
  world.setUs += 700_000
  clock.check()
  expect(world.logged).toEqual([])
  world.setUs += 2 * HOUR
  clock.check()
  clock.check()
  world.setUs -= 3 * HOUR
  clock.check()
  expect(world.logged).toEqual([
    'the clock was set forward by 7201 s: retries and expiry are not affected',
    'the clock was set back by 10800 s: retries and expiry are not affected',
  ])
  await until('it is stored', async () => {
    clock.check()
    return (await rig.store.maintenance.clockGet()).steppedUs < -SECOND
  })
  const again = await openClock({ maintenance: rig.store.maintenance, ...world })
  world.leapUs += 5 * SECOND
  expect(again.steadyUs() - beforeUs).toBe(5 * SECOND)
  again.check()
  expect(world.logged).toHaveLength(2)
})

test('a clock that was set back while nobody ran goes on from where it stood', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  await rig.setUrls('http://127.0.0.1:9/')
  await rig.emit('a')
  world.setUs -= DAY
  const clock = await openClock({ maintenance: rig.store.maintenance, ...world })
  expect(clock.steadyUs()).toBe((await rig.store.maintenance.clockGet()).lastSteadyUs)
  clock.check()
  expect(world.logged).toEqual(['the clock was set back by 86400 s: retries and expiry are not affected'])
})

test('a step that cannot be stored is stored later', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  let broken = true
  let tries = 0
  const { maintenance } = rig.store
  const clockSet: typeof maintenance.clockSet = (clock) =>
    ++tries && broken ? Promise.reject(new Fault('unavailable', 'the disk is full')) : maintenance.clockSet(clock)
  const clock = await openClock({ ...world, maintenance: { ...maintenance, clockSet } })
  world.setUs += HOUR
  clock.check()
  await until('it failed twice', async () => {
    clock.check()
    return tries === 2
  })
  broken = false
  await until('it is stored', async () => {
    clock.check()
    return (await rig.store.maintenance.clockGet()).steppedUs > HOUR - SECOND
  })
  expect(world.logged).toHaveLength(1)
})

test('set forward by a year, nothing is deleted for a day, over a restart too', async () => {
  const world = newWorld()
  const receiver = startReceiver()
  await using rig = await newRig(world)
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b')
  await until(
    'they are delivered',
    async () => (await rig.deliveries.list(ACCOUNT, { state: 'delivered' })).items.length === 2,
  )
  const kept = async () => (await rig.deliveries.list(ACCOUNT, {})).items.length
  const prune = async () => {
    const { mayPrune } = await openClock({ maintenance: rig.store.maintenance, ...world })
    const keepMs = (30 * DAY) / 1_000
    const options = {
      maintenance: rig.store.maintenance,
      log: LOG,
      keepDeliveredMs: keepMs,
      keepFailedMs: keepMs,
      nowUs: world.nowUs,
      mayPrune,
    }
    await startPruner({ ...options, flows: NO_FLOW_RECORDS }).stop()
  }
  world.setUs += 365 * DAY
  rig.clock.check()
  await until('it is stored', async () => (await rig.store.maintenance.clockGet()).pruneFromUs > 0)
  await prune()
  expect(await kept()).toBe(2)
  world.leapUs += 23 * HOUR
  await prune()
  expect(await kept()).toBe(2)
  world.leapUs += HOUR
  await prune()
  // The newest event stays, so that no id is given twice.
  expect(await kept()).toBe(1)
  await receiver.stop()
})

/** Starts a service on a store. Returns the number of records that it deletes at once, and its log. */
async function startAndPrune(rig: Awaited<ReturnType<typeof newRig>>, world: ReturnType<typeof newStillWorld>) {
  const { maintenance } = rig.store
  const clock = await openClock({ maintenance, ...world })
  const { nowUs } = world
  const { mayPrune } = clock
  const keepMs = (30 * DAY) / 1_000
  await startPruner({
    maintenance,
    flows: NO_FLOW_RECORDS,
    log: LOG,
    keepDeliveredMs: keepMs,
    keepFailedMs: keepMs,
    nowUs,
    mayPrune,
  }).stop()
  await until('the steps of the clock are stored', async () => {
    clock.check()
    const keptForUs = (await maintenance.clockGet()).pruneFromUs - clock.steadyUs()
    return mayPrune() || (keptForUs > 0 && keptForUs <= DAY)
  })
  return prepared<{ events: number }, []>(rig.db.read, 'SELECT count(*) AS events FROM events').get()?.events
}

test('a start with a clock far ahead takes nothing out for a day, however often it is started', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  await rig.emit('a', 'b', 'c')
  world.setUs += 365 * DAY
  expect(await startAndPrune(rig, world)).toBe(3)
  expect(world.logged).toEqual([
    'the clock is 365 days ahead of the last record that was stored',
    'no old record is deleted for a day: set the clock back if it is wrong',
  ])
  world.setUs += DAY - HOUR
  expect(await startAndPrune(rig, world)).toBe(3)
  world.setUs += HOUR
  expect(await startAndPrune(rig, world)).toBe(1)
  expect(world.logged).toHaveLength(2)
})

test('a start after a quiet night or two prunes as ever, and one with a clock that is right again too', async () => {
  const world = newStillWorld()
  await using rig = await newRig({ ...world, asleep: true })
  await rig.emit('a', 'b')
  world.setUs += 365 * DAY
  expect(await startAndPrune(rig, world)).toBe(2)
  world.setUs -= 365 * DAY
  expect(await startAndPrune(rig, world)).toBe(2)
  world.setUs += 29 * DAY
  await rig.emit('c')
  world.setUs += 1.9 * DAY
  expect(await startAndPrune(rig, world)).toBe(1)
})
