import { describe, expect, test } from 'bun:test'
import { cancelAttempt, endStep, finishRecording, type LoadedDelivery } from '../../../src/deliveries/queue/delivery.ts'
import { type AttemptSlot, createScheduler, type Scheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { NO_STEP } from '../../../src/store/operations/log.ts'
import { deliveryOf } from '../../help/deliveries.ts'

const DELIVERED: Outcome = { kind: 'delivered', status: 200 }
const TICK_US = 25 * MILLISECOND

/** Sends what may be sent at each tick, as the service does, each answered at once; returns when each of the deliveries went. */
function play(count: number, maxPerSecond: number | null, seconds: number, change?: (atUs: number) => number | null) {
  const scheduler = createScheduler()
  scheduler.setTiming(1, { paused: false, maxPerSecond })
  for (let id = 1; id <= count; id += 1) scheduler.add(deliveryOf({ id, callId: `call ${id % 500}` }), 0)
  const sent: { id: number; atUs: number }[] = []
  for (let atUs = 0; atUs < seconds * SECOND; atUs += TICK_US) {
    if (change !== undefined) scheduler.setTiming(1, { paused: false, maxPerSecond: change(atUs) })
    scheduler.tick(atUs)
    for (let slot = scheduler.take(atUs); slot !== undefined; slot = scheduler.take(atUs)) {
      sent.push({ id: slot.delivery.id, atUs })
      scheduler.end(slot, DELIVERED, atUs)
      scheduler.release(slot.delivery, atUs)
    }
  }
  return sent
}
const within = (sent: readonly { atUs: number }[], fromS: number, toS: number) =>
  sent.filter(({ atUs }) => atUs >= fromS * SECOND && atUs < toS * SECOND).length

describe('a pace', () => {
  test.each([0.5, 1, 2.5, 10, 33, 100, 333, 1_000])(
    'of %d a second holds within 5 % over 10 s, after its burst',
    (rate) => {
      const sent = play(Math.ceil(rate * 25), rate, 22)
      const expected = rate * 10
      const counted = within(sent, 1, 11)
      // A slot more or less is no inaccuracy where only a few fit into the time.
      expect(Math.abs(counted - expected)).toBeLessThanOrEqual(Math.max(1, expected * 0.05))
      expect(Math.abs(within(sent, 11, 21) - expected)).toBeLessThanOrEqual(Math.max(1, expected * 0.05))
      console.log(`${rate}/s: ${counted} in 10 s`)
    },
  )

  test('has a burst of one second’s worth, and one attempt at least', () => {
    expect(within(play(1_000, 100, 1), 0, 0.02)).toBe(100)
    expect(within(play(10, 0.1, 1), 0, 1)).toBe(1)
    expect(within(play(10, 0.1, 12), 0, 12)).toBe(2)
  })

  test('changes nothing of the order', () => {
    const free = play(400, null, 30).map(({ id }) => id)
    const slow = play(400, 20, 30).map(({ id }) => id)
    expect(slow).toHaveLength(400)
    expect(slow).toEqual(free)
  })

  test('may be changed at any time, and be lifted', () => {
    const sent = play(5_000, 10, 20, (atUs) => (atUs < 5 * SECOND ? 10 : atUs < 10 * SECOND ? 100 : null))
    expect(within(sent, 1, 5)).toBe(40)
    expect(Math.abs(within(sent, 6, 10) - 400)).toBeLessThanOrEqual(20)
    expect(sent).toHaveLength(5_000)
  })

  test('leaves other webhooks alone, and requests that are no deliveries', () => {
    const scheduler = createScheduler()
    scheduler.setTiming(1, { paused: false, maxPerSecond: 1 })
    for (let id = 1; id <= 10; id += 1)
      scheduler.add(deliveryOf({ id, callId: `call ${id}`, webhookId: 1 + (id % 2) }), 0)
    const taken: number[] = []
    for (let slot = scheduler.take(0); slot !== undefined; slot = scheduler.take(0)) taken.push(slot.queue.webhookId)
    expect(taken.filter((id) => id === 1)).toHaveLength(1)
    expect(scheduler.reserve(2, 0)).toBeDefined()
    expect(scheduler.reserve(1, 0)).toBeDefined()
  })
})

/** Ends each attempt at once, and returns how many began; it ends with the outcome that its delivery has. */
function playAll(scheduler: Scheduler, seconds: number, outcomeOf: (slot: AttemptSlot) => Outcome | 'hangs') {
  const begun: AttemptSlot[] = []
  for (let atUs = 0; atUs < seconds * SECOND; atUs += TICK_US) {
    scheduler.tick(atUs)
    for (let slot = scheduler.take(atUs); slot !== undefined; slot = scheduler.take(atUs)) {
      begun.push(slot)
      const outcome = outcomeOf(slot)
      if (outcome === 'hangs') continue
      scheduler.end(slot, outcome, atUs)
      scheduler.release(slot.delivery, atUs)
    }
  }
  return begun
}

describe('a delivery without a request', () => {
  test.each([
    { kind: 'skipped', reason: NO_STEP },
    { kind: 'unrendered', reason: 'the template: it fails' },
    { kind: 'unsent', reason: 'there is no file descriptor left' },
  ] as const)('takes nothing from the pace: $kind', (outcome) => {
    const scheduler = createScheduler()
    scheduler.setTiming(1, { paused: false, maxPerSecond: 1, sharedPace: 'host' })
    for (let id = 1; id <= 20; id += 1) scheduler.add(deliveryOf({ id, callId: `call ${id}` }), 0)
    // Ten without a request, then ten with one.
    const begun = playAll(scheduler, 3, ({ delivery: { id } }) => (id <= 10 ? outcome : DELIVERED))
    const times = begun.map(({ startedUs }) => startedUs)
    expect(times.slice(0, 11)).toEqual(Array.from({ length: 11 }, () => 0))
    expect(times.slice(11)).toEqual([SECOND, 2 * SECOND])
  })

  test('a turn of a flow counts as many requests as it made', () => {
    const scheduler = createScheduler()
    scheduler.setTiming(1, { paused: false, maxPerSecond: 1 })
    for (let id = 1; id <= 3; id += 1) scheduler.add(deliveryOf({ id, callId: `call ${id}` }), 0)
    const end = (requests: number) => {
      const slot = scheduler.take(0)
      if (slot === undefined) return false
      scheduler.end(slot, DELIVERED, 0, requests)
      scheduler.release(slot.delivery, 0)
      return true
    }
    expect([end(0), end(2), end(1)]).toEqual([true, true, false])
    scheduler.tick(SECOND)
    expect(scheduler.take(SECOND)).toBeUndefined()
    scheduler.tick(2 * SECOND)
    expect(scheduler.take(2 * SECOND)).toBeDefined()
  })
})

describe('a flow that goes on after a step', () => {
  const ADVANCED: Outcome = { kind: 'advanced', status: 200 }
  const newFlowQueue = (parallel: number) => {
    const scheduler = createScheduler()
    scheduler.setTiming(1, { paused: false, maxPerSecond: 1_000, parallel })
    const deliveries = [1, 2, 3, 4].map((id) => deliveryOf({ id, callId: `call ${id}` }))
    for (const delivery of deliveries) scheduler.add(delivery, 0)
    const endStepOf = (slot: AttemptSlot) => {
      scheduler.end(slot, ADVANCED, 0)
      endStep(slot.delivery, 1)
    }
    const isStored = (delivery: LoadedDelivery, superseded = false) => {
      finishRecording(delivery, { superseded, webhookDown: false, maySchedule: true })
      if (delivery.phase === 'queued') scheduler.add(delivery, 0)
      scheduler.release(delivery, 0)
    }
    const take = () => scheduler.take(0)?.delivery.id
    return { scheduler, endStepOf, isStored, take }
  }

  test.each([1, 2])('is the next, and with %i in parallel no further call begins before it ends', (parallel) => {
    const { scheduler, endStepOf, isStored, take } = newFlowQueue(parallel)
    const slots = Array.from({ length: parallel }, () => scheduler.take(0))
    const [first] = slots
    if (first === undefined) throw new Error('nothing was taken')
    endStepOf(first)
    // Its step is being stored: it keeps its place.
    expect(take()).toBeUndefined()
    isStored(first.delivery)
    const again = scheduler.take(0)
    expect([again?.delivery.id, take()]).toEqual([first.delivery.id, undefined])
    if (again === undefined) return
    scheduler.end(again, DELIVERED, 0)
    scheduler.release(again.delivery, 0)
    expect(take()).toBe(parallel + 1)
  })

  test('gives its place away if it ends without a further step', () => {
    const { scheduler, endStepOf, isStored, take } = newFlowQueue(1)
    const slot = scheduler.take(0)
    if (slot === undefined) throw new Error('nothing was taken')
    endStepOf(slot)
    isStored(slot.delivery, true)
    expect([slot.delivery.phase, take()]).toEqual(['evicted', 2])
  })

  test('lets others begin while it waits for a retry', () => {
    const { scheduler, endStepOf, isStored, take } = newFlowQueue(1)
    const slot = scheduler.take(0)
    if (slot === undefined) throw new Error('nothing was taken')
    endStepOf(slot)
    isStored(slot.delivery)
    const again = scheduler.take(0)
    if (again === undefined) throw new Error('nothing was taken')
    scheduler.end(again, { kind: 'refused', status: 500 }, 0)
    scheduler.release(again.delivery, 0)
    expect(take()).toBe(2)
  })
})

describe('a trial of a flow', () => {
  const NEEDS_A_REQUEST: Outcome = { kind: 'deferred', reason: 'a step sends a request', afterMs: 0 }

  test('comes once for each delivery that has to wait, outside of the pace and the window', () => {
    const scheduler = createScheduler()
    scheduler.setTiming(1, { paused: false, maxPerSecond: 1, parallel: 1, hasFlow: true })
    for (let id = 1; id <= 20; id += 1) scheduler.add(deliveryOf({ id, callId: `call ${id % 10}` }), 0)
    const request = scheduler.take(0)
    expect([request?.delivery.id, request?.from]).toEqual([1, 'unsure'])
    const tried: number[] = []
    for (let slot = scheduler.take(0); slot !== undefined; slot = scheduler.take(0)) {
      expect(slot.from).toBe('trial')
      const { delivery } = slot
      tried.push(delivery.id)
      // Every third needs no request, and ends.
      const isSkipped = delivery.id % 3 === 0
      scheduler.end(slot, isSkipped ? { kind: 'skipped', reason: NO_STEP } : NEEDS_A_REQUEST, 0)
      if (!isSkipped) {
        cancelAttempt(delivery)
        scheduler.add(delivery, 0)
      }
      scheduler.release(delivery, 0)
    }
    // The first of each call but that of the request; then those that come after one that has ended.
    expect(tried).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 19])
    expect([scheduler.inFlight, scheduler.queueOf(1).breaker.window]).toEqual([1, 4])
  })

  test('are four at a time, and none begins for a webhook without a flow, or that its owner paused', () => {
    const trialsOf = (timing: { paused: boolean; hasFlow: boolean }) => {
      const scheduler = createScheduler()
      scheduler.setTiming(1, { ...timing, maxPerSecond: 1 })
      for (let id = 1; id <= 20; id += 1) scheduler.add(deliveryOf({ id, callId: `call ${id}` }), 0)
      const taken: string[] = []
      for (let slot = scheduler.take(0); slot !== undefined; slot = scheduler.take(0)) taken.push(slot.from)
      return taken
    }
    expect(trialsOf({ paused: false, hasFlow: true })).toEqual(['unsure', 'trial', 'trial', 'trial', 'trial'])
    expect(trialsOf({ paused: false, hasFlow: false })).toEqual(['unsure'])
    expect(trialsOf({ paused: true, hasFlow: true })).toEqual([])
  })
})

describe('a shared pace', () => {
  const REFUSED: Outcome = { kind: 'refused', status: 404 }

  /** Webhooks with a backlog each, and one pace. */
  function sharing(webhooks: number, maxPerSecond: number, callsOf: (webhookId: number) => number = () => 500) {
    const scheduler = createScheduler()
    for (let webhookId = 1; webhookId <= webhooks; webhookId += 1) {
      scheduler.setTiming(webhookId, { paused: false, maxPerSecond, sharedPace: 'host' })
      for (let n = 0; n < 1_000; n += 1) {
        const callId = `call ${n % callsOf(webhookId)}`
        scheduler.add(deliveryOf({ id: webhookId * 1_000 + n, callId, webhookId }), 0)
      }
    }
    return scheduler
  }
  const counts = (begun: readonly AttemptSlot[], webhooks: number) =>
    Array.from({ length: webhooks }, (_, n) => begun.filter(({ queue }) => queue.webhookId === n + 1).length)

  test.each([1, 10, 100])('serves the webhooks in turn at %d a second, whatever they answer', (rate) => {
    const begun = playAll(sharing(3, rate), 6, ({ queue }) => (queue.webhookId === 1 ? REFUSED : DELIVERED))
    const each = counts(begun, 3)
    expect(Math.max(...each) - Math.min(...each)).toBeLessThanOrEqual(1)
    expect(Math.abs(begun.length - rate * 7)).toBeLessThanOrEqual(Math.max(1, rate * 0.3))
  })

  test('serves the one that waits when the attempt of the other ends between two ticks', () => {
    const scheduler = sharing(2, 1)
    const first = scheduler.take(0)
    expect(first?.queue.webhookId).toBe(1)
    if (first === undefined) throw new Error('nothing was taken')
    // Nothing may begin now: so neither has a turn until the next tick, unless its attempt ends before.
    expect(scheduler.take(0)).toBeUndefined()
    scheduler.end(first, DELIVERED, SECOND)
    scheduler.release(first.delivery, SECOND)
    expect(scheduler.take(SECOND)?.queue.webhookId).toBe(2)
  })

  test('does not wait for a webhook that cannot begin', () => {
    // The first has one call, whose attempt hangs; the second is paused; the third is down after five troubles.
    const scheduler = sharing(4, 10, (webhookId) => (webhookId === 1 ? 1 : 500))
    scheduler.setTiming(2, { paused: true, maxPerSecond: 10, sharedPace: 'host' })
    const begun = playAll(scheduler, 10, ({ queue: { webhookId } }) =>
      webhookId === 1 ? 'hangs' : webhookId === 3 ? { kind: 'unreachable', reason: 'refused' } : DELIVERED,
    )
    const [one, two, three = 0, four = 0] = counts(begun, 4)
    expect([one, two]).toEqual([1, 0])
    expect(three).toBeLessThan(10)
    expect(four).toBeGreaterThan(90)
  })

  test('is free for the others when one has nothing to send', () => {
    const scheduler = sharing(2, 10)
    scheduler.queueOf(1).remove(() => true)
    expect(
      counts(
        playAll(scheduler, 10, () => DELIVERED),
        2,
      ),
    ).toEqual([0, 109])
  })
})

describe('a pause', () => {
  test('begins nothing, probes included, and goes on in order', () => {
    const scheduler = createScheduler()
    for (const id of [3, 1, 2]) scheduler.add(deliveryOf({ id, callId: 'a' }), 0)
    scheduler.setTiming(1, { paused: true, maxPerSecond: null })
    scheduler.tick(60 * SECOND)
    expect(scheduler.take(60 * SECOND)).toBeUndefined()
    scheduler.prioritize(deliveryOf({ id: 3, callId: 'a' }), 60 * SECOND)
    expect(scheduler.take(60 * SECOND)).toBeUndefined()
    // Tests ignore it.
    expect(scheduler.reserve(1, 60 * SECOND)).toBeDefined()
    scheduler.setTiming(1, { paused: false, maxPerSecond: null })
    scheduler.tick(61 * SECOND)
    expect(scheduler.take(61 * SECOND)?.delivery.id).toBe(1)
  })
})
