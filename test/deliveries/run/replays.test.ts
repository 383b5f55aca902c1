import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createReplayFilter, createReplayService } from '../../../src/deliveries/log/replay-service.ts'
import { startReplayFeeder } from '../../../src/deliveries/run/replay-feeder.ts'
import { rfc3339, SECOND } from '../../../src/lib/time.ts'
import { NO_FACTS } from '../../../src/store/subscription.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { startTaking, type Taking, until } from '../../help/receiver.ts'
import { storeEvents } from '../../help/store.ts'
import { ACCOUNT, LOG, listed, newRig } from './rig.ts'

// Past events that are sent to a webhook, from a real store to a real receiver.

const open: (AsyncDisposable | Disposable)[] = []
let old: Taking
let late: Taking
beforeEach(() => {
  old = startTaking()
  late = startTaking()
})
afterEach(async () => {
  for (const one of open.splice(0).reverse())
    await (Symbol.asyncDispose in one ? one[Symbol.asyncDispose]() : one[Symbol.dispose]())
  await old.stop()
  await late.stop()
})

/** Starts a service whose only webhook is the old one. */
async function start(options: Parameters<typeof newRig>[0] = {}) {
  const rig = await newRig(options)
  open.push(rig)
  await rig.setUrls(old.url)
  rig.wake()
  const { store } = rig
  const wantedOf = createReplayFilter({
    webhooks: store.webhooks,
    factsOf: async (_, { callId }) => ({ ...NO_FACTS, direction: callId.startsWith('in') ? 'inbound' : 'outbound' }),
  })
  const feed = () => {
    const feeder = startReplayFeeder({
      store,
      ownership: OWNS_EVERYTHING,
      steadyUs: rig.clock.steadyUs,
      log: LOG,
      wantedOf,
      onDue: () => rig.emitter.emit('due', []),
      everyMs: 5,
    })
    open.push({ [Symbol.asyncDispose]: feeder.stop })
    return feeder
  }
  let feeder = feed()
  const service = createReplayService({
    store,
    wantedOf,
    nowUs: () => Date.now() * 1_000,
    onAdded: () => feeder.wake(),
  })
  return {
    rig,
    store,
    service,
    add: (more: object = {}) => service.add(ACCOUNT, { url: late.url, since: '2020-01-01T00:00:00Z', ...more }),
    isOver: () => until('the replay is over', async () => (await store.replays.replayList()).length === 0),
    stopFeeder: () => feeder.stop(),
    async restartFeeder() {
      await feeder.stop()
      feeder = feed()
    },
  }
}

/** Emits events of some calls, each call's in a row, and waits until the old webhook has them. */
async function past(at: Awaited<ReturnType<typeof start>>, calls: number, each = 2): Promise<string[]> {
  const names = Array.from({ length: calls }, (_, n) => Array.from({ length: each }, () => `in ${n}`)).flat()
  const before = old.taken.length
  const ids = await at.rig.emit(...names)
  await until('the old webhook has all', () => old.taken.length === before + ids.length)
  return ids
}

/** A part of the past with one event. */
const FOUND = {
  events: [{ eventId: 1, callId: 'in 1', name: 'call_ended' as const, sequence: 1, pendingId: null }],
  lastId: 1,
  isEnd: true,
}

const callOf = (body: string): string => JSON.parse(body).data.call
const idOf = (body: string): string => JSON.parse(body).data.id

describe('a replay', () => {
  test('gives a webhook that was added today all past events, with their bodies and ids, in order', async () => {
    const at = await start()
    const ids = await past(at, 30)
    await at.rig.setUrls(old.url, late.url)
    expect(await at.add()).toBe(60)
    await at.isOver()
    expect(late.taken.toSorted()).toEqual(ids.toSorted())
    const bodies = new Map(old.received.map(({ id, body }) => [id, body]))
    for (const { id, body } of late.received) expect(body).toBe(bodies.get(id) ?? '')
    for (let n = 0; n < 30; n += 1) {
      const ofCall = (all: typeof late.received) =>
        all.flatMap(({ body }) => (callOf(body) === `in ${n}` ? idOf(body) : []))
      expect(ofCall(late.received)).toEqual(ofCall(old.received))
    }
    // All are delivered: there is nothing left to send.
    expect(await at.add()).toBe(0)
    expect(old.taken).toHaveLength(60)
  })

  test('gives a repaired webhook what failed, and with again all', async () => {
    const at = await start({ scheduleMs: [] })
    await at.rig.setUrls(old.url, late.url)
    late.answerWith(({ body }) => new Response('', { status: /in [0-4]$/.test(callOf(body)) ? 500 : 200 }))
    await past(at, 10, 1)
    await until('all have ended', async () => (await at.store.queue.pendingCount()) === 0)
    late.answerWith(late.take)
    expect(await at.add()).toBe(5)
    await at.isOver()
    expect(late.taken).toHaveLength(5)
    expect(await at.add({ again: true })).toBe(10)
    await at.isOver()
    expect(late.taken).toHaveLength(15)
    expect(new Set(late.taken).size).toBe(10)
  })

  test('sends the next event of a call when the one before has ended, also where that fails first', async () => {
    const at = await start({ scheduleMs: [30, 30, 60_000] })
    await past(at, 12, 3)
    await at.rig.setUrls(old.url, late.url)
    const tries = new Map<string, number>()
    late.answerWith((request) => {
      const tried = (tries.get(request.id) ?? 0) + 1
      tries.set(request.id, tried)
      return tried < 3 && /in [048]$/.test(callOf(request.body))
        ? new Response('', { status: 500 })
        : late.take(request)
    })
    await at.add()
    await at.isOver()
    expect(late.taken).toHaveLength(36)
    const first = new Map<string, number>()
    for (const [place, { id }] of late.received.entries()) if (!first.has(id)) first.set(id, place)
    for (let n = 0; n < 12; n += 1) {
      const own = old.received.filter(({ body }) => callOf(body) === `in ${n}`).map(({ id }) => id)
      const places = own.map((id) => ({
        begins: first.get(id) ?? -1,
        ends: late.received.findLastIndex((one) => one.id === id),
      }))
      for (const [index, place] of places.entries()) expect(place.begins).toBeGreaterThan(places[index - 1]?.ends ?? -1)
    }
  })

  test('goes on after a restart, and sends nothing twice, also with again', async () => {
    const at = await start()
    const ids = await past(at, 150)
    await at.rig.setUrls(old.url, late.url)
    await at.add({ again: true })
    for (const part of [20, 90, 200]) {
      await until('a part has arrived', () => late.taken.length >= part)
      await at.restartFeeder()
    }
    await at.isOver()
    expect(late.taken.toSorted()).toEqual(ids.toSorted())
  })

  test('lets new events go first', async () => {
    const at = await start()
    await past(at, 200)
    await at.rig.setUrls(old.url, late.url)
    const slow: (() => void)[] = []
    late.answerWith(async (request) => {
      await new Promise<void>((resolve) => void slow.push(resolve))
      return late.take(request)
    })
    await at.add()
    await until('the replay has begun', () => slow.length > 0)
    const [id = ''] = await at.rig.emit('new')
    const before = late.received.length
    await until('the new event has arrived', () => {
      for (const answer of slow.splice(0)) answer()
      return late.taken.includes(id)
    })
    // Those that were in flight may come first, and as many that took their places.
    expect(late.received.findIndex((one) => one.id === id) - before).toBeLessThanOrEqual(32)
    late.answerWith(late.take)
    for (const answer of slow.splice(0)) answer()
    await at.isOver()
    expect(new Set(late.taken).size).toBe(401)
  })

  test('goes through the filter of the webhook, and is counted after it', async () => {
    const at = await start()
    await at.rig.emit('in 1', 'out 1', 'in 2', 'out 2')
    await until('the old webhook has all', () => old.taken.length === 4)
    await at.rig.setUrls(old.url, late.url)
    await at.store.webhooks.optionsReplace({
      accountId: ACCOUNT,
      url: late.url,
      options: { ...DEFAULT_OPTIONS, filter: { direction: ['outbound'] } },
      nowUs: 1,
    })
    expect(await at.add()).toBe(2)
    await at.isOver()
    expect(late.received.map(({ body }) => callOf(body))).toEqual(['out 1', 'out 2'])
  })

  test('takes the events of its time and kinds, as they were asked for', async () => {
    const at = await start()
    const atUs = Date.now() * 1_000
    const events = [3, 2, 1].flatMap((hours) =>
      (['call_started', 'call_ended'] as const).map((name, sequence) => ({
        uuid: `${hours} ${name}`,
        callId: `${hours}`,
        name,
        sequence: sequence + 1,
        atUs: atUs - hours * 3_600 * SECOND,
        body: JSON.stringify({ data: { id: `${hours} ${name}`, call: `in ${hours}` } }),
      })),
    )
    await storeEvents(at.store, events, { nowSteadyUs: at.rig.clock.steadyUs() })
    await at.rig.setUrls(old.url)
    await at.rig.webhooks.replace(ACCOUNT, [listed(old.url), { ...listed(late.url), call_started: false }], null)
    const time = (hours: number) => rfc3339(atUs - hours * 3_600 * SECOND)
    // `since` is included, `until` is not.
    expect(await at.add({ since: time(3), until: time(1) })).toBe(2)
    await at.isOver()
    expect(late.taken).toEqual(['3 call_ended', '2 call_ended'])
    expect(await at.add({ since: time(3), events: ['call_started'] })).toBe(3)
    await at.isOver()
    expect(late.taken.slice(2)).toEqual(['3 call_started', '2 call_started', '1 call_started'])
  })

  test('to a preset has the events of the end of calls, so that no card is shown, unless others are named', async () => {
    const at = await start()
    await past(at, 1)
    await at.rig.setUrls(old.url, late.url)
    await at.store.webhooks.optionsReplace({
      accountId: ACCOUNT,
      url: late.url,
      options: { ...DEFAULT_OPTIONS, events: ['recording_saved'], flow: { preset: 'bitrix24' } },
      nowUs: 1,
    })
    expect(await at.add()).toBe(0)
    const store = { ...at.store, replays: { ...at.store.replays, replayRead: async () => FOUND } }
    const added = createReplayService({ store, wantedOf: async (_, events) => events, nowUs: () => Date.now() * 1_000 })
    await at.rig.webhooks.replace(ACCOUNT, [listed(old.url), { ...listed(late.url), call_saved: false }], null)
    await at.stopFeeder()
    const since = '2020-01-01T00:00:00Z'
    const kinds = async () => (await at.store.replays.replayList()).map((replay) => replay.kinds)
    await added.add(ACCOUNT, { url: late.url, since })
    expect(await kinds()).toEqual([['call_ended', 'recording_saved']])
    for (const replay of await at.store.replays.replayList()) await at.store.replays.replayRemove(replay)
    await added.add(ACCOUNT, { url: late.url, since, events: ['call_transferred'] })
    expect(await kinds()).toEqual([['call_blind_transferred', 'call_attended_transferred']])
  })

  test('is refused for more than a million events, with their number', async () => {
    const at = await start()
    await at.rig.setUrls(old.url, late.url)
    let parts = 0
    const events = Array.from({ length: 200_000 }, () => FOUND.events).flat()
    const replayRead = async () => {
      parts += 1
      return { events, lastId: parts, isEnd: parts === 6 }
    }
    const store = { ...at.store, replays: { ...at.store.replays, replayRead } }
    const service = createReplayService({ store, wantedOf: async (_, some) => some, nowUs: () => Date.now() * 1_000 })
    await expect(service.add(ACCOUNT, { url: late.url, since: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'invalid',
      errors: [{ path: '/since', message: expect.stringContaining('1200000') }],
    })
    expect(await at.store.replays.replayList()).toEqual([])
  })

  test('is one at a time for a webhook, and ends when its URL leaves the list', async () => {
    const at = await start()
    await past(at, 100)
    await at.rig.setUrls(old.url, late.url)
    late.answerWith(() => new Promise<Response>(() => {}))
    await at.add()
    await expect(at.add()).rejects.toMatchObject({ code: 'conflict' })
    await at.rig.setUrls(old.url)
    await late.stop()
    late = startTaking()
    await at.isOver()
  })

  test.each([
    ['an unknown URL', { url: 'https://other.example/' }, '/url'],
    ['a time in the future', { since: '2999-01-01T00:00:00Z' }, '/since'],
    ['a time that ends before it begins', { until: '2019-01-01T00:00:00Z' }, '/since'],
  ])('is refused for %s', async (_, more, path) => {
    const at = await start()
    await at.rig.setUrls(old.url, late.url)
    await expect(at.add(more)).rejects.toMatchObject({ code: 'invalid', errors: [{ path }] })
  })
})
