import { expect, test } from 'bun:test'
import { createLanes, type Flight } from '../../../src/deliveries/queue/scheduler.ts'
import type { Item } from '../../../src/deliveries/queue/webhook-queue.ts'
import type { Outcome } from '../../../src/deliveries/retry-policy.ts'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'

const DELIVERED: Outcome = { kind: 'delivered', status: 200 }
const TIMEOUT: Outcome = { kind: 'unreachable', reason: 'no answer within 10 s' }
const REFUSED: Outcome = { kind: 'refused', status: 400 }

function item(id: number, callId: string, webhookId = 1, dueUs?: number): Item {
  const rest = {
    accountId: 1,
    generation: 1,
    event: 'call_started' as const,
    uuid: String(id),
    body: '{}',
    atUs: 0,
    sinceUs: 0,
    tries: 0,
    attemptsMade: 0,
  }
  return { id, webhookId, callId, dueUs, unrecorded: 0, leaving: false, ...rest }
}

/** Lanes with a clock, and words for what is done to them. */
function play(...items: Item[]) {
  const lanes = createLanes()
  let nowUs = 0
  for (const one of items) lanes.add(one, nowUs)
  return {
    lanes,
    add: (one: Item) => lanes.add(one, nowUs),
    take: () => lanes.take(nowUs),
    takeAll(): Flight[] {
      const taken: Flight[] = []
      for (let flight = lanes.take(nowUs); flight !== undefined; flight = lanes.take(nowUs)) taken.push(flight)
      return taken
    },
    end(flight: Flight | undefined, outcome: Outcome = DELIVERED, keep = false) {
      if (flight === undefined) throw new Error('nothing was taken')
      const change = lanes.ended(flight, outcome, nowUs)
      if (keep) lanes.add(flight.item, nowUs)
      lanes.release(flight, nowUs)
      return change
    },
    pass(us: number) {
      nowUs += us
      lanes.tick(nowUs)
      lanes.wake(nowUs)
    },
  }
}
const ids = (flights: readonly Flight[]) => flights.map(({ item: { id } }) => id)

test('the events of one call go one at a time, the lowest first', () => {
  const game = play(item(2, 'a'), item(1, 'a'), item(3, 'a'))
  const first = game.take()
  expect(first?.item.id).toBe(1)
  expect(game.take()).toBeUndefined()
  game.end(first)
  expect(ids(game.takeAll())).toEqual([2])
})

test('calls take turns, and none waits for another', () => {
  const game = play(item(1, 'a'), item(2, 'a'), item(3, 'b'), item(4, 'c'))
  expect(ids(game.takeAll())).toEqual([1, 3, 4])
})

test('first attempts go before retries of other calls', () => {
  const game = play(item(1, 'a', 1, 5), item(2, 'b', 1, 5), item(3, 'c'))
  expect(game.take()?.item.id).toBe(3)
})

test('a retry goes before the first attempts of its own call that come after it', () => {
  const game = play(item(1, 'a', 1, 5), item(2, 'a'))
  expect(game.take()?.item.id).toBe(1)
})

test('a webhook that is new gets 4 at a time, and 16 once it has answered', () => {
  const game = play(...Array.from({ length: 100 }, (_, n) => item(n + 1, `call ${n}`)))
  let under = game.takeAll()
  expect(under).toHaveLength(4)
  for (let round = 0; round < 4; round += 1) {
    for (const flight of under) game.end(flight)
    under = game.takeAll()
  }
  expect(under).toHaveLength(16)
})

test('webhooks take turns', () => {
  const game = play(item(1, 'a', 1), item(2, 'b', 1), item(3, 'c', 1), item(4, 'd', 2), item(5, 'e', 3))
  expect(ids(game.takeAll()).slice(0, 3)).toEqual([1, 4, 5])
})

/** Fails five in a row, and leaves the webhook down with `waiting` calls. */
function downGame(...waiting: Item[]) {
  const game = play(...Array.from({ length: 5 }, (_, n) => item(n + 1, `failed ${n}`)))
  const changes: unknown[] = []
  for (let flight = game.take(); flight !== undefined; flight = game.take()) changes.push(game.end(flight, TIMEOUT))
  for (const one of waiting) game.add(one)
  return { ...game, changes }
}

test('the fifth trouble in a row takes a webhook down', () => {
  expect(downGame().changes).toEqual([undefined, undefined, undefined, undefined, 'went down'])
})

test('a webhook that is down gets one probe after 1 s, then 2 s, 4 s … and never waits more than 60 s', () => {
  const game = downGame(item(10, 'a'), item(11, 'b'))
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
  const game = downGame(item(10, 'a'))
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

test('the answer that takes a webhook down says when it is probed first', () => {
  const game = play(...Array.from({ length: 5 }, (_, n) => item(n + 1, `failed ${n}`)))
  for (let flight = game.take(); flight !== undefined; flight = game.take()) game.end(flight, ASKS, true)
  game.pass(30 * SECOND - 1)
  expect(game.take()).toBeUndefined()
  game.pass(1)
  expect(game.take()?.probe).toBe(true)
})

test('what is asked for by hand is the next probe of a webhook that is down, at once', () => {
  const [a, b, c] = [item(10, 'a', 1, 5), item(11, 'b', 1, 5), item(12, 'c', 1, 5)]
  const game = downGame(a, b, c)
  game.lanes.urge(c, 0)
  const probe = game.take()
  expect([probe?.item.id, probe?.probe]).toEqual([12, true])
  game.lanes.urge(b, 0)
  expect(game.take()).toBeUndefined()
  game.end(probe, TIMEOUT, true)
  const second = game.take()
  expect(second?.item.id).toBe(11)
  game.end(second, TIMEOUT, true)
  expect(game.take()).toBeUndefined()
})

test('what was never tried goes before what is asked for of the same call', () => {
  const [first, second, asked] = [item(10, 'a'), item(11, 'a'), item(12, 'a', 1, 5)]
  const game = downGame(first, second, asked)
  game.lanes.urge(asked, 0)
  expect(game.take()?.item.id).toBe(10)
})

test('what is asked for and dropped meanwhile makes no probe of another', () => {
  const [a, b] = [item(10, 'a', 1, 5), item(11, 'b', 1, 5)]
  const game = downGame(a, b)
  game.lanes.urge(a, 0)
  game.lanes.line(1).drop((one) => one === a)
  expect(game.take()).toBeUndefined()
})

test('a request that is no delivery has room beyond the window, but within the 16, and deliveries wait for it', () => {
  const game = play(...Array.from({ length: 30 }, (_, n) => item(n + 1, `call ${n}`)))
  expect(game.takeAll()).toHaveLength(4)
  const slots = Array.from({ length: 14 }, () => game.lanes.reserve(1, 0))
  expect(slots.filter((slot) => slot !== undefined)).toHaveLength(12)
  expect(game.lanes.inFlight).toBe(16)
  expect(game.take()).toBeUndefined()
})

test('only the success of a request that is no delivery says something of the webhook', () => {
  const game = downGame(item(10, 'a'))
  const ask = (outcome: Outcome) => {
    const slot = game.lanes.reserve(1, 0)
    return slot === undefined ? 'no room' : game.lanes.yield(slot, outcome, 0)
  }
  expect([TIMEOUT, REFUSED, DELIVERED].map(ask)).toEqual([undefined, undefined, 'came back'])
  expect(game.take()?.probe).toBe(false)
})

test('each probe takes the head of the next waiting call', () => {
  const game = downGame(item(10, 'a'), item(11, 'b'), item(12, 'c'), item(13, 'a'))
  const probed: number[] = []
  for (let round = 0; round < 4; round += 1) {
    game.pass(60 * SECOND)
    const probe = game.take()
    probed.push(probe?.item.id ?? 0)
    game.end(probe, TIMEOUT, true)
  }
  expect(probed).toEqual([10, 11, 12, 10])
})

test('the first success brings it back, and what waits is ramped up', () => {
  const waiting = Array.from({ length: 40 }, (_, n) => item(n + 10, `call ${n}`))
  const game = downGame(...waiting)
  game.pass(SECOND)
  expect(game.end(game.take())).toBe('came back')
  const sizes: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const under = game.takeAll()
    sizes.push(under.length)
    for (const flight of under) game.end(flight)
  }
  expect(sizes).toEqual([1, 2, 4, 8, 16])
})

test('an answer other than 429 and 5xx brings it back too', () => {
  const game = downGame(item(10, 'a'))
  game.pass(SECOND)
  expect(game.end(game.take(), REFUSED)).toBe('came back')
})

test('a hundred that hang leave the well ones their room', () => {
  const game = play()
  for (let webhook = 1; webhook <= 200; webhook += 1)
    for (let n = 0; n < 16; n += 1) game.add(item(webhook * 1_000 + n, `${webhook} ${n}`, webhook))
  for (let round = 0; round < 100; round += 1) {
    game.takeAll()
    game.pass(60 * MILLISECOND)
  }
  expect(game.lanes.inFlight).toBeLessThanOrEqual(960)
  game.add(item(1, 'well', 999))
  expect(game.takeAll().map(({ item: { webhookId } }) => webhookId)).toContain(999)
})

test('no more than 1,024 are under way, and no more than 64 of them began lately', () => {
  const game = play()
  const learn = (webhook: number) => {
    for (let n = 0; n < 12; n += 1) {
      game.add(item(webhook * 1_000 + n, `${n}`, webhook))
      game.end(game.take())
    }
  }
  for (let webhook = 1; webhook <= 100; webhook += 1) learn(webhook)
  for (let webhook = 1; webhook <= 100; webhook += 1)
    for (let n = 20; n < 40; n += 1) game.add(item(webhook * 1_000 + n, `${n}`, webhook))
  expect(game.takeAll()).toHaveLength(64)
  for (let round = 0; round < 100; round += 1) {
    game.pass(60 * MILLISECOND)
    game.takeAll()
  }
  expect(game.lanes.inFlight).toBeLessThanOrEqual(1_024)
  expect(game.lanes.inFlight).toBeGreaterThan(900)
})

test('a webhook that is new is sent, however much waits for those that answer', () => {
  let nextId = 1
  const game = play()
  const fill = () => {
    for (let webhookId = 1; webhookId <= 6; webhookId += 1)
      while (game.lanes.line(webhookId).waiting < 20) game.add(item(nextId++, `call ${nextId}`, webhookId))
  }
  fill()
  const flights = game.takeAll()
  for (let round = 0; round < 300; round += 1) {
    if (round === 200) game.add(item(nextId++, 'new', 7))
    game.end(flights.shift())
    fill()
    flights.push(...game.takeAll())
  }
  expect(flights.length).toBeGreaterThanOrEqual(64)
  expect(game.lanes.line(7).waiting).toBe(0)
})
