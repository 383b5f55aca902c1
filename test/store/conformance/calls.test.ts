import { expect, test } from 'bun:test'
import type { CallFacts, NewEvent } from '../../../src/store/operations/calls.ts'
import { batch, storeEvents } from '../../help/store.ts'
import { ACCOUNT, event, NOW, ONE, onEngines, savedCall, user } from './rig.ts'

/** The facts of a call, which its record has, too. */
const withFacts = ({ pbx, result, missed, who }: CallFacts) => ({
  facts: { pbx, result, missed, who },
  record: JSON.stringify({ pbx, who, call: { result, missed } }),
})

onEngines('calls', ({ open }) => {
  test('a batch stores events, live calls and records of several accounts together', async () => {
    await using at = await open(ONE)
    const { accounts, calls, log } = at.store
    await accounts.userCreate(user('b@example.com', 'other'))
    const other = (await accounts.accountGetId('other')) ?? 0
    const parts = [
      { accountId: ACCOUNT, events: [event('mine')], saved: [savedCall('mine')] },
      { accountId: other, events: [event('theirs')], saved: [] },
    ]
    const live = [{ id: 'up', state: '{"call":1}' }]
    const placed = await calls.batchStore({ pbx: 'office', parts, live, removed: [], nowSteadyUs: NOW })
    expect(placed.map(({ webhookIds }) => webhookIds.length)).toEqual([1, 0])
    expect(await calls.callGet(ACCOUNT, 'mine')).toContain('15551230001')
    expect(await calls.callGet(other, 'mine')).toBeUndefined()
    expect(await log.eventListOfCall(other, 'theirs')).toHaveLength(1)
    expect(await log.eventListOfCall(other, 'mine')).toEqual([])
    expect(await calls.liveCallList('office')).toEqual(live)
  })

  test('the facts of saved calls are listed newest first, and calls are read by their ids', async () => {
    await using at = await open()
    const { calls } = at.store
    const facts = { pbx: 'office', result: 'no_answer', missed: true, who: ' 101 \n 15551230001 101 \nAnna' }
    const saved = [
      savedCall('old', NOW),
      savedCall('mid', NOW + 1, withFacts(facts)),
      savedCall('new', NOW + 2, { direction: 'outbound' }),
    ]
    await calls.batchStore(batch({ saved }))
    const scan = { accountId: ACCOUNT, after: undefined, limit: 9 }
    expect((await calls.callScan(scan)).map(({ id }) => id)).toEqual(['new', 'mid', 'old'])
    expect(await calls.callScan({ ...scan, after: { savedUs: NOW + 2, id: 'new' }, limit: 1 })).toEqual([
      { id: 'mid', savedUs: NOW + 1, direction: 'inbound', ...facts },
    ])
    expect((await calls.callScan({ ...scan, sinceUs: NOW + 1, untilUs: NOW + 2 })).map(({ id }) => id)).toEqual(['mid'])
    expect(await calls.callScan({ ...scan, accountId: 2 })).toEqual([])
    const ids = ['old', 'unknown', 'new']
    expect((await calls.callGetMany({ accountId: ACCOUNT, ids })).map(({ id }) => id)).toEqual(['old', 'new'])
    expect(await calls.callGetMany({ accountId: 2, ids })).toEqual([])
  })

  test('the calls that a scan finds are counted, those with the same facts together', async () => {
    await using at = await open()
    const { calls } = at.store
    const answered = { pbx: 'office', result: 'answered', missed: false, who: ' 101 \n\n' }
    const missed = { ...answered, result: 'no_answer', missed: true }
    const saved = [
      savedCall('a', NOW, withFacts(answered)),
      savedCall('b', NOW + 1, withFacts({ ...missed, who: ' 102 \n\n' })),
      savedCall('c', NOW + 1, withFacts(missed)),
      savedCall('d', NOW + 2, { direction: 'outbound', ...withFacts(answered) }),
      savedCall('e', NOW + 3, withFacts({ ...answered, pbx: null })),
    ]
    await calls.batchStore(batch({ saved }))
    const scan = { accountId: ACCOUNT, after: undefined, limit: 9 }
    const all = await calls.callCount(scan)
    const sorted = all.counts
      .map(({ missedIds, ...one }) => ({ ...one, missedIds: missedIds.toSorted() }))
      .toSorted((one, other) => other.count - one.count || `${one.pbx}`.localeCompare(`${other.pbx}`))
    const inbound = { direction: 'inbound', pbx: 'office', lacksFacts: false, missedIds: [] } as const
    expect(all.next).toBeNull()
    expect(sorted[0]).toEqual({ ...inbound, result: 'no_answer', missed: true, count: 2, missedIds: ['b', 'c'] })
    const one = { result: 'answered', missed: false, count: 1 }
    expect(sorted).toHaveLength(4)
    expect(sorted.slice(1)).toEqual(
      expect.arrayContaining([
        { ...inbound, ...one, pbx: null },
        { ...inbound, ...one },
        { ...inbound, ...one, direction: 'outbound' },
      ]),
    )
    // In parts: each begins behind the one before, also between calls of one moment.
    const parts: string[] = []
    for (let after: { savedUs: number; id: string } | undefined; ; ) {
      const { counts, next } = await calls.callCount({ ...scan, after, limit: 2 })
      parts.push(`${counts.reduce((sum, { count }) => sum + count, 0)} to ${next?.id ?? 'the end'}`)
      if (next === null) break
      after = next
    }
    expect(parts).toEqual(['2 to d', '2 to b', '1 to the end'])
    expect(await calls.callCount({ ...scan, sinceUs: NOW + 9 })).toEqual({ counts: [], next: null })
    expect((await calls.callCount({ ...scan, accountId: 2 })).counts).toEqual([])
    expect((await calls.callCount({ ...scan, untilUs: NOW + 1 })).counts).toEqual([{ ...inbound, ...one }])
  })

  test('a missed call is to be called back until its number was reached, or was answered', async () => {
    await using at = await open()
    const { calls } = at.store
    const facts = (result: string) => withFacts({ pbx: 'office', result, missed: result !== 'answered', who: '' })
    const from = (fromNumber: string, result: string) => ({ fromNumber, ...facts(result) })
    const to = (toNumber: string, result: string) =>
      ({ direction: 'outbound', fromNumber: '101', toNumber, ...facts(result) }) as const
    const saved = [
      savedCall('open', NOW, from('1001', 'no_answer')),
      savedCall('reached', NOW, from('1002', 'no_answer')),
      savedCall('called again', NOW, from('1003', 'no_answer')),
      savedCall('tried', NOW, from('1004', 'no_answer')),
      savedCall('out', NOW + 1, to('1002', 'answered')),
      savedCall('in', NOW + 1, from('1003', 'answered')),
      savedCall('no', NOW + 1, to('1004', 'no_answer')),
    ]
    await calls.batchStore(batch({ saved }))
    const ids = ['open', 'reached', 'called again', 'tried']
    const left = await calls.callListToCallBack({ accountId: ACCOUNT, ids })
    expect(left.toSorted()).toEqual(['open', 'tried'])
    expect(await calls.callListToCallBack({ accountId: 2, ids })).toEqual([])
  })

  test('thousands of live calls are all read, with their accounts, in the order of their ids', async () => {
    await using at = await open()
    const { calls } = at.store
    const ids = Array.from({ length: 1_501 }, (_, number) => `call-${String(number).padStart(4, '0')}`)
    const live = ids.map((id) => ({ id, state: `"${id}"` }))
    // A call without an event belongs to no account, also where a part of the list begins or ends.
    const withoutEvents = new Set(['call-0000', 'call-0499', 'call-0500', 'call-1500'])
    const known = ids.filter((id) => !withoutEvents.has(id))
    await calls.batchStore(batch({ events: known.map((id) => event(id)) }, { live: live.toReversed() }))
    expect(await calls.liveCallList('office')).toEqual(live)
    const accounts = await calls.liveCallListAccounts('office')
    expect(accounts.map(({ callId }) => callId)).toEqual(known)
    expect(new Set(accounts.map(({ accountId, account }) => `${accountId} ${account}`))).toEqual(
      new Set([`${ACCOUNT} default`]),
    )
    expect([await calls.liveCallList('branch'), await calls.liveCallListAccounts('branch')]).toEqual([[], []])
  })

  test('live calls are replaced and removed, PBX by PBX, and their accounts are known', async () => {
    await using at = await open()
    const { calls } = at.store
    const put = (pbx: string, live: { id: string; state: string }[], removed: string[] = [], ...some: NewEvent[]) =>
      calls.batchStore(batch({ events: some }, { pbx, live, removed }))
    await put('office', [{ id: 'a', state: '1' }], [], event('a'))
    await put('office', [
      { id: 'a', state: '2' },
      { id: 'b', state: '3' },
    ])
    await put('branch', [{ id: 'a', state: '4' }], [], event('c'))
    expect(await calls.liveCallList('office')).toEqual([
      { id: 'a', state: '2' },
      { id: 'b', state: '3' },
    ])
    expect(await calls.liveCallListAccounts('office')).toEqual([{ callId: 'a', accountId: 1, account: 'default' }])
    await put('office', [], ['a'])
    expect(await calls.liveCallList('office')).toEqual([{ id: 'b', state: '3' }])
    expect(await calls.orphanedPbxList(['office'])).toEqual([{ pbx: 'branch', accountId: 1, account: 'default' }])
    expect(await calls.orphanedPbxList(['office', 'branch'])).toEqual([])
  })

  test('phones, trunks, agents and queues are replaced and removed, PBX by PBX', async () => {
    await using at = await open()
    const { calls } = at.store
    const put = (pbx: string, subjects: { id: string; state: string | null }[]) =>
      calls.batchStore(batch({}, { pbx, subjects }))
    await put('office', [
      { id: 'phone 101', state: '1' },
      { id: 'phone 102', state: '2' },
    ])
    await put('branch', [{ id: 'phone 101', state: '3' }])
    await put('office', [
      { id: 'phone 101', state: '4' },
      { id: 'phone 102', state: null },
      { id: 'phone 103', state: null },
    ])
    expect(await calls.subjectStateList('office')).toEqual([{ id: 'phone 101', state: '4' }])
    expect(await calls.subjectStateList('branch')).toEqual([{ id: 'phone 101', state: '3' }])
  })

  test('the known endpoints of a PBX are replaced as a whole, PBX by PBX', async () => {
    await using at = await open()
    const { calls } = at.store
    expect(await calls.pbxMemoryGet('office')).toBeUndefined()
    await calls.pbxMemorySet('office', '{"one":1}')
    await calls.pbxMemorySet('branch', '{"two":2}')
    await calls.pbxMemorySet('office', '{"three":3}')
    expect(await calls.pbxMemoryGet('office')).toBe('{"three":3}')
    expect(await calls.pbxMemoryGet('branch')).toBe('{"two":2}')
  })

  test('saved calls are listed newest first, in pages, by direction, number and time', async () => {
    await using at = await open()
    const { calls } = at.store
    const records = Array.from({ length: 5 }, (_, n) =>
      savedCall(`call ${n}`, NOW + n, n === 3 ? { direction: 'outbound', toNumber: '999' } : {}),
    )
    await calls.batchStore(batch({ saved: records }))
    const list = async (filter: object, limit = 9, after?: { savedUs: number; id: string }) =>
      (await calls.callList({ accountId: ACCOUNT, filter, limit, after })).map(({ id }) => id)
    expect(await list({})).toEqual(['call 4', 'call 3', 'call 2', 'call 1', 'call 0'])
    expect(await list({}, 2, { savedUs: NOW + 3, id: 'call 3' })).toEqual(['call 2', 'call 1'])
    expect(await list({ direction: 'outbound' })).toEqual(['call 3'])
    expect(await list({ number: '999' })).toEqual(['call 3'])
    expect(await list({ sinceUs: NOW + 1, untilUs: NOW + 3 })).toEqual(['call 2', 'call 1'])
    expect(await calls.callList({ accountId: 2, filter: {}, limit: 9, after: undefined })).toEqual([])
    const ofNumber = (number: string, limit = 9, accountId = ACCOUNT) =>
      calls.callListIdsOfNumber({ accountId, number, limit })
    expect(await ofNumber('101')).toEqual(['call 4', 'call 2', 'call 1', 'call 0'])
    expect(await ofNumber('15551230001', 2)).toEqual(['call 4', 'call 3'])
    expect(await ofNumber('101', 9, 2)).toEqual([])
    expect(await ofNumber('10')).toEqual([])
  })

  test('a number in E.164 finds the calls whose PBX spells it otherwise, in pages', async () => {
    await using at = await open()
    const { calls } = at.store
    const call = (id: string, savedUs: number, number: string, e164: string | null) =>
      savedCall(id, savedUs, {
        fromNumber: number,
        fromE164: e164,
        record: JSON.stringify({ call: { id, from: { number, e164 } } }),
      })
    const records = [
      call('national', NOW + 1, '030123456', '+4930123456'),
      call('as it is', NOW + 2, '+4930123456', '+4930123456'),
      call('abroad', NOW + 3, '004930123456', '+4930123456'),
      call('of another country', NOW + 4, '030123456', '+4330123456'),
      call('without a country', NOW + 5, '030123456', null),
    ]
    await calls.batchStore(batch({ saved: records }))
    const list = async (number: string, limit = 9, after?: { savedUs: number; id: string }) =>
      (await calls.callList({ accountId: ACCOUNT, filter: { number }, limit, after })).map(({ id }) => id)
    expect(await list('+4930123456')).toEqual(['abroad', 'as it is', 'national'])
    expect(await list('+4930123456', 2)).toEqual(['abroad', 'as it is'])
    expect(await list('+4930123456', 2, { savedUs: NOW + 2, id: 'as it is' })).toEqual(['national'])
    expect(await list('030123456')).toEqual(['without a country', 'of another country', 'national'])
    expect(await calls.callListIdsOfNumber({ accountId: ACCOUNT, number: '+4930123456', limit: 2 })).toHaveLength(2)
  })

  test('a number in E.164 finds a call however its PBX spells it, and by the parties alone', async () => {
    await using at = await open()
    const { calls } = at.store
    const e164 = '+4930123456'
    type Party = { readonly number: string; readonly e164: string | null; readonly name?: string }
    type Parties = { readonly from: Party; readonly to: Party }
    const call = (id: string, savedUs: number, { from, to, ...rest }: Parties & { answered_by?: object }) =>
      savedCall(id, savedUs, {
        fromNumber: 'trunk:17',
        toNumber: '0301',
        fromE164: from.e164,
        toE164: to.e164,
        record: JSON.stringify({ call: { from, to, ...rest } }),
      })
    const none = { number: '0301', e164: null }
    const records = [
      call('from', NOW + 1, { from: { number: 'trunk:17', e164 }, to: none }),
      call('to, whose name has a NUL', NOW + 2, { from: { ...none, name: '\u0000"' }, to: { number: '0301', e164 } }),
      call('answered by', NOW + 3, { from: none, to: none, answered_by: { number: '0301', e164 } }),
      savedCall('of an earlier version', NOW + 4, { fromNumber: e164, toNumber: null, record: '{}' }),
    ]
    await calls.batchStore(batch({ saved: records }))
    const found = await calls.callListIdsOfNumber({ accountId: ACCOUNT, number: e164, limit: 9 })
    expect(found).toEqual(['of an earlier version', 'to, whose name has a NUL', 'from'])
  })

  test('calls are found by the end of their id, in any case, the newest first, of one account or of all', async () => {
    await using at = await open(ONE)
    const { accounts, calls } = at.store
    await accounts.userCreate(user('b@example.com', 'acme'))
    const other = (await accounts.accountGetId('acme')) ?? 0
    await at.put(event('01-aaa-0000beef'), event('01-bbb-0000beef'), event('02-ccc-0000cafe'), event('02-ccc-0000cafe'))
    await storeEvents(at.store, [event('03-ddd-0000beef')], { accountId: other, nowSteadyUs: NOW })
    const find = (ending: string, accountId: number | null = ACCOUNT) => calls.callIdListEndingIn({ accountId, ending })
    expect(await find('0000BEEF')).toEqual(['01-bbb-0000beef', '01-aaa-0000beef'])
    expect(await find('a-0000beef')).toEqual(['01-aaa-0000beef'])
    expect(await find('0000cafe')).toEqual(['02-ccc-0000cafe'])
    expect(await find('0000beef', other)).toEqual(['03-ddd-0000beef'])
    expect(await find('0000beef', null)).toEqual(['03-ddd-0000beef', '01-bbb-0000beef', '01-aaa-0000beef'])
    for (const none of ['01-aaa-0', '%0000bee', 'x-0000beef']) expect(await find(none)).toEqual([])
  })
})
