import { expect, test } from 'bun:test'
import type { EventKind } from '../../../src/events/kinds.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../../../src/store/operations/queue.ts'
import type { Replay, ReplayQuery } from '../../../src/store/operations/replays.ts'
import { ACCOUNT, entry, event, HOUR, idsOf, NOW, ONE, onEngines, outcomes, TWO } from './rig.ts'

const KINDS: readonly EventKind[] = ['call_started', 'call_ended']
const LATER = NOW + 24 * HOUR

const query = (webhookId: number, more: Partial<ReplayQuery> = {}): ReplayQuery => ({
  accountId: ACCOUNT,
  webhookId,
  sinceUs: NOW - HOUR,
  untilUs: LATER,
  kinds: KINDS,
  again: false,
  createdUs: LATER,
  ...more,
})
const ALL = { afterId: 0, endId: Number.MAX_SAFE_INTEGER }

onEngines('replays', ({ open }) => {
  test('events without a delivery, and those whose delivery failed, are those to send', async () => {
    await using at = await open(ONE)
    const stored = await at.put(event('a'), event('b'), event('c'), event('d', { name: 'dial_started' }), event('e'))
    const [a = 0, b = 0] = idsOf(stored)
    await at.store.queue.deliveryRecordOutcomes(outcomes([a], { state: 'delivered' }))
    await at.store.queue.deliveryRecordOutcomes(outcomes([b], { state: 'failed' }))
    await at.setList([entry(ONE), entry(TWO)])
    const read = async (url: string, more: Partial<ReplayQuery> = {}) => {
      const part = await at.store.replays.replayRead({ ...query(await at.webhookId(url), more), ...ALL })
      expect(part.isEnd).toBe(true)
      return part.events.map(({ callId, pendingId }) => [callId, pendingId])
    }
    const [, , c, , e] = idsOf(stored)
    expect(await read(ONE)).toEqual([
      ['b', null],
      ['c', c ?? 0],
      ['e', e ?? 0],
    ])
    expect((await read(ONE, { again: true })).map(([call]) => call)).toEqual(['a', 'b', 'c', 'e'])
    // Those that ended since it began are its own.
    expect((await read(ONE, { again: true, createdUs: NOW })).map(([call]) => call)).toEqual(['c', 'e'])
    expect((await read(TWO)).map(([call]) => call)).toEqual(['a', 'b', 'c', 'e'])
    expect(await read(TWO, { kinds: ['dial_started'] })).toEqual([['d', null]])
    expect(await read(TWO, { untilUs: NOW })).toEqual([])
    expect(await read(TWO, { sinceUs: NOW + 1 })).toEqual([])
    expect(await read(TWO, { accountId: ACCOUNT + 1 })).toEqual([])
  })

  test('a part goes on where the one before ended, also where nothing matches', async () => {
    await using at = await open(ONE)
    const stored = await at.put(
      ...Array.from({ length: 450 }, (_, n) => event(`call ${n}`, n === 440 ? { name: 'call_ended' } : {})),
    )
    const webhookId = await at.webhookId()
    const endId = stored.at(-1)?.id ?? 0
    const found: string[] = []
    let parts = 0
    for (let afterId = 0, isEnd = false; !isEnd; parts += 1) {
      const part = await at.store.replays.replayRead({
        ...query(webhookId, { kinds: ['call_ended'] }),
        afterId,
        endId,
      })
      found.push(...part.events.map(({ callId }) => callId))
      afterId = part.lastId
      isEnd = part.isEnd
    }
    expect(found).toEqual(['call 440'])
    expect(parts).toBe(3)
  })

  test('the bounds of a time hold all its events', async () => {
    await using at = await open(ONE)
    const stored = await at.put(...Array.from({ length: 20 }, (_, n) => event(`${n}`, { atUs: NOW + n * HOUR })))
    const bounds = (sinceUs: number, untilUs: number) =>
      at.store.replays.replayGetBounds({ accountId: ACCOUNT, sinceUs, untilUs })
    const idAt = (n: number) => stored[n]?.id ?? 0
    // An hour more at each end.
    expect(await bounds(NOW + 5 * HOUR, NOW + 8 * HOUR)).toEqual({ firstId: idAt(4), endId: idAt(8) })
    const whole = await bounds(0, LATER)
    expect(whole.firstId).toBeLessThanOrEqual(idAt(0))
    expect(whole.endId).toBe(idAt(19))
    const empty = await at.store.replays.replayGetBounds({ accountId: ACCOUNT + 1, sinceUs: 0, untilUs: LATER })
    expect(empty.endId).toBeLessThan(Math.max(1, empty.firstId))
  })

  test('queued events are due at once, after untried ones, each with one delivery', async () => {
    await using at = await open(ONE)
    const stored = await at.put(event('a'), event('b'), event('c'))
    const [a = 0, b = 0] = idsOf(stored)
    await at.store.queue.deliveryRecordOutcomes(outcomes([a], { state: 'failed' }))
    await at.setList([entry(ONE), entry(TWO)])
    const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
    const eventIds = stored.map(({ id }) => id)
    const first = await at.store.replays.replayQueue({ webhookId: two, eventIds, nowSteadyUs: NOW + SECOND })
    const wanted = eventIds.map((id) => [id, id * DELIVERIES_PER_EVENT + 1] as const)
    expect(first).toEqual(new Map(wanted))
    // Again: the same deliveries.
    expect(await at.store.replays.replayQueue({ webhookId: two, eventIds, nowSteadyUs: NOW + SECOND })).toEqual(first)
    const due = await at.store.queue.deliveryGetDue({
      webhookId: two,
      afterId: 0,
      exceptIds: [],
      dueSteadyUs: NOW + SECOND,
      limit: 10,
    })
    expect(
      due.map(({ id, uuid, generation, tries, attemptsMade }) => [id, uuid, generation, tries, attemptsMade]),
    ).toEqual(stored.map(({ id, uuid }) => [id * DELIVERIES_PER_EVENT + 1, uuid, 1, 0, 0]))
    expect(await at.untried(TWO)).toEqual([])
    // A failed delivery begins a new schedule; a pending one stays the one that it is.
    const again = await at.store.replays.replayQueue({
      webhookId: one,
      eventIds: eventIds.slice(0, 2),
      nowSteadyUs: NOW + SECOND,
    })
    expect(again).toEqual(new Map([a, b].map((id, index) => [eventIds[index] ?? 0, id])))
    const dueOfOne = await at.store.queue.deliveryGetDue({
      webhookId: one,
      afterId: 0,
      exceptIds: [],
      dueSteadyUs: NOW + SECOND,
      limit: 10,
    })
    expect(dueOfOne.map(({ id, generation }) => [id, generation])).toEqual([[a, 2]])
    expect((await at.untried(ONE)).map(({ callId }) => callId)).toEqual(['b', 'c'])
    // These calls have no end.
    const wrong = await at.store.maintenance.verify()
    expect(wrong.filter((sentence) => sentence.includes('deliver'))).toEqual([])
  })

  test('a webhook that has left its list gets nothing, nor one whose old deliveries are to be cancelled', async () => {
    await using at = await open(ONE, TWO)
    const stored = await at.put(event('a'))
    const webhookId = await at.webhookId(TWO)
    const request = { webhookId, eventIds: stored.map(({ id }) => id), nowSteadyUs: NOW }
    await at.setList([entry(ONE)])
    expect(await at.store.replays.replayQueue(request)).toBe('unlisted')
    await at.setList([entry(ONE), entry(TWO)])
    expect(await at.store.replays.replayQueue(request)).toBe('leaving')
    await at.store.queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 10 })
    await at.store.queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 10 })
    expect(await at.store.replays.replayQueue(request)).toEqual(
      new Map(
        idsOf(stored)
          .slice(1)
          .map((id) => [stored[0]?.id ?? 0, id]),
      ),
    )
  })

  test('a webhook has one replay, which is kept until it is removed', async () => {
    await using at = await open(ONE)
    const webhookId = await at.webhookId()
    const replay: Replay = { ...query(webhookId), nextEventId: 1, endEventId: 9 }
    const { replays } = at.store
    expect(await replays.replayAdd(replay)).toBe(true)
    expect(await replays.replayAdd({ ...replay, createdUs: LATER + 1 })).toBe(false)
    expect(await replays.replayList()).toEqual([replay])
    await replays.replayAdvance({ webhookId, createdUs: LATER, nextEventId: 5 })
    await replays.replayAdvance({ webhookId, createdUs: LATER + 1, nextEventId: 7 })
    expect(await replays.replayList()).toEqual([{ ...replay, nextEventId: 5 }])
    await replays.replayRemove({ webhookId, createdUs: LATER + 1 })
    expect(await replays.replayList()).toHaveLength(1)
    await replays.replayRemove(replay)
    expect(await replays.replayList()).toEqual([])
  })
})
