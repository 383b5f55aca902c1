import { expect, test } from 'bun:test'
import { nowUs, SECOND } from '../../../src/lib/time.ts'
import type { NewCallRequest } from '../../../src/store/operations/call-requests.ts'
import { ACCOUNT, onEngines, user } from './rig.ts'

const request = (id: string, more: Partial<NewCallRequest> = {}): NewCallRequest => ({
  id,
  accountId: ACCOUNT,
  pbx: 'office',
  extension: '101',
  number: '+4930123456',
  name: 'Bob',
  callId: null,
  atUs: nowUs(),
  limit: 30,
  ...more,
})

onEngines('callRequests', ({ open, engine }) => {
  test('a request is taken once, by its PBX, and keeps the answer but not the number', async () => {
    await using at = await open()
    const { callRequests } = at.store
    expect(await callRequests.callRequestAdd(request('one'))).toEqual({ kind: 'added' })
    const of = (pbx: string) => ({ pbx, atUs: nowUs() })
    expect(await callRequests.callRequestTake(of('branch'))).toEqual([])
    const facts = { id: 'one', accountId: ACCOUNT, pbx: 'office', extension: '101', callId: null }
    expect(await callRequests.callRequestTake(of('office'))).toEqual([{ ...facts, number: '+4930123456', name: 'Bob' }])
    expect(await callRequests.callRequestTake(of('office'))).toEqual([])
    expect(await callRequests.callRequestGet('one')).toEqual({ ...facts, state: 'asked', reason: null })
    await callRequests.callRequestSetAnswer({ id: 'one', state: 'refused', reason: 'busy' })
    await callRequests.callRequestSetAnswer({ id: 'one', state: 'made', reason: null })
    expect(await callRequests.callRequestGet('one')).toEqual({ ...facts, state: 'refused', reason: 'busy' })
    expect(await callRequests.callRequestGet('two')).toBeUndefined()
  })

  test('a phone is busy while its request is open; other phones, PBXs and accounts are not', async () => {
    await using at = await open()
    const { callRequests, accounts } = at.store
    await accounts.userCreate(user('b@example.com', 'b'))
    const add = async (id: string, more: Partial<NewCallRequest> = {}) =>
      (await callRequests.callRequestAdd(request(id, more))).kind
    const openIds = async () =>
      (await callRequests.callRequestListOpen({ pbx: 'office', atUs: nowUs() })).map(({ id }) => id).toSorted()
    expect(await add('1')).toBe('added')
    expect(await add('2')).toBe('busy')
    expect(await Promise.all([add('3', { extension: '102' }), add('4', { pbx: 'branch' })])).toEqual(['added', 'added'])
    expect(await add('5', { accountId: (await accounts.accountGetId('b')) ?? 0 })).toBe('added')
    expect(await add('6', { extension: null, callId: 'a call to hang up' })).toBe('added')
    expect(await openIds()).toEqual(['1', '3', '5'])
    await callRequests.callRequestSetCall({ id: '1', callId: 'call 1' })
    expect(await callRequests.callRequestGet('1')).toMatchObject({ callId: 'call 1' })
    expect(await add('7')).toBe('busy')
    await callRequests.callRequestSetOver(['1'])
    expect(await openIds()).toEqual(['3', '5'])
    expect(await add('8')).toBe('added')
    await callRequests.callRequestTake({ pbx: 'office', atUs: nowUs() })
    await callRequests.callRequestSetAnswer({ id: '8', state: 'refused', reason: 'no' })
    expect(await add('9')).toBe('added')
  })

  test('of two requests for one phone at the same time one is stored', async () => {
    await using at = await open()
    const added = await Promise.all(['a', 'b', 'c', 'd'].map((id) => at.store.callRequests.callRequestAdd(request(id))))
    expect(added.map(({ kind }) => kind).toSorted()).toEqual(['added', 'busy', 'busy', 'busy'])
  })

  test('an account has a limit of calls in a minute, and learns how long it has to wait', async () => {
    await using at = await open()
    const { callRequests } = at.store
    const add = (extension: string) => callRequests.callRequestAdd(request(extension, { extension, limit: 2 }))
    expect([await add('101'), await add('102')]).toEqual([{ kind: 'added' }, { kind: 'added' }])
    const refused = await add('103')
    expect(refused.kind).toBe('too_many')
    expect('waitUs' in refused && refused.waitUs > 0 && refused.waitUs <= 60 * SECOND).toBe(true)
    expect(await callRequests.callRequestAdd(request('h', { extension: null, callId: 'c', limit: 2 }))).toEqual({
      kind: 'added',
    })
  })

  // Postgres has a clock of its own.
  test.skipIf(engine !== 'SQLite')(
    'a request that waited too long is refused; one whose call was never seen is over',
    async () => {
      await using at = await open()
      const { callRequests } = at.store
      const atUs = nowUs()
      await callRequests.callRequestAdd(request('late', { atUs }))
      expect(await callRequests.callRequestTake({ pbx: 'office', atUs: atUs + 3 * SECOND + 1 })).toEqual([])
      expect(await callRequests.callRequestGet('late')).toMatchObject({
        state: 'refused',
        reason: 'the request waited too long, so that nothing was dialled',
      })
      await callRequests.callRequestAdd(request('unseen', { atUs }))
      expect((await callRequests.callRequestAdd(request('x', { atUs: atUs + 59 * SECOND }))).kind).toBe('busy')
      expect((await callRequests.callRequestAdd(request('y', { atUs: atUs + 61 * SECOND }))).kind).toBe('added')
      await callRequests.callRequestSetCall({ id: 'y', callId: 'call' })
      expect((await callRequests.callRequestAdd(request('z', { atUs: atUs + 600 * SECOND }))).kind).toBe('busy')
      expect((await callRequests.callRequestAdd(request('w', { atUs: atUs + 100_000 * SECOND }))).kind).toBe('added')
    },
  )
})
