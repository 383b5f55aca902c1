import { expect, test } from 'bun:test'
import { endAttempt, finishRecording, type LoadedDelivery } from '../../../src/deliveries/queue/delivery.ts'
import { type AttemptSlot, createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { deliveryOf } from '../../help/deliveries.ts'

const DELIVERED: Outcome = { kind: 'delivered', status: 200 }
const TIMEOUT: Outcome = { kind: 'unreachable', reason: 'no answer within 10 s' }
const REFUSED: Outcome = { kind: 'refused', status: 400 }

const delivery = (id: number, callId: string, webhookId = 1, dueUs?: number) =>
  deliveryOf({ id, callId, webhookId, dueSteadyUs: dueUs })

/** A scheduler with a clock. */
function play(...deliveries: LoadedDelivery[]) {
  const scheduler = createScheduler()
  let nowUs = 0
  const published: string[] = []
  scheduler.subscribe((_, change) => void published.push(change))
  for (const one of deliveries) scheduler.add(one, nowUs)
  return {
    scheduler,
    published,
    add: (one: LoadedDelivery) => scheduler.add(one, nowUs),
    take: () => scheduler.take(nowUs),
    takeAll(): AttemptSlot[] {
      const taken: AttemptSlot[] = []
      for (let slot = scheduler.take(nowUs); slot !== undefined; slot = scheduler.take(nowUs)) taken.push(slot)
      return taken
    },
    /** Ends an attempt; returns whether that opened or closed the circuit breaker. */
    end(slot: AttemptSlot | undefined, outcome: Outcome = DELIVERED, requeue = false) {
      if (slot === undefined) throw new Error('nothing was taken')
      const before = published.length
      scheduler.end(slot, outcome, nowUs)
      if (requeue) {
        endAttempt(slot.delivery, { state: 'pending', dueUs: nowUs })
        finishRecording(slot.delivery, { superseded: false, webhookDown: true, maySchedule: true })
        scheduler.add(slot.delivery, nowUs)
      }
      scheduler.release(slot.delivery, nowUs)
      return published[before]
    },
    pass(us: number) {
      nowUs += us
      scheduler.tick(nowUs)
    },
  }
}
const ids = (slots: readonly AttemptSlot[]) => slots.map(({ delivery: { id } }) => id)

test('the events of one call go one at a time, the lowest first', () => {
  const game = play(delivery(2, 'a'), delivery(1, 'a'), delivery(3, 'a'))
  const first = game.take()
  expect(first?.delivery.id).toBe(1)
  expect(game.take()).toBeUndefined()
  game.end(first)
  expect(ids(game.takeAll())).toEqual([2])
})

test('calls take turns, and none waits for another', () => {
  const game = play(delivery(1, 'a'), delivery(2, 'a'), delivery(3, 'b'), delivery(4, 'c'))
  expect(ids(game.takeAll())).toEqual([1, 3, 4])
})

test('first attempts go before retries of other calls', () => {
  const game = play(delivery(1, 'a', 1, 5), delivery(2, 'b', 1, 5), delivery(3, 'c'))
  expect(game.take()?.delivery.id).toBe(3)
})

test('a retry goes before the first attempts of its own call that come after it', () => {
  const game = play(delivery(1, 'a', 1, 5), delivery(2, 'a'))
  expect(game.take()?.delivery.id).toBe(1)
})

test('a webhook that is new gets 4 at a time, and 16 once it has answered', () => {
  const game = play(...Array.from({ length: 100 }, (_, n) => delivery(n + 1, `call ${n}`)))
  let under = game.takeAll()
  expect(under).toHaveLength(4)
  for (let round = 0; round < 4; round += 1) {
    for (const slot of under) game.end(slot)
    under = game.takeAll()
  }
  expect(under).toHaveLength(16)
})

test('webhooks take turns', () => {
  const game = play(
    delivery(1, 'a', 1),
    delivery(2, 'b', 1),
    delivery(3, 'c', 1),
    delivery(4, 'd', 2),
    delivery(5, 'e', 3),
  )
  expect(ids(game.takeAll()).slice(0, 3)).toEqual([1, 4, 5])
})

/** Fails five in a row, and leaves the webhook down with `waiting` calls. */
function downGame(...waiting: LoadedDelivery[]) {
  const game = play(...Array.from({ length: 5 }, (_, n) => delivery(n + 1, `failed ${n}`)))
  const changes: unknown[] = []
  for (let slot = game.take(); slot !== undefined; slot = game.take()) changes.push(game.end(slot, TIMEOUT))
  for (const one of waiting) game.add(one)
  return { ...game, changes }
}

test('the fifth trouble in a row takes a webhook down', () => {
  expect(downGame().changes).toEqual([undefined, undefined, undefined, undefined, 'opened'])
})

test('a webhook that is down gets one probe after 1 s, then 2 s, 4 s … and never waits more than 60 s', () => {
  const game = downGame(delivery(10, 'a'), delivery(11, 'b'))
  expect(game.take()).toBeUndefined()
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    game.pass(seconds * SECOND - 1)
    expect(game.take()).toBeUndefined()
    game.pass(1)
    const probe = game.take()
    expect(probe?.probe).toBe(true)
    expect(game.take()).toBeUndefined()
    game.end(probe, TIMEOUT, true)
  }
})

const ASKS: Outcome = { kind: 'refused', status: 503, retryAfterMs: 30_000 }

test('a webhook that is down is not probed before the time that its receiver asks for, an hour at most', () => {
  const game = downGame(delivery(10, 'a'))
  game.pass(SECOND)
  game.end(game.take(), ASKS, true)
  game.pass(30 * SECOND - 1)
  expect(game.take()).toBeUndefined()
  game.pass(1)
  game.end(game.take(), { ...ASKS, retryAfterMs: 86_400_000 }, true)
  game.pass(3_600 * SECOND - 1)
  expect(game.take()).toBeUndefined()
  game.pass(1)
  expect(game.take()?.probe).toBe(true)
})

test('the answer that takes a webhook down decides when it is probed first', () => {
  const game = play(...Array.from({ length: 5 }, (_, n) => delivery(n + 1, `failed ${n}`)))
  for (let slot = game.take(); slot !== undefined; slot = game.take()) game.end(slot, ASKS, true)
  game.pass(30 * SECOND - 1)
  expect(game.take()).toBeUndefined()
  game.pass(1)
  expect(game.take()?.probe).toBe(true)
})

test('a retry by hand is at once the next probe of a webhook that is down', () => {
  const [a, b, c] = [delivery(10, 'a', 1, 5), delivery(11, 'b', 1, 5), delivery(12, 'c', 1, 5)]
  const game = downGame(a, b, c)
  game.scheduler.prioritize(c, 0)
  const probe = game.take()
  expect([probe?.delivery.id, probe?.probe]).toEqual([12, true])
  game.scheduler.prioritize(b, 0)
  expect(game.take()).toBeUndefined()
  game.end(probe, TIMEOUT, true)
  const second = game.take()
  expect(second?.delivery.id).toBe(11)
  game.end(second, TIMEOUT, true)
  expect(game.take()).toBeUndefined()
})

test('an untried delivery goes before a retry by hand of the same call', () => {
  const [first, second, asked] = [delivery(10, 'a'), delivery(11, 'a'), delivery(12, 'a', 1, 5)]
  const game = downGame(first, second, asked)
  game.scheduler.prioritize(asked, 0)
  expect(game.take()?.delivery.id).toBe(10)
})

test('a retry by hand that is dropped meanwhile does not make another delivery a probe', () => {
  const [a, b] = [delivery(10, 'a', 1, 5), delivery(11, 'b', 1, 5)]
  const game = downGame(a, b)
  game.scheduler.prioritize(a, 0)
  game.scheduler.queueOf(1).remove((one) => one === a)
  expect(game.take()).toBeUndefined()
})

test('a request that is no delivery may begin beyond the window, but within the 16, and precedes deliveries', () => {
  const game = play(...Array.from({ length: 30 }, (_, n) => delivery(n + 1, `call ${n}`)))
  expect(game.takeAll()).toHaveLength(4)
  const slots = Array.from({ length: 14 }, () => game.scheduler.reserve(1, 0))
  expect(slots.filter((slot) => slot !== undefined)).toHaveLength(12)
  expect(game.scheduler.inFlight).toBe(16)
  expect(game.take()).toBeUndefined()
})

test('only the success of a request that is no delivery counts for the webhook', () => {
  const game = downGame(delivery(10, 'a'))
  const ask = (outcome: Outcome) => {
    const slot = game.scheduler.reserve(1, 0)
    if (slot === undefined) return 'none may begin'
    const before = game.published.length
    game.scheduler.endReserved(slot, outcome, 0)
    return game.published[before]
  }
  expect([TIMEOUT, REFUSED, DELIVERED].map(ask)).toEqual([undefined, undefined, 'closed'])
  expect(game.take()?.probe).toBe(false)
})

test('each probe takes the head of the next waiting call', () => {
  const game = downGame(delivery(10, 'a'), delivery(11, 'b'), delivery(12, 'c'), delivery(13, 'a'))
  const probed: number[] = []
  for (let round = 0; round < 4; round += 1) {
    game.pass(60 * SECOND)
    const probe = game.take()
    probed.push(probe?.delivery.id ?? 0)
    game.end(probe, TIMEOUT, true)
  }
  expect(probed).toEqual([10, 11, 12, 10])
})

test('the first success brings it back, and what waits is ramped up', () => {
  const waiting = Array.from({ length: 40 }, (_, n) => delivery(n + 10, `call ${n}`))
  const game = downGame(...waiting)
  game.pass(SECOND)
  expect(game.end(game.take())).toBe('closed')
  const sizes: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const under = game.takeAll()
    sizes.push(under.length)
    for (const slot of under) game.end(slot)
  }
  expect(sizes).toEqual([1, 2, 4, 8, 16])
})

test('an answer other than 429 and 5xx brings it back too', () => {
  const game = downGame(delivery(10, 'a'))
  game.pass(SECOND)
  expect(game.end(game.take(), REFUSED)).toBe('closed')
})

test('a hundred webhooks that hang leave the good ones their share', () => {
  const game = play()
  for (let webhook = 1; webhook <= 200; webhook += 1)
    for (let n = 0; n < 16; n += 1) game.add(delivery(webhook * 1_000 + n, `${webhook} ${n}`, webhook))
  for (let round = 0; round < 100; round += 1) {
    game.takeAll()
    game.pass(60 * MILLISECOND)
  }
  expect(game.scheduler.inFlight).toBeLessThanOrEqual(960)
  game.add(delivery(1, 'well', 999))
  expect(game.takeAll().map(({ delivery: { webhookId } }) => webhookId)).toContain(999)
})

test('at most 1,024 attempts are in flight, and at most 64 of them began lately', () => {
  const game = play()
  const learn = (webhook: number) => {
    for (let n = 0; n < 12; n += 1) {
      game.add(delivery(webhook * 1_000 + n, `${n}`, webhook))
      game.end(game.take())
    }
  }
  for (let webhook = 1; webhook <= 100; webhook += 1) learn(webhook)
  for (let webhook = 1; webhook <= 100; webhook += 1)
    for (let n = 20; n < 40; n += 1) game.add(delivery(webhook * 1_000 + n, `${n}`, webhook))
  expect(game.takeAll()).toHaveLength(64)
  for (let round = 0; round < 100; round += 1) {
    game.pass(60 * MILLISECOND)
    game.takeAll()
  }
  expect(game.scheduler.inFlight).toBeLessThanOrEqual(1_024)
  expect(game.scheduler.inFlight).toBeGreaterThan(900)
})

test('a webhook that is new is sent, however much waits for those that answer', () => {
  let nextId = 1
  const game = play()
  const fill = () => {
    for (let webhookId = 1; webhookId <= 6; webhookId += 1)
      while (game.scheduler.queueOf(webhookId).size < 20) game.add(delivery(nextId++, `call ${nextId}`, webhookId))
  }
  fill()
  const slots = game.takeAll()
  for (let round = 0; round < 300; round += 1) {
    if (round === 200) game.add(delivery(nextId++, 'new', 7))
    game.end(slots.shift())
    fill()
    slots.push(...game.takeAll())
  }
  expect(slots.length).toBeGreaterThanOrEqual(64)
  expect(game.scheduler.queueOf(7).size).toBe(0)
})

test('after an error of this program nothing begins for its webhook for a second, others go on', () => {
  const game = play(delivery(1, 'a', 1), delivery(2, 'b', 1), delivery(3, 'c', 2))
  const slot = game.take()
  if (slot === undefined) throw new Error('nothing was taken')
  game.scheduler.interrupt(slot, 0)
  game.scheduler.interrupt(slot, 0)
  expect([slot.phase, game.scheduler.inFlight]).toEqual(['ended', 0])
  expect(ids(game.takeAll())).toEqual([3])
  game.pass(SECOND - 1)
  expect(game.takeAll()).toEqual([])
  game.pass(1)
  expect(ids(game.takeAll())).toEqual([2])
})
