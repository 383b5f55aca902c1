import { expect, test } from 'bun:test'
import { SECOND } from '../../../src/lib/time.ts'
import { NOTHING_TO_SEND } from '../../../src/store/operations/log.ts'
import { callListWithNumber, type NumberPlace } from '../../../src/store/operations/maintenance.ts'
import { until } from '../../help/receiver.ts'
import { batch } from '../../help/store.ts'
import { ACCOUNT, entry, event, HOUR, idsOf, NOW, ONE, onEngines, outcomes, savedCall, TWO, user } from './rig.ts'

onEngines('maintenance', ({ open, engine }) => {
  test('the clock is kept, and the store can be written', async () => {
    await using at = await open(ONE)
    const { maintenance } = at.store
    await maintenance.writeProbe()
    expect(await maintenance.clockGet()).toEqual({
      steppedUs: 0,
      pruneFromUs: 0,
      lastSteadyUs: 0,
      newestEventUs: undefined,
    })
    await maintenance.clockSet({ steppedUs: -HOUR, pruneFromUs: NOW })
    await at.put(event())
    expect(await maintenance.clockGet()).toEqual({
      steppedUs: -HOUR,
      pruneFromUs: NOW,
      lastSteadyUs: NOW,
      newestEventUs: NOW,
    })
    // Times are shown on the wall clock.
    expect(await at.store.log.deliveryGetMany((await at.untried()).map(({ id }) => id))).toMatchObject([
      { createdUs: NOW - HOUR },
    ])
  })

  test('what ended long ago is pruned in steps, the newest event stays, and the store is whole after it', async () => {
    await using at = await open(ONE)
    const { maintenance, queue } = at.store
    const ids = idsOf(await at.put(...['a', 'b', 'c'].map((call) => event(call, { name: 'call_saved' })), event('d')))
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 2), { state: 'delivered' }))
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(2), { state: 'failed' }))
    const step = { deliveredBeforeUs: NOW + HOUR, failedBeforeUs: NOW, nowUs: NOW + HOUR, limit: 1 }
    const first = await maintenance.deliveryPrune({ afterId: 0, ...step })
    expect(first).toMatchObject({ pruned: 2 })
    const rest = await maintenance.deliveryPrune({ afterId: first.lastId ?? 0, ...step, limit: 9 })
    expect(rest).toEqual({ lastId: null, pruned: 2 })
    expect(await at.states()).toEqual(['failed', 'failed'])
    expect((await maintenance.verify()).filter((text) => !text.includes('neither are up'))).toEqual([])
  })

  test('events that are kept for a day only are deleted with their deliveries, unless one is pending', async () => {
    await using at = await open(ONE)
    const { maintenance, queue, log } = at.store
    const short = (callId: string, atUs = NOW) => event(callId, { sequence: -1, atUs })
    const ids = idsOf(await at.put(short('a'), event('call', { sequence: 1 }), short('b'), short('c', NOW + HOUR)))
    await at.put(event('call', { name: 'call_saved', sequence: 2 }))
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 2), { state: 'delivered' }))
    const left = async () =>
      (await log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 9 })).items.map(({ callId }) => callId)
    const prune = (afterId: number) => maintenance.shortLivedPrune({ afterId, beforeUs: NOW + 1, limit: 2 })
    expect(await prune(0)).toMatchObject({ pruned: 1 })
    expect(await left()).toEqual(['call', 'b', 'c', 'call'])
    // The rest of the short-lived ones are pending, or too young.
    expect(await prune(ids[2] ?? 0)).toEqual({ lastId: null, pruned: 0 })
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(2, 3), { state: 'failed' }))
    expect(await prune(0)).toMatchObject({ pruned: 1 })
    expect(await left()).toEqual(['call', 'c', 'call'])
    expect((await log.eventGetBounds(ACCOUNT)).oldestId).toBe(0)
    expect((await maintenance.verify()).filter((text) => !text.includes('neither are up'))).toEqual([])
  })

  test('ids of events and deliveries are never given again, also after retention deleted whatever it may', async () => {
    await using at = await open(ONE)
    const { maintenance, queue, log } = at.store
    const given: number[] = []
    let newest = 0
    for (let round = 1; round <= 3; round += 1) {
      const ids = idsOf(await at.put(event(`call ${round}`), event(`call ${round}`, { name: 'call_saved' })))
      await queue.deliveryRecordOutcomes(outcomes(ids, { state: 'delivered' }))
      given.push(...ids)
      const bounds = await log.eventGetBounds(ACCOUNT)
      expect(bounds.newestId).toBeGreaterThan(newest)
      newest = bounds.newestId
      const all = { deliveredBeforeUs: NOW + HOUR, failedBeforeUs: NOW + HOUR, nowUs: NOW + 2 * HOUR, limit: 9 }
      for (let afterId: number | null = 0; afterId !== null; )
        afterId = (await maintenance.deliveryPrune({ afterId, ...all })).lastId
      // A reader that has read all is not sent back.
      expect((await log.eventGetBounds(ACCOUNT)).newestId).toBe(newest)
    }
    expect(given).toEqual([...new Set(given)].toSorted((one, other) => one - other))
  })

  test('webhooks, secrets and call records without any reference are pruned', async () => {
    await using at = await open(ONE, TWO)
    const { maintenance, calls } = at.store
    await at.setList([entry(TWO)], null, NOW)
    expect(await maintenance.secretPrune({ beforeUs: NOW, limit: 9 })).toBe(0)
    expect(await maintenance.secretPrune({ beforeUs: NOW + 1, limit: 9 })).toBe(1)
    const one = (await at.store.webhooks.webhookListActive())[0] ?? 0
    await at.store.queue.deliveryCancelUnlisted({ webhookId: one, nowUs: NOW, limit: 9 })
    expect(await maintenance.webhookPrune(9)).toBe(1)
    const records = [1, 2, 3].map((n) => ({
      id: `${n}`,
      savedUs: NOW + n,
      direction: 'internal' as const,
      fromNumber: null,
      toNumber: null,
      record: '{}',
    }))
    await calls.batchStore(batch({ saved: records }))
    expect(await maintenance.callPrune({ beforeUs: NOW + 3, limit: 1 })).toBe(1)
    expect(await maintenance.callPrune({ beforeUs: NOW + 3, limit: 9 })).toBe(1)
    expect(await calls.callGet(ACCOUNT, '3')).toBe('{}')
  })

  test('a store that is whole is proven so, and its condition is reported', async () => {
    await using at = await open(ONE)
    const { maintenance, queue } = at.store
    for (const extent of ['brief', 'whole'] as const) expect(await maintenance.fileFaults(extent)).toEqual([])
    const [a = 0] = idsOf(await at.put(event('a'), event('b')))
    await queue.deliveryRecordOutcomes(outcomes([a], { state: 'failed' }))
    expect(await maintenance.conditionGet(NOW)).toEqual({
      webhooks: [{ account: 'default', url: ONE }],
      failed: 1,
      pending: 1,
      oldestPendingUs: NOW,
      newestEventUs: NOW,
    })
    expect(await maintenance.verify()).toEqual([expect.stringContaining('calls that neither are up')])
  })

  test('a delivery with nothing to send, or to a broker, is complete, a delivered one without an attempt is not', async () => {
    await using at = await open(ONE)
    const { maintenance, queue } = at.store
    const [a = 0, b = 0, c = 0] = idsOf(await at.put(event('a'), event('b'), event('c')))
    const unsent = { ...outcomes([a], { state: 'delivered' }), statuses: [null] }
    await queue.deliveryRecordOutcomes({ ...unsent, errors: [NOTHING_TO_SEND] })
    await queue.deliveryRecordOutcomes({ ...unsent, deliveryIds: [c], errors: [null], responses: ['acknowledged'] })
    const wrong = async () => (await maintenance.verify()).filter((text) => !text.includes('neither are up'))
    expect(await wrong()).toEqual([])
    await queue.deliveryRecordOutcomes({ ...unsent, deliveryIds: [b], errors: ['connection refused'] })
    expect(await wrong()).toEqual([`1 delivered ones without the attempt that delivered them: ${b}`])
  })

  test('another process sees the writes, and a node of a database is notified of them', async () => {
    await using at = await open(ONE)
    let notified = 0
    at.store.onForeignChange(() => {
      notified += 1
    })
    const other = await at.another()
    expect(await other.webhooks.listGet(ACCOUNT)).toEqual([entry(ONE)])
    await other.accounts.userCreate(user('new@example.com'))
    // Beside a service on SQLite nobody writes.
    if (engine === 'Postgres') await until('it is notified', () => notified > 0)
    expect(await at.store.accounts.userCount()).toBe(1)
  })

  test('writes of one turn share a commit, and one that fails undoes itself alone', async () => {
    await using at = await open(ONE)
    const before = at.store.commits.batches
    const created = Array.from({ length: 50 }, (_, n) => at.store.accounts.userCreate(user(`${n}@example.com`)))
    const broken = at.store.calls.batchStore(batch({ events: [event('a', { uuid: null as unknown as string })] }))
    expect(
      await broken.then(
        () => 'stored',
        () => 'refused',
      ),
    ).toBe('refused')
    expect((await Promise.all(created)).every((made) => made !== undefined)).toBe(true)
    expect(at.store.commits.batches - before).toBeLessThanOrEqual(2)
  })

  test('an erased number is in no record, body or live call; pending events keep their bodies', async () => {
    await using at = await open(ONE)
    const { calls, maintenance, queue, log } = at.store
    const body = JSON.stringify({ data: { name: 'call_saved', call: { from: { number: '15551230001' } } } })
    const events = [event('ended', { name: 'call_saved', body }), event('pending', { name: 'call_saved', body })]
    const stored = await at.put(...events)
    const [ended = 0] = idsOf(stored)
    await queue.deliveryRecordOutcomes(outcomes([ended], { state: 'delivered', response: '15551230001 is known' }))
    expect((await log.deliveryGet(ACCOUNT, ended))?.attempts[0]?.response).toBe('15551230001 is known')
    const live = [{ id: 'up', state: JSON.stringify({ call: { from: '15551230001' }, channels: [] }) }]
    await calls.batchStore(batch({ saved: [savedCall('ended')] }, { live }))
    const ids = await callListWithNumber(maintenance, '15551230001')
    expect(ids.toSorted()).toEqual(['ended', 'pending'])
    expect(await callListWithNumber(maintenance, '1555123000')).toEqual([])
    expect(await maintenance.callErase(ids)).toEqual({ calls: 1, events: 1, pending: 1 })
    expect(await maintenance.liveCallErase('15551230001')).toBe(1)
    expect(await calls.liveCallList('office')).toEqual([
      { id: 'up', state: JSON.stringify({ call: { from: null }, channels: [] }) },
    ])
    expect(await calls.callGet(ACCOUNT, 'ended')).toBeUndefined()
    expect((await log.eventListOfCall(ACCOUNT, 'ended'))[0]?.body).not.toContain('15551230001')
    expect((await log.deliveryGet(ACCOUNT, ended))?.attempts).toMatchObject([{ status: 200, response: null }])
    expect(await callListWithNumber(maintenance, '15551230001')).toEqual(['pending'])
  })

  test('a number is searched in steps of 500 records or events, and found at either end of them', async () => {
    await using at = await open(ONE)
    const { calls, maintenance } = at.store
    const body = JSON.stringify({ data: { name: 'call_saved', call: { from: { number: '15551230001' } } } })
    const found = [0, 499, 500, 1_199]
    const events = Array.from({ length: 1_200 }, (_, n) => event(`call ${n}`, found.includes(n) ? { body } : {}))
    const ids = (await at.put(...events)).map(({ id }) => id)
    await calls.batchStore(batch({ saved: [savedCall('saved')] }))
    const steps: NumberPlace[] = []
    const callIds: string[] = []
    for (let place: NumberPlace | null = { of: 'calls', afterId: '' }; place !== null; ) {
      steps.push(place)
      const step: Awaited<ReturnType<typeof maintenance.callFindNumber>> = await maintenance.callFindNumber(
        '15551230001',
        place,
      )
      callIds.push(...step.callIds)
      place = step.next
    }
    expect(callIds.toSorted()).toEqual([...found.map((n) => `call ${n}`), 'saved'].toSorted())
    // Between two steps others have their turn.
    let turns = 0
    let isSearching = true
    const count = (): void => {
      turns += 1
      if (isSearching) setImmediate(count)
    }
    setImmediate(count)
    await callListWithNumber(maintenance, '15551230001')
    isSearching = false
    expect(turns).toBeGreaterThanOrEqual(steps.length - 1)
    expect(steps).toEqual([
      { of: 'calls', afterId: '' },
      { of: 'events', afterId: 0 },
      ...[499, 999].map((n) => ({ of: 'events' as const, afterId: ids[n] ?? 0 })),
    ])
  })

  test('the outcome of a delivery that had ended when its call was erased keeps no response', async () => {
    await using at = await open(ONE)
    const { maintenance, queue, log } = at.store
    const ids = idsOf(await at.put(event('a'), event('b'), event('c'), event('d'), event('kept')))
    const webhookId = await at.webhookId()
    await at.setList([])
    expect(await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 10 })).toHaveLength(5)
    expect(await maintenance.callErase(['a', 'b', 'c', 'd'])).toMatchObject({ events: 4 })
    const [a = 0, b = 0, c = 0, d = 0, kept = 0] = ids
    const response = 'Maria Bern is known'
    const outcomeOf = (id: number, outcome: Parameters<typeof outcomes>[1]) =>
      queue.deliveryRecordOutcomes(outcomes([id], { response, ...outcome }))
    await outcomeOf(a, { state: 'delivered' })
    await outcomeOf(b, { state: 'failed' })
    await outcomeOf(c, { state: 'pending', dueSteadyUs: NOW + SECOND })
    await outcomeOf(d, { state: 'pending', dueSteadyUs: NOW + SECOND })
    await outcomeOf(d, { state: 'delivered', attemptUs: NOW + 9 * SECOND })
    await outcomeOf(kept, { state: 'delivered' })
    const responsesOf = async (id: number) =>
      (await log.deliveryGet(ACCOUNT, id))?.attempts.map((attempt) => attempt.response)
    expect(await Promise.all(ids.map(responsesOf))).toEqual([[null], [null], [null], [null, null], [response]])
  })

  test('a number that is erased in its E.164 form is erased from a live call as its PBX spells it', async () => {
    await using at = await open(ONE)
    const { calls, maintenance } = at.store
    const from = { number: '030123456', e164: '+4930123456' }
    await at.put(event('up', { name: 'call_started', body: JSON.stringify({ data: { call: { from } } }) }))
    const state = (number: string | null) => JSON.stringify({ call: { from: number } })
    const live = ['up', 'elsewhere'].map((id) => ({ id, state: state('030123456') }))
    await calls.batchStore(batch({}, { live }))
    expect(await maintenance.liveCallErase('+4930123456')).toBe(1)
    const left = await calls.liveCallList('office')
    // Another PBX may mean another subscriber by the same digits.
    expect(left.toSorted((one, other) => one.id.localeCompare(other.id))).toEqual([
      { id: 'elsewhere', state: state('030123456') },
      { id: 'up', state: state(null) },
    ])
  })
})
