import { expect, test } from 'bun:test'
import { createBacklogs } from '../../../src/deliveries/queue/backlog.ts'
import { endAttempt } from '../../../src/deliveries/queue/delivery.ts'
import { createLoadedDeliveries } from '../../../src/deliveries/queue/loaded-deliveries.ts'
import { type AttemptSlot, createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { deliveryOf } from '../../help/deliveries.ts'

const TROUBLE: Outcome = { kind: 'refused', status: 503 }
const HOUR = 3_600 * SECOND

/** Deliveries in memory over a real scheduler, with a clock that does not move. */
function play() {
  const scheduler = createScheduler()
  const backlogs = createBacklogs()
  const loaded = createLoadedDeliveries({ scheduler, backlogs, steadyUs: () => 0 })
  return {
    scheduler,
    loaded,
    backlog: () => backlogs.of(1),
    add(...ids: number[]) {
      for (const id of ids) loaded.add(deliveryOf({ id, callId: `call ${id}` }))
    },
    takeAll(): AttemptSlot[] {
      const taken: AttemptSlot[] = []
      for (let slot = scheduler.take(0); slot !== undefined; slot = scheduler.take(0)) taken.push(slot)
      return taken
    },
    /** Ends an attempt that failed, with a retry in an hour; its outcome is not recorded yet. */
    fail(slot: AttemptSlot) {
      scheduler.end(slot, TROUBLE, 0)
      endAttempt(slot.delivery, { state: 'pending', dueUs: HOUR })
      loaded.attemptEnded(slot.delivery)
    },
  }
}

/** Five deliveries whose failures have opened the circuit breaker; none is recorded yet. */
function playDown() {
  const game = play()
  game.add(1, 2, 3, 4, 5)
  const slots: AttemptSlot[] = []
  for (let taken = game.takeAll(); taken.length > 0; taken = game.takeAll())
    for (const slot of taken) {
      slots.push(slot)
      game.fail(slot)
    }
  expect(game.scheduler.queueOf(1).breaker.open).toBeDefined()
  return { ...game, slots }
}

test('a delivery that is delivered leaves memory when that is recorded', () => {
  const game = play()
  game.add(1)
  const [slot] = game.takeAll()
  if (slot === undefined) throw new Error('nothing was taken')
  game.scheduler.end(slot, { kind: 'delivered', status: 200 }, 0)
  endAttempt(slot.delivery, { state: 'delivered' })
  game.loaded.attemptEnded(slot.delivery)
  expect(game.loaded.countOf(1)).toBe(1)
  game.loaded.recorded(slot.delivery, false)
  expect([game.loaded.countOf(1), slot.delivery.phase]).toEqual([0, 'done'])
})

test('deliveries that failed as their webhook went down are sent when it is up, though not recorded until then', () => {
  const game = playDown()
  const test = game.scheduler.reserve(1, 0)
  if (test === undefined) throw new Error('no test request may begin')
  game.scheduler.endReserved(test, { kind: 'delivered', status: 200 }, 0)
  for (const { delivery } of game.slots) game.loaded.recorded(delivery, false)
  expect(game.slots.map(({ delivery }) => delivery.phase)).toEqual(Array.from({ length: 5 }, () => 'queued'))
})

test('a failed delivery is scheduled when it is recorded, and queued when its webhook goes down', () => {
  const game = play()
  game.add(1, 2, 3, 4, 5)
  const [first, ...others] = game.takeAll()
  if (first === undefined) throw new Error('nothing was taken')
  game.fail(first)
  game.loaded.recorded(first.delivery, false)
  expect(first.delivery.phase).toBe('scheduled')
  for (const slot of others) game.fail(slot)
  for (const slot of game.takeAll()) game.fail(slot)
  expect(first.delivery.phase).toBe('queued')
})

test('a superseded delivery leaves memory, and the store is read for it', () => {
  const game = play()
  game.add(1)
  const [slot] = game.takeAll()
  if (slot === undefined) throw new Error('nothing was taken')
  game.fail(slot)
  game.loaded.recorded(slot.delivery, true)
  expect([game.loaded.countOf(1), slot.delivery.phase]).toEqual([0, 'evicted'])
  expect(game.backlog().retryUs).toBe(0)
})

test('a webhook that goes down keeps 64 deliveries in memory; the others are found in the store again', () => {
  const game = play()
  game.add(...Array.from({ length: 200 }, (_, index) => index + 1))
  for (let failed = 0; failed < 5; ) {
    const slots = game.takeAll()
    failed += slots.length
    for (const slot of slots) game.fail(slot)
  }
  expect(game.scheduler.queueOf(1).size).toBe(64)
  expect(game.backlog()).toMatchObject({ hasMore: true })
  expect(game.backlog().cursor).toBeLessThan(200)
})

test('after a change by another process no delivery stays queued, and deliveries that are recorded then are not scheduled', () => {
  const game = play()
  game.add(1, 2)
  const [slot] = [game.scheduler.take(0)]
  if (slot === undefined) throw new Error('nothing was taken')
  game.fail(slot)
  game.loaded.refresh(1, { cancelledTo: 0, by: 'others' })
  game.loaded.refreshActive(() => 0)
  expect(game.scheduler.queueOf(1).size).toBe(0)
  game.loaded.recorded(slot.delivery, false)
  expect([game.loaded.countOf(1), slot.delivery.phase]).toEqual([0, 'evicted'])
  expect(game.backlog().retryUs).toBe(0)
})

test('a delivery is in memory once', () => {
  const game = play()
  game.add(1)
  expect(() => game.add(1)).toThrow('delivery 1 is in memory already')
})
