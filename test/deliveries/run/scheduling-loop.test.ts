import { expect, test } from 'bun:test'
import { type AttemptSlot, createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { createSchedulingLoop } from '../../../src/deliveries/run/scheduling-loop.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { deliveryOf } from '../../help/deliveries.ts'

const DELIVERED: Outcome = { kind: 'delivered', status: 200 }
const nothing = () => {}

/** A loop over a real scheduler, with a clock that only the test moves. */
function play() {
  const scheduler = createScheduler()
  const state = { nowUs: 0, isFull: false, isTrusted: true, isBehind: false, refills: 0, reserved: 0 }
  const sent: AttemptSlot[] = []
  const logged: unknown[] = []
  let lastId = 0
  const loop = createSchedulingLoop({
    scheduler,
    loader: {
      refill() {
        state.refills += 1
      },
      tick: nothing,
    },
    send: (slot) => void sent.push(slot),
    guard: (work) => work,
    reservations: {
      beginPending() {
        state.reserved += 1
      },
    },
    outcomes: { isFull: () => state.isFull },
    ownership: { isTrusted: () => state.isTrusted },
    isIntakeBehind: () => state.isBehind,
    clock: { steadyUs: () => state.nowUs, check: nothing },
    log: {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (...given: unknown[]) => void logged.push(given.at(-1)),
    },
  })
  return {
    ...loop,
    scheduler,
    state,
    sent,
    logged,
    /** Queues a delivery for each of these webhooks, each of a new call. */
    add(...webhookIds: number[]) {
      for (const webhookId of webhookIds) {
        lastId += 1
        const id = lastId
        scheduler.add(deliveryOf({ id, webhookId, callId: `call ${id}` }), state.nowUs)
      }
    },
    end(slot: AttemptSlot | undefined) {
      if (slot === undefined) throw new Error('nothing was sent')
      scheduler.end(slot, DELIVERED, state.nowUs)
      scheduler.release(slot.delivery, state.nowUs)
      loop.run()
    },
  }
}
const webhooks = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test('all attempts begin that may begin, after the loader and the requests that precede them', () => {
  const game = play()
  game.add(1, 1, 2)
  game.run()
  expect(game.sent).toHaveLength(3)
  expect([game.state.refills, game.state.reserved]).toEqual([1, 1])
})

test('no attempt begins while outcomes cannot be recorded, and those left begin when they can', () => {
  const game = play()
  game.add(1, 2)
  game.state.isFull = true
  game.run()
  expect(game.sent).toHaveLength(0)
  expect(game.state.refills).toBe(0)
  game.state.isFull = false
  game.run()
  expect(game.sent).toHaveLength(2)
})

test('no attempt begins while the ownership of accounts is in doubt', () => {
  const game = play()
  game.add(1)
  game.state.isTrusted = false
  game.run()
  expect(game.sent).toHaveLength(0)
  game.state.isTrusted = true
  game.tick()
  expect(game.sent).toHaveLength(1)
})

test('while signals are behind 4 attempts are in flight at most', () => {
  const game = play()
  game.add(...webhooks(10))
  game.state.isBehind = true
  game.run()
  expect(game.sent).toHaveLength(4)
  game.end(game.sent[0])
  expect(game.sent).toHaveLength(5)
  game.state.isBehind = false
  game.tick()
  expect(game.sent).toHaveLength(10)
})

test('after an attempt that this machine could not send none begins for a second', () => {
  const game = play()
  game.add(1)
  game.pause('no file descriptor')
  game.run()
  game.state.nowUs = SECOND - 1
  game.tick()
  expect(game.sent).toHaveLength(0)
  game.state.nowUs = SECOND
  game.tick()
  expect(game.sent).toHaveLength(1)
})

test('a pause is logged once a minute', () => {
  const game = play()
  for (const seconds of [0, 1, 30, 59]) {
    game.state.nowUs = seconds * SECOND
    game.pause('no file descriptor')
  }
  expect(game.logged).toHaveLength(1)
  game.state.nowUs = 60 * SECOND
  game.pause('no file descriptor')
  expect(game.logged).toHaveLength(2)
})

test('an attempt that ends while others begin begins no second loop', () => {
  const game = play()
  game.add(1)
  const begun: number[] = []
  const scheduler = createScheduler()
  const loop = createSchedulingLoop({
    scheduler,
    loader: { refill: () => void begun.push(0), tick: nothing },
    send(slot) {
      begun.push(slot.delivery.id)
      loop.run()
    },
    guard: (work) => work,
    reservations: { beginPending: nothing },
    outcomes: { isFull: () => false },
    ownership: { isTrusted: () => true },
    clock: { steadyUs: () => 0, check: nothing },
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  })
  for (const id of [1, 2, 3]) scheduler.add(deliveryOf({ id, webhookId: id }), 0)
  loop.run()
  expect(begun).toEqual([0, 1, 2, 3])
})

test('several loads in one turn of the event loop begin attempts once', async () => {
  const game = play()
  game.runSoon()
  game.runSoon()
  expect(game.state.refills).toBe(0)
  await new Promise((resolve) => void setImmediate(resolve))
  expect(game.state.refills).toBe(1)
})

test('draining begins nothing more, and ends with the last attempt in flight', async () => {
  const game = play()
  game.add(1, 2)
  game.run()
  game.add(3)
  let drained = false
  const draining = game.drain().then(() => {
    drained = true
  })
  game.end(game.sent[0])
  await Promise.resolve()
  expect([drained, game.sent.length]).toEqual([false, 2])
  game.end(game.sent[1])
  await draining
  expect(game.sent).toHaveLength(2)
})

test('draining with nothing in flight ends at once', async () => {
  await play().drain()
})
