import { describe, expect, test } from 'bun:test'
import type { Outcome } from '../../../src/deliveries/policy/retry-policy.ts'
import { createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'
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
