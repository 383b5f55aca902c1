import { describe, expect, test } from 'bun:test'
import { type AttemptSlot, createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { deliveryOf } from '../../help/deliveries.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const DELIVERED: Outcome = { kind: 'delivered', status: 200 }
const TICK_US = 25 * MILLISECOND
/** The deliveries that wait for each webhook, each of a call of its own. */
const WAITING = 100

/** How a receiver answers the request that begins at a time, `undefined`: never. */
type Receiver = (nowUs: number) => { readonly tookUs: number; readonly outcome?: Outcome } | undefined

/** Webhooks for which deliveries always wait, unless `waiting` says how many there are, and simulated receivers. */
function play(receivers: readonly Receiver[], waiting = Number.POSITIVE_INFINITY) {
  const scheduler = createScheduler()
  const answers: { readonly atUs: number; readonly slot: AttemptSlot; readonly outcome: Outcome }[] = []
  const inFlight = receivers.map(() => 0)
  const delivered = receivers.map(() => 0)
  let [nowUs, nextId, peak] = [0, 1, 0]

  function fill(): void {
    for (const [webhookId] of receivers.entries())
      while (nextId <= waiting && scheduler.queueOf(webhookId).size < WAITING) {
        scheduler.add(deliveryOf({ id: nextId, callId: `call ${nextId}`, webhookId }), nowUs)
        nextId += 1
      }
  }
  function begin(): void {
    fill()
    for (let slot = scheduler.take(nowUs); slot !== undefined; slot = scheduler.take(nowUs)) {
      const { webhookId } = slot.delivery
      inFlight[webhookId] = (inFlight[webhookId] ?? 0) + 1
      peak = Math.max(peak, inFlight[webhookId] ?? 0)
      const answer = receivers[webhookId]?.(nowUs)
      if (answer !== undefined)
        answers.push({ atUs: nowUs + answer.tookUs, slot, outcome: answer.outcome ?? DELIVERED })
      fill()
    }
  }
  function end({ slot, outcome }: (typeof answers)[number]): void {
    const { webhookId } = slot.delivery
    inFlight[webhookId] = (inFlight[webhookId] ?? 0) - 1
    if (outcome.kind === 'delivered') delivered[webhookId] = (delivered[webhookId] ?? 0) + 1
    scheduler.end(slot, outcome, nowUs)
    if (outcome.kind !== 'delivered') expect(scheduler.queueOf(webhookId).extraWindow.extra).toBe(0)
    scheduler.release(slot.delivery, nowUs)
  }
  return {
    delivered,
    inFlight,
    /** Returns how many more may be in flight than the circuit breaker of a webhook allows. */
    extra: (webhookId = 0) => scheduler.queueOf(webhookId).extraWindow.extra,
    reserve: (webhookId = 0) => scheduler.reserve(webhookId, nowUs),
    /** Returns the most requests to one webhook since it was asked last. */
    takePeak(): number {
      const most = peak
      peak = Math.max(...inFlight)
      return most
    },
    /** Lets time pass in which this process does not run: answers that arrive meanwhile wait for it. */
    stall(forUs: number, isTickFirst: boolean): void {
      nowUs += forUs
      if (isTickFirst) scheduler.tick(nowUs)
      for (const answer of answers.splice(0))
        if (answer.atUs <= nowUs) end(answer)
        else answers.push(answer)
      scheduler.tick(nowUs)
    },
    run(forUs: number): void {
      const endUs = nowUs + forUs
      let tickUs = nowUs + TICK_US
      for (begin(); nowUs < endUs; begin()) {
        answers.sort((one, other) => one.atUs - other.atUs)
        nowUs = Math.min(endUs, tickUs, answers[0]?.atUs ?? endUs)
        while (answers[0] !== undefined && answers[0].atUs <= nowUs) end(answers.shift() ?? expect.unreachable())
        if (nowUs < tickUs) continue
        tickUs += TICK_US
        scheduler.tick(nowUs)
      }
    },
  }
}

const after =
  (ms: number): Receiver =>
  () => ({ tookUs: ms * MILLISECOND })

describe('a healthy webhook', () => {
  test.each([100, 500])('gets 64 at a time while more wait, if its answers take %i ms: four times as much', (ms) => {
    const game = play([after(ms)])
    game.run(10 * SECOND)
    expect(game.takePeak()).toBe(64)
    const before = game.delivered[0] ?? 0
    game.run(10 * SECOND)
    expect((game.delivered[0] ?? 0) - before).toBeGreaterThanOrEqual((4 * 16 * 10_000 * 0.95) / ms)
  })

  test('gets 16 at a time if its answers take a few milliseconds', () => {
    const game = play([after(5)])
    game.run(2 * SECOND)
    expect(game.takePeak()).toBe(16)
  })

  test('gets 16 at a time again as soon as nothing waits', () => {
    const game = play([after(100)], 2_000)
    game.run(60 * SECOND)
    expect([game.delivered[0], game.extra()]).toEqual([2_000, 0])
  })

  test('has its tests sent while 64 deliveries are in flight', () => {
    const game = play([after(100)])
    game.run(5 * SECOND - 1)
    const slot = game.reserve()
    expect([game.takePeak(), slot === undefined]).toEqual([64, game.inFlight[0] === 64])
  })
})

describe('a webhook with 64 at a time has 16 again', () => {
  /** Changes the receiver after 5 s. */
  const changed =
    (later: Receiver): Receiver =>
    (nowUs) =>
      nowUs < 5 * SECOND ? after(100)(nowUs) : later(nowUs)

  test.each<[string, Receiver]>([
    ['its answers take three times as long', after(300)],
    ['its answers take ten seconds', after(10_000)],
    ['it does not answer any more', () => undefined],
    ['an answer is an error', () => ({ tookUs: 100 * MILLISECOND, outcome: { kind: 'refused', status: 404 } })],
    ['it is overloaded', () => ({ tookUs: 100 * MILLISECOND, outcome: { kind: 'refused', status: 503 } })],
  ])('within a second when %s', (_, later) => {
    const game = play([changed(later)])
    game.run(5 * SECOND)
    expect([game.extra(), game.takePeak()]).toEqual([48, 64])
    game.run(SECOND)
    expect(game.extra()).toBe(0)
    // Those that were in flight are still answered, or not.
    game.run(10 * SECOND)
    game.takePeak()
    game.run(10 * SECOND)
    expect(game.inFlight[0]).toBeLessThanOrEqual(later(0) === undefined ? 64 : 16)
  })

  test('and gets more again when it has been well for half a minute', () => {
    const slowFor = (nowUs: number) => nowUs > 5 * SECOND && nowUs < 6 * SECOND
    const game = play([(nowUs) => after(slowFor(nowUs) ? 400 : 100)(nowUs)])
    game.run(7 * SECOND)
    game.takePeak()
    game.run(20 * SECOND)
    expect(game.takePeak()).toBeLessThanOrEqual(16)
    game.run(20 * SECOND)
    expect(game.takePeak()).toBe(64)
  })
})

describe('a stall of this process', () => {
  test.each([
    ['before its answers are read', true],
    ['after its answers are read', false],
  ])('makes no receiver look slow: 64 stay in flight, if the clock ticks %s', (_, isTickFirst) => {
    const game = play([after(100)])
    game.run(5 * SECOND)
    for (const ms of [150, 300, 1_000, 5_000]) {
      game.stall(ms * MILLISECOND, isTickFirst)
      expect(game.extra()).toBe(48)
      game.run(SECOND)
      expect(game.extra()).toBe(48)
    }
  })

  test('hides no receiver that hangs', () => {
    const game = play([(nowUs) => (nowUs < 5 * SECOND ? after(100)(nowUs) : undefined)])
    game.run(5 * SECOND)
    game.stall(300 * MILLISECOND, true)
    game.run(SECOND)
    expect(game.extra()).toBe(0)
  })
})

test('receivers with 64 at a time that hang leave half of the capacity to others', () => {
  const hanging = Array.from(
    { length: 40 },
    (): Receiver => (nowUs) => (nowUs < 5 * SECOND ? after(200)(nowUs) : undefined),
  )
  const game = play([...hanging, after(30)])
  game.run(5 * SECOND)
  game.run(2 * SECOND)
  const before = game.delivered.at(-1) ?? 0
  game.run(SECOND)
  expect((game.delivered.at(-1) ?? 0) - before).toBeGreaterThan(100)
})

test('never more than 64 at a time, and no more than 16 may begin after an answer that is not fine', () => {
  for (const seed of seedsOf(1, 60))
    playCase(seed, (random) => {
      const usualMs = 1 + random.int(400)
      const spreadMs = 1 + random.int(usualMs * 2)
      const badShare = random.chance(0.5) ? 0 : random.next() / 20
      const receiver: Receiver = () => {
        if (random.chance(badShare / 20)) return undefined
        const outcome: Outcome = random.chance(badShare) ? { kind: 'refused', status: 404 } : DELIVERED
        return { tookUs: (usualMs + random.int(spreadMs)) * MILLISECOND, outcome }
      }
      const game = play([receiver, after(50)])
      game.run((1 + random.int(20)) * SECOND)
      expect(game.takePeak()).toBeLessThanOrEqual(64)
    })
})
