import { expect, test } from 'bun:test'
import { batch, storeEvents } from '../../help/store.ts'
import { ACCOUNT, event, HOUR, idsOf, NOW, ONE, onEngines, outcomes, TWO, user } from './rig.ts'

onEngines('log', ({ open }) => {
  test('bodies are read by the ids of their events', async () => {
    await using at = await open(ONE)
    const stored = await at.put(event('a', { body: '{"data":{"n":1}}' }), event('b', { body: '{"data":{"n":2}}' }))
    const ids = stored.map(({ id }) => id)
    const bodies = await at.store.log.eventGetBodies([...ids, 1_000_000])
    expect(bodies.toSorted((one, other) => one.id - other.id)).toEqual([
      { id: ids[0] ?? 0, body: '{"data":{"n":1}}' },
      { id: ids[1] ?? 0, body: '{"data":{"n":2}}' },
    ])
    expect(await at.store.log.eventGetBodies([])).toEqual([])
  })

  test('deliveries are found by state, event, URL, call and time, in parts, of one account or of all', async () => {
    await using at = await open(ONE, TWO)
    const { log, queue } = at.store
    const ids = idsOf(await at.put(event('a'), event('b', { name: 'call_ended' })))
    await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 1), { state: 'delivered' }))
    const find = async (filter: object, accountId: number | null = ACCOUNT) => {
      const found: number[] = []
      for (let fromId: number | null = 0; fromId !== null; ) {
        const part = await log.deliveryList({ filter: { accountId, ...filter }, fromId, limit: 3, order: 'oldest' })
        found.push(...part.rows.map(({ id }) => id))
        fromId = part.nextId
      }
      return found
    }
    expect(await find({})).toEqual(ids)
    expect(await find({}, null)).toEqual(ids)
    expect(await find({}, 2)).toEqual([])
    expect(await find({ state: 'delivered' })).toEqual(ids.slice(0, 1))
    expect(await find({ event: 'call_ended' })).toEqual(ids.slice(2))
    expect(await find({ url: TWO })).toEqual([ids[1] ?? 0, ids[3] ?? 0])
    expect(await find({ callIds: ['a'], state: 'pending' })).toEqual([ids[1] ?? 0])
    expect(await find({ callIds: ['b', 'a', 'c'] })).toEqual(ids)
    expect(await find({ callIds: [] })).toEqual([])
    expect(await find({ sinceUs: NOW, untilUs: NOW + 1 })).toEqual(ids)
    expect(await find({ untilUs: NOW })).toEqual([])
  })

  test('one delivery, and many by their ids', async () => {
    await using at = await open(ONE)
    const { log } = at.store
    const [stored] = await at.put(event('a'))
    const [id = 0] = idsOf(stored === undefined ? [] : [stored])
    expect(await log.deliveryGet(ACCOUNT, id)).toMatchObject({ id, url: ONE, body: stored?.body, attempts: [] })
    expect(await log.deliveryGet(null, id)).toBeDefined()
    expect(await log.deliveryGet(2, id)).toBeUndefined()
    expect(await log.deliveryGet(ACCOUNT, id + 1)).toBeUndefined()
    expect(await log.deliveryGetMany([id, 999_999])).toMatchObject([{ id, accountId: ACCOUNT, state: 'pending' }])
  })

  test('what events are about is known by their ids', async () => {
    await using at = await open(ONE)
    const call = { id: 'a', from: { number: '15551230001', name: null }, to: { number: '101', name: 'Anna' } }
    const [stored] = await at.put(event('a', { body: JSON.stringify({ data: { name: 'call_started', call } }) }))
    const id = stored?.id ?? 0
    const [found, ...others] = await at.store.log.eventAboutList([id, 999_999])
    expect(others).toEqual([])
    expect(found?.id).toBe(id)
    expect(JSON.parse(found?.about ?? '')).toMatchObject({ from: call.from, to: call.to, phone: null, queue: null })
  })

  test('what an event is about is known also if a name has characters that no text of Postgres may have', async () => {
    await using at = await open(ONE)
    const about = async (id: string, name: string) => {
      const call = { id, from: { number: '15551230001', name }, to: { number: '101', name: '\\u0000' } }
      const [stored] = await at.put(event(id, { body: JSON.stringify({ data: { name: 'call_started', call } }) }))
      const [found] = await at.store.log.eventAboutList([stored?.id ?? 0])
      return JSON.parse(found?.about ?? '')
    }
    for (const name of ['a\0b', 'half \ud83d of one', 'whole \u{1f4de}'])
      expect(await about(`call ${name.length}`, name)).toMatchObject({
        from: { number: '15551230001' },
        to: { number: '101' },
      })
  })

  test('a part of events has been read after 200 of them, also if none of them matches', async () => {
    await using at = await open(ONE)
    const ids = (await at.put(...Array.from({ length: 450 }, (_, index) => event(`${index}`)))).map(({ id }) => id)
    const query = { accountId: ACCOUNT, limit: 9, names: ['call_missed'] }
    const lastIds: number[] = []
    for (let [afterId, isEnd] = [0, false]; !isEnd; lastIds.push(afterId)) {
      const part = await at.store.log.eventRead({ ...query, afterId })
      expect(part.items).toEqual([])
      afterId = part.lastId
      isEnd = part.isEnd
    }
    expect(lastIds).toEqual([199, 399, 449].map((at) => ids[at] ?? 0))
  })

  test('events are read back in the order in which they were stored, part by part, of one account', async () => {
    await using at = await open(ONE)
    const { log, accounts, webhooks, maintenance } = at.store
    await accounts.userCreate(user('b@example.com', 'acme'))
    const other = (await accounts.accountGetId('acme')) ?? 0
    await webhooks.listReplace({ accountId: other, list: [], ifMatch: null, nowUs: NOW, secrets: [] })
    const some = [event('a'), event('b', { name: 'call_ended' }), event('a', { name: 'call_ended' }), event('c')]
    const stored = await at.put(...some)
    await storeEvents(at.store, [event('theirs')], { accountId: other, nowSteadyUs: NOW })
    const [first = 0, second = 0, third = 0, last = 0] = stored.map(({ id }) => id)
    const readAll = async (query: { names?: string[]; callId?: string; limit: number }, accountId = ACCOUNT) => {
      const ids: number[] = []
      for (let afterId = 0; ; ) {
        const part = await log.eventRead({ accountId, afterId, ...query })
        expect(part.items.length).toBeLessThanOrEqual(query.limit)
        ids.push(...part.items.map(({ id }) => id))
        afterId = part.lastId
        if (part.isEnd) return { ids, afterId }
      }
    }
    for (const limit of [1, 2, 3, 4, 9]) expect((await readAll({ limit })).ids).toEqual([first, second, third, last])
    for (const limit of [1, 9]) {
      expect(await readAll({ limit, names: ['call_ended'] })).toEqual({ ids: [second, third], afterId: last })
      expect(await readAll({ limit, callId: 'a' })).toEqual({ ids: [first, third], afterId: last })
      expect((await readAll({ limit, callId: 'a', names: ['call_ended'] })).ids).toEqual([third])
      expect(await readAll({ limit, callId: 'none' })).toEqual({ ids: [], afterId: last })
    }
    expect((await readAll({ limit: 9 }, other)).ids).toHaveLength(1)
    const [{ uuid = '', body = '' } = {}] = some
    const { items } = await log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 1 })
    const item = { id: first, uuid, name: 'call_started', callId: 'a', sequence: 1, atUs: NOW, body }
    expect(items).toEqual([item])
    expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: 0, newestId: last })
    expect(await log.eventRead({ accountId: ACCOUNT, afterId: last, limit: 9 })).toEqual({
      items: [],
      lastId: last,
      isEnd: true,
    })
    await maintenance.callErase(['c'])
    // Nothing of it was delivered: it keeps its body.
    expect((await readAll({ limit: 9 })).ids).toHaveLength(4)
    await at.store.queue.deliveryRecordOutcomes(outcomes(idsOf(stored.slice(3)), { state: 'delivered' }))
    await maintenance.callErase(['c'])
    expect(await readAll({ limit: 9 })).toEqual({ ids: [first, second, third], afterId: last })
  })

  test('the history of each event is known and does not change; positions before all events have the first history', async () => {
    await using at = await open(ONE)
    const { log } = at.store
    expect(await log.eventGetHistories([0, 1, 99])).toEqual([0, 0, 0])
    const [first = 0] = (await at.put(event('a'))).map(({ id }) => id)
    const [before, of = 0, behind] = await log.eventGetHistories([first - 1, first, first + 1_000])
    expect([before, of > 0, behind]).toEqual([0, true, of])
    const [second = 0] = (await at.put(event('b'))).map(({ id }) => id)
    expect(await log.eventGetHistories([second, first])).toEqual([of, of])
    expect(await log.eventGetHistories([])).toEqual([])
  })

  test('there is a key for the ids that clients get; no plain id was given out in a new store', async () => {
    await using at = await open(ONE)
    const key = await at.store.log.publicIdKeyGet()
    expect(key).toEqual({ key: expect.stringMatching(/^[0-9a-f]{32}$/), plainTo: 0 })
    expect(await at.store.log.publicIdKeyGet()).toEqual(key)
  })

  test('behind which event none was deleted is known of each account', async () => {
    await using at = await open(ONE)
    const { log, maintenance, queue, accounts } = at.store
    await accounts.userCreate(user('b@example.com', 'acme'))
    const other = (await accounts.accountGetId('acme')) ?? 0
    expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: 0, newestId: 0 })
    const stored = await at.put(event('a'), event('b'), event('c'), event('d'))
    await storeEvents(at.store, [event('theirs')], { accountId: other, nowSteadyUs: NOW })
    const [, second, third, last = 0] = stored.map(({ id }) => id)
    // The first failed and is kept longer, the second goes.
    await queue.deliveryRecordOutcomes(outcomes(idsOf(stored.slice(1, 3)), { state: 'delivered' }))
    const prune = { afterId: 0, deliveredBeforeUs: NOW + HOUR, failedBeforeUs: NOW, nowUs: NOW + HOUR }
    await maintenance.deliveryPrune({ ...prune, limit: 2 })
    expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: second ?? 0, newestId: last })
    await maintenance.deliveryPrune({ ...prune, limit: 9 })
    expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: third ?? 0, newestId: last })
    expect((await log.eventGetBounds(other)).oldestId).toBe(0)
  })

  test('the newest event of each account that has one is known', async () => {
    await using at = await open(ONE)
    const { accounts, log } = at.store
    const user = { account: 'theirs', type: 1, name: 'T', email: 't@example.com', passwordHash: 'x', atUs: NOW }
    await accounts.userCreate(user)
    const theirs = (await accounts.accountGetId('theirs')) ?? 0
    expect(await log.eventGetNewest([ACCOUNT, theirs])).toEqual(new Map())
    const stored = await at.put(event('a'), event('b'))
    expect(await log.eventGetNewest([ACCOUNT, theirs])).toEqual(new Map([[ACCOUNT, stored.at(-1)?.id ?? 0]]))
    expect(await log.eventGetNewest([])).toEqual(new Map())
    const [first = 0, last = 0] = stored.map(({ id }) => id)
    expect(await log.eventGetNewestAbove(0)).toEqual(new Map([[ACCOUNT, last]]))
    expect(await log.eventGetNewestAbove(first)).toEqual(new Map([[ACCOUNT, last]]))
    expect(await log.eventGetNewestAbove(last)).toEqual(new Map())
    const parts = [{ accountId: theirs, events: [event('c')], saved: [] }]
    const [placed] = await at.store.calls.batchStore(batch({}, { parts }))
    expect(await log.eventGetNewestAbove(last)).toEqual(new Map([[theirs, placed?.id ?? 0]]))
  })

  test('the events of a call come in order of their sequence, each with its deliveries', async () => {
    await using at = await open(ONE, TWO)
    await at.put(event('a', { sequence: 2, name: 'call_ended' }), event('a', { sequence: 1 }), event('b'))
    const found = await at.store.log.eventListOfCall(ACCOUNT, 'a')
    expect(found.map(({ name, deliveries }) => [name, deliveries.length])).toEqual([
      ['call_started', 2],
      ['call_ended', 2],
    ])
  })
})
