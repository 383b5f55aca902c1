import { expect, test } from 'bun:test'
import { SECOND } from '../../../src/lib/time.ts'
import { DELIVERIES_PER_EVENT, type OutcomeBatch } from '../../../src/store/operations/queue.ts'
import type { WebhookOptionsRecord } from '../../../src/store/operations/webhooks.ts'
import { NO_FACTS } from '../../../src/store/subscription.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { storeEvents } from '../../help/store.ts'
import { ACCOUNT, entry, event, HOUR, idsOf, NOW, ONE, onEngines, outcomes, TWO } from './rig.ts'

onEngines('queue', ({ open, engine }) => {
  test('an event has a delivery for each webhook whose switch is on, in the order of the list', async () => {
    await using at = await open()
    await at.setList([entry(TWO), entry(ONE, { call_transferred: false })])
    const stored = await at.put(event(), event('call', { name: 'call_blind_transferred' }))
    const [two, one] = [await at.webhookId(TWO), await at.webhookId(ONE)]
    expect(stored.map(({ deliveries }) => deliveries.map(({ webhookId }) => webhookId))).toEqual([[two, one], [two]])
    const [first = 0, second = 0] = stored.map(({ id }) => id)
    expect(second).toBeGreaterThan(first)
    expect(idsOf(stored)).toEqual([
      first * DELIVERIES_PER_EVENT,
      first * DELIVERIES_PER_EVENT + 1,
      second * DELIVERIES_PER_EVENT,
    ])
  })

  test('an event of a kind that webhooks have to ask for is stored only while one does', async () => {
    await using at = await open(TWO, ONE)
    const some = () => [event('call', { name: 'call_held' }), event('call', { name: 'call_ended' })]
    const put = async (options: Partial<WebhookOptionsRecord>): Promise<void> => {
      const replaced = { ...DEFAULT_OPTIONS, ...options }
      await at.store.webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: replaced, nowUs: NOW })
    }
    const kinds = async () => (await at.put(...some())).map(({ name, deliveries }) => [name, deliveries.length])
    expect(await kinds()).toEqual([['call_ended', 2]])
    await put({ events: ['call_missed', 'call_held'] })
    expect(await kinds()).toEqual([
      ['call_held', 1],
      ['call_ended', 2],
    ])
    await put({ events: ['call_held'], filter: { direction: ['outbound'] } })
    expect(await kinds()).toEqual([
      ['call_held', 0],
      ['call_ended', 1],
    ])
    await put({})
    expect(await kinds()).toEqual([['call_ended', 2]])
  })

  test('an event has a delivery for the webhooks whose filter matches it, from when it is stored', async () => {
    await using at = await open(ONE, TWO)
    const options = { ...DEFAULT_OPTIONS, filter: { extension: ['10*'], direction: ['inbound'] } }
    await at.store.webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options, nowUs: NOW })
    const facts = { ...NO_FACTS, direction: 'inbound', extension: ['20', '101'] }
    const stored = await at.put(
      event('a', { facts }),
      event('b', { facts: { ...facts, extension: ['20'] } }),
      event('c', { facts: { ...facts, direction: 'outbound' } }),
      event('d'),
    )
    const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
    expect(stored.map(({ deliveries }) => deliveries.map(({ webhookId }) => webhookId))).toEqual([
      [one, two],
      [two],
      [two],
      [two],
    ])
    expect((await at.untried(ONE)).map(({ callId }) => callId)).toEqual(['a'])
    expect((await at.untried(TWO)).map(({ callId }) => callId)).toEqual(['a', 'b', 'c', 'd'])
    // Off for every event: the switch counts too.
    await at.setList([entry(ONE, { call_started: false }), entry(TWO)])
    const [later] = await at.put(event('e', { facts }))
    expect(later?.deliveries.map(({ webhookId }) => webhookId)).toEqual([two])
  })

  test('untried deliveries come in the order of their ids, in pages, with all that sending takes', async () => {
    await using at = await open(ONE, TWO)
    const stored = await at.put(event('a'), event('b'), event('c'))
    const page = await at.untried(ONE, 0, 2)
    const [first] = stored
    expect(page[0]).toEqual({
      id: first?.deliveries[0]?.id ?? 0,
      accountId: ACCOUNT,
      webhookId: await at.webhookId(ONE),
      callId: 'a',
      event: 'call_started',
      uuid: first?.uuid ?? '',
      body: first?.body ?? '',
      atUs: NOW,
      generation: 1,
      sinceSteadyUs: NOW,
      tries: 0,
      attemptsMade: 0,
      dueSteadyUs: undefined,
    })
    const rest = await at.untried(ONE, page.at(-1)?.id)
    expect([...page, ...rest].map(({ callId }) => callId)).toEqual(['a', 'b', 'c'])
  })

  test('in a strict order a delivery waits for the earlier ones of its call on their first schedule', async () => {
    await using at = await open(ONE, TWO)
    const { queue } = at.store
    const stored = await at.put(event('a'), event('b'), event('a'), event('c'), event('b'), event('a'))
    const ofOne = stored.map(({ deliveries }) => deliveries[0]?.id ?? 0)
    const [a1 = 0, b1 = 0, a2 = 0, c1 = 0, b2 = 0, a3 = 0] = ofOne
    const webhookId = await at.webhookId()
    const strict = async (afterId = 0, limit = 100) => {
      const { deliveries, lastId } = await queue.deliveryGetUntriedStrict({ webhookId, afterId, limit })
      return [deliveries.map(({ id }) => id), lastId]
    }
    const first = async (...callIds: string[]) =>
      (await queue.deliveryGetFirstOfCalls({ webhookId, callIds })).map(({ id }) => id).toSorted((x, y) => x - y)
    expect(await strict()).toEqual([[a1, b1, c1], null])
    expect(await strict(0, 3)).toEqual([[a1, b1], a2])
    expect(await strict(a2, 3)).toEqual([[c1], a3])
    expect(await first('a', 'b', 'none')).toEqual([a1, b1])
    // A retry is waited for as well; it is no longer untried.
    await queue.deliveryRecordOutcomes(outcomes([a1], { state: 'pending', dueSteadyUs: NOW + HOUR }))
    expect(await strict()).toEqual([[b1, c1], null])
    expect((await queue.deliveryGetFirstOfCalls({ webhookId, callIds: ['a'] }))[0]).toMatchObject({
      id: a1,
      dueSteadyUs: NOW + HOUR,
      body: stored[0]?.body,
    })
    await queue.deliveryRecordOutcomes(outcomes([a1], { state: 'failed' }))
    await queue.deliveryRecordOutcomes(outcomes([b1], { state: 'delivered' }))
    expect(await strict()).toEqual([[a2, c1, b2], null])
    expect(await first('a', 'b', 'c')).toEqual([a2, c1, b2])
    // A retry by hand holds back no other delivery.
    await queue.deliveryRetry({ accountId: ACCOUNT, id: a1, nowSteadyUs: NOW })
    expect(await first('a')).toEqual([a2])
    expect(await strict()).toEqual([[a2, c1, b2], null])
  })

  test('retries come when they are due, the longest due first, and it is known when the next is', async () => {
    await using at = await open(ONE)
    const { queue } = at.store
    const [a = 0, b = 0, c = 0, d = 0] = idsOf(await at.put(event('a'), event('b'), event('c'), event('d')))
    const due = (id: number, dueSteadyUs: number) =>
      queue.deliveryRecordOutcomes(outcomes([id], { state: 'pending', dueSteadyUs }))
    await due(c, NOW + 10)
    await due(b, NOW + 20)
    await due(a, NOW + 20)
    await due(d, NOW + 30)
    const webhookId = await at.webhookId()
    const get = async (dueSteadyUs: number, { limit = 9, afterId = 0, exceptIds = [] as number[] } = {}) =>
      (await queue.deliveryGetDue({ webhookId, afterId, exceptIds, dueSteadyUs, limit })).map(({ id }) => id)
    expect(await get(NOW + 29)).toEqual([c, a, b])
    expect(await get(NOW + 29, { limit: 1 })).toEqual([c])
    expect(await get(NOW + 29, { limit: 1, exceptIds: [c, a] })).toEqual([b])
    expect(await get(NOW + 29, { limit: 2, exceptIds: [c] })).toEqual([a, b])
    expect(await get(NOW + 29, { afterId: a })).toEqual([c, b])
    expect(await get(NOW + 29, { limit: 0 })).toEqual([])
    expect(await at.untried()).toEqual([])
    expect(await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: NOW + 21 })).toBe(NOW + 30)
    expect(await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: NOW + 31 })).toBeUndefined()
    const firstPending = (webhook: number, afterId: number) =>
      queue.pendingGetFirst({ webhookIds: [webhook], afterIds: [afterId] })
    expect(await firstPending(webhookId, 0)).toEqual([{ webhookId, untriedId: undefined, dueSteadyUs: NOW + 10 }])
    expect(await firstPending(webhookId + 1_000, 0)).toEqual([])
    const [e = 0, f = 0] = idsOf(await at.put(event('e'), event('f')))
    expect(await firstPending(webhookId, 0)).toEqual([{ webhookId, untriedId: e, dueSteadyUs: NOW + 10 }])
    expect(await firstPending(webhookId, e)).toEqual([{ webhookId, untriedId: f, dueSteadyUs: NOW + 10 }])
    expect(await firstPending(webhookId, f)).toEqual([{ webhookId, untriedId: undefined, dueSteadyUs: NOW + 10 }])
    await queue.deliveryRecordOutcomes(outcomes([c, b, a, e], { state: 'delivered' }))
    const both = { webhookIds: [webhookId + 1_000, webhookId], afterIds: [0, 0] }
    expect(await queue.pendingGetFirst(both)).toEqual([{ webhookId, untriedId: f, dueSteadyUs: NOW + 30 }])
    expect(await queue.deliveryGetPending(d)).toMatchObject({ id: d, tries: 1, dueSteadyUs: NOW + 30 })
  })

  test('an outcome ends a delivery or schedules its retry, and is in its log', async () => {
    await using at = await open(ONE)
    const { queue, log } = at.store
    const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
    expect(await queue.deliveryRecordOutcomes(outcomes([a], { state: 'delivered' }))).toEqual([])
    expect(await queue.deliveryRecordOutcomes(outcomes([b], { state: 'failed', response: 'no' }))).toEqual([])
    expect(await at.states()).toEqual(['delivered', 'failed'])
    expect(await queue.deliveryGetPending(a)).toBeUndefined()
    expect(await log.deliveryGet(ACCOUNT, b)).toMatchObject({
      state: 'failed',
      attemptsMade: 1,
      endedUs: NOW + SECOND,
      attempts: [{ atUs: NOW + SECOND, status: 500, durationMs: 7, error: null, address: '192.0.2.1', response: 'no' }],
    })
  })

  test('a kept outcome is not in the store until its batch is recorded', async () => {
    await using at = await open(ONE)
    const { queue, log } = at.store
    const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
    const batch = { ...outcomes([a], { state: 'delivered', response: 'one' }) }
    queue.outcomeKeep(batch)
    expect(await at.states()).toEqual(['pending', 'pending'])
    expect(await queue.deliveryRecordOutcomes(batch)).toEqual([])
    await queue.deliveryRecordOutcomes(outcomes([b], { state: 'failed' }))
    expect(await at.states()).toEqual(['delivered', 'failed'])
    expect((await log.deliveryGet(ACCOUNT, a))?.attempts).toMatchObject([{ status: 200, response: 'one' }])
  })

  test('a failure of a schedule that was superseded changes nothing but the log; a success counts always', async () => {
    await using at = await open(ONE)
    const { queue, log } = at.store
    const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
    await queue.deliveryRecordOutcomes(outcomes([a, b], { state: 'failed' }))
    for (const id of [a, b]) await queue.deliveryRetry({ accountId: ACCOUNT, id, nowSteadyUs: NOW + 50 })
    expect((await queue.deliveryGetPending(a))?.generation).toBe(2)
    const late = { state: 'failed', generation: 1, attemptUs: NOW + 3 * SECOND } as const
    expect(await queue.deliveryRecordOutcomes(outcomes([a], late))).toEqual([a])
    expect(await queue.deliveryGetPending(a)).toMatchObject({ generation: 2, tries: 0 })
    expect((await log.deliveryGet(ACCOUNT, a))?.attempts).toHaveLength(2)
    expect(await queue.deliveryRecordOutcomes(outcomes([b], { ...late, state: 'delivered' }))).toEqual([])
    expect(await at.states()).toEqual(['pending', 'delivered'])
  })

  test('the log has all attempts of a delivery that was retried after it was delivered, in their order', async () => {
    await using at = await open(ONE)
    const { queue, log, maintenance } = at.store
    const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
    await queue.deliveryRecordOutcomes(outcomes([a, b], { state: 'delivered', response: 'first' }))
    await queue.deliveryRetry({ accountId: ACCOUNT, id: a, nowSteadyUs: NOW + 50 })
    const second = outcomes([a], { state: 'failed', generation: 2, attemptUs: NOW + 3 * SECOND, response: 'second' })
    await queue.deliveryRecordOutcomes({ ...second, attemptsMade: [2] })
    const late = outcomes([a], { state: 'delivered', attemptUs: NOW + 2 * SECOND, response: 'between' })
    await queue.deliveryRecordOutcomes(late)
    expect((await log.deliveryGet(ACCOUNT, a))?.attempts).toMatchObject([
      { atUs: NOW + SECOND, status: 200, response: 'first', probe: false, durationMs: 7, address: '192.0.2.1' },
      { atUs: NOW + 2 * SECOND, status: 200, response: 'between' },
      { atUs: NOW + 3 * SECOND, status: 500, response: 'second' },
    ])
    expect((await log.deliveryGet(ACCOUNT, b))?.attempts).toMatchObject([{ response: 'first', error: null }])
    expect((await maintenance.verify()).filter((text) => !text.includes('calls'))).toEqual([])
  })

  test('several attempts of a delivery in one batch count in their order', async () => {
    await using at = await open(ONE)
    const { queue, log } = at.store
    const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
    const [first, second] = [
      outcomes([a, b], { state: 'pending', dueSteadyUs: NOW + 5 }),
      outcomes([a], { state: 'delivered', attemptUs: NOW + 2 * SECOND }),
    ]
    const joined = Object.fromEntries(
      Object.entries(first).map(([name, values]) => [name, [...values, ...second[name as keyof OutcomeBatch]]]),
    )
    expect(await queue.deliveryRecordOutcomes({ ...first, ...joined })).toEqual([])
    expect(await at.states()).toEqual(['delivered', 'pending'])
    expect((await log.deliveryGet(ACCOUNT, a))?.attempts.map(({ status }) => status)).toEqual([500, 200])
    expect(await queue.deliveryGetPending(b)).toMatchObject({ dueSteadyUs: NOW + 5 })
  })

  test('the last twenty probes of a delivery are kept', async () => {
    await using at = await open(ONE)
    const { queue, log } = at.store
    const [id = 0] = idsOf(await at.put(event('a')))
    for (let n = 1; n <= 25; n += 1)
      await queue.deliveryRecordOutcomes(
        outcomes([id], { state: 'pending', dueSteadyUs: NOW, probe: true, attemptUs: NOW + n }),
      )
    const attempts = (await log.deliveryGet(ACCOUNT, id))?.attempts ?? []
    expect(attempts.map(({ atUs }) => atUs - NOW)).toEqual(Array.from({ length: 20 }, (_, n) => n + 6))
  })

  test('deliveries that were pending when a URL left are cancelled in steps, later ones after its return are not', async () => {
    await using at = await open(ONE)
    const { queue, webhooks } = at.store
    const webhookId = await at.webhookId()
    const before = idsOf(await at.put(event('a'), event('b'), event('c')))
    await at.setList([])
    await at.setList([entry(ONE)])
    expect((await webhooks.webhookGetMany([webhookId]))[0]?.cancelledTo).toBeGreaterThanOrEqual(before.at(-1) ?? 0)
    await at.put(event('d'))
    const cancelled = await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })
    expect(cancelled).toHaveLength(2)
    cancelled.push(...(await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })))
    expect(cancelled.toSorted()).toEqual(before)
    expect(await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })).toEqual([])
    expect((await webhooks.webhookGetMany([webhookId]))[0]?.cancelledTo).toBe(0)
    expect(await at.states()).toEqual(['cancelled', 'cancelled', 'cancelled', 'pending'])
  })

  test('deliveries that were pending too long fail, in steps', async () => {
    await using at = await open(ONE, TWO)
    const { queue } = at.store
    await storeEvents(at.store, [event('a'), event('b')], { nowSteadyUs: NOW - HOUR })
    await at.put(event('c'))
    const webhookId = await at.webhookId()
    const step = { webhookId, beforeSteadyUs: NOW, nowUs: NOW, limit: 1 }
    expect(await queue.deliveryFailExpired(step)).toHaveLength(1)
    expect(await queue.deliveryFailExpired({ ...step, limit: 9 })).toHaveLength(1)
    expect(await queue.deliveryFailExpired(step)).toEqual([])
    expect((await at.untried(ONE)).map(({ callId }) => callId)).toEqual(['c'])
    expect(await at.untried(TWO)).toHaveLength(3)
  })

  test('retries that are too old fail also when younger ones are due before them, not more than are asked for', async () => {
    await using at = await open(ONE)
    const { queue } = at.store
    const [old = 0, older = 0] = idsOf(
      await storeEvents(at.store, [event('a'), event('b')], { nowSteadyUs: NOW - HOUR }),
    )
    const young = idsOf(await at.put(event('c'), event('d')))
    const retry = (ids: number[], dueSteadyUs: number) =>
      queue.deliveryRecordOutcomes(outcomes(ids, { state: 'pending', dueSteadyUs }))
    await retry([old, older], NOW + 2 * HOUR)
    await retry(young, NOW + HOUR)
    const step = { webhookId: await at.webhookId(), beforeSteadyUs: NOW, nowUs: NOW, limit: 1 }
    expect([...(await queue.deliveryFailExpired(step)), ...(await queue.deliveryFailExpired(step))].toSorted()).toEqual(
      [old, older],
    )
    expect(await queue.deliveryFailExpired(step)).toEqual([])
  })

  test('a retry makes a delivery due at once, and reports why it cannot', async () => {
    await using at = await open(ONE, TWO)
    const { queue, maintenance } = at.store
    const stored = await at.put(event('a'), event('b'), event('c'))
    const [a = 0, aTwo = 0, b = 0, , c = 0] = idsOf(stored)
    await queue.deliveryRecordOutcomes(outcomes(idsOf(stored), { state: 'failed' }))
    const retry = (id: number, accountId: number | null = ACCOUNT) =>
      queue.deliveryRetry({ accountId, id, nowSteadyUs: NOW + 9 })
    expect(await retry(999_999)).toBe('unknown')
    expect(await retry(a, 2)).toBe('unknown')
    expect(await retry(a, null)).toBe('queued')
    expect(await queue.deliveryGetPending(a)).toMatchObject({
      dueSteadyUs: NOW + 9,
      sinceSteadyUs: NOW + 9,
      tries: 0,
    })
    await queue.deliveryRecordOutcomes(outcomes([b], { state: 'delivered' }))
    expect(await retry(b)).toBe('queued')
    await maintenance.callErase(['c'])
    expect(await retry(c)).toBe('erased')
    const two = await at.webhookId(TWO)
    await at.put(event('d'))
    await at.setList([entry(ONE)])
    expect(await retry(aTwo)).toBe('unlisted')
    await at.setList([entry(ONE), entry(TWO)])
    // Its pending delivery is still to be cancelled.
    expect(await retry(aTwo)).toBe(two)
  })

  test('a bulk retry goes through the log from the oldest on, in steps', async () => {
    await using at = await open(ONE)
    const { queue } = at.store
    const ids = idsOf(await at.put(...Array.from({ length: 5 }, (_, n) => event(`call ${n}`))))
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 4), { state: 'failed' }))
    const filter = { accountId: ACCOUNT, state: 'failed' } as const
    const first = await queue.deliveryRetryMatching({ filter, fromId: 0, nowSteadyUs: NOW, limit: 3 })
    if (typeof first === 'number') throw new Error('no webhook is leaving')
    expect(first.queued).toBe(3)
    const fromId = first.nextId ?? 0
    expect(await queue.deliveryRetryMatching({ filter, fromId, nowSteadyUs: NOW, limit: 3 })).toEqual({
      queued: 1,
      nextId: null,
    })
    expect(await at.states()).toEqual(Array(5).fill('pending'))
  })

  test('pending deliveries are counted, with the age of the oldest', async () => {
    await using at = await open(ONE, TWO)
    const { queue } = at.store
    const webhookId = await at.webhookId()
    expect(await queue.pendingGetOldest(webhookId)).toBeUndefined()
    expect(await queue.pendingGetOldest()).toBeUndefined()
    const [a = 0, b = 0] = idsOf(await storeEvents(at.store, [event()], { nowSteadyUs: NOW - HOUR }))
    await at.put(event())
    await queue.deliveryRecordOutcomes(outcomes([a], { state: 'pending', dueSteadyUs: NOW + HOUR }))
    expect(await queue.pendingCount()).toBe(4)
    expect(await queue.pendingGetOldest(webhookId)).toBe(NOW - HOUR)
    // Now the other webhook has a younger one alone.
    await queue.deliveryRecordOutcomes(outcomes([b], { state: 'delivered' }))
    expect(await queue.pendingGetOldest(await at.webhookId(TWO))).toBe(NOW)
    expect(await queue.pendingGetOldest()).toBe(NOW - HOUR)
    await queue.deliveryRecordOutcomes(outcomes([a], { state: 'delivered' }))
    expect(await queue.pendingGetOldest()).toBe(NOW)
  })

  test.skipIf(engine === 'SQLite')('the owner of a webhook is asked once, in order, and only of its own', async () => {
    await using at = await open(ONE, TWO)
    const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
    const { queue } = at.store
    expect(await queue.ownerRequestTake([one, two])).toEqual([])
    await queue.ownerRequestAdd({ webhookId: one, deliveryId: 7, nowUs: NOW })
    await queue.ownerRequestAdd({ webhookId: two, deliveryId: null, nowUs: NOW })
    await queue.ownerRequestAdd({ webhookId: one, deliveryId: null, nowUs: NOW })
    expect(await queue.ownerRequestTake([])).toEqual([])
    expect(await queue.ownerRequestTake([one])).toEqual([
      { webhookId: one, deliveryId: 7 },
      { webhookId: one, deliveryId: null },
    ])
    await queue.ownerRequestAdd({ webhookId: one, deliveryId: 8, nowUs: NOW + 2 * HOUR })
    expect(await queue.ownerRequestTake([two, one])).toEqual([{ webhookId: one, deliveryId: 8 }])
  })

  test.skipIf(engine !== 'SQLite')('nobody else is asked where one process sends to all webhooks', async () => {
    await using at = await open(ONE)
    const { queue } = at.store
    await queue.ownerRequestAdd({ webhookId: await at.webhookId(ONE), deliveryId: 7, nowUs: NOW })
    expect(await queue.ownerRequestTake([await at.webhookId(ONE)])).toEqual([])
  })
})
