import { expect, test } from 'bun:test'
import type { PbxRecord } from '../../../src/store/operations/pbxs.ts'
import type { RecordingRecord } from '../../../src/store/operations/recordings.ts'
import { until } from '../../help/receiver.ts'
import { pendingRecording } from '../../help/recordings.ts'
import { batch } from '../../help/store.ts'
import { ACCOUNT, NOW, ONE, onEngines } from './rig.ts'

onEngines('pbxs', ({ open, engine }) => {
  const office: PbxRecord = {
    name: 'office',
    url: 'ami://u:s@h',
    version: '1',
    endsCalls: false,
    recordings: null,
    origin: 'store',
  }

  test('are added and replaced only if they have not changed since they were read', async () => {
    await using at = await open()
    const { pbxs } = at.store
    expect(await pbxs.pbxSet({ ...office, seenVersion: '0' })).toBe(false)
    expect(await pbxs.pbxSet({ ...office, seenVersion: null })).toBe(true)
    expect(await pbxs.pbxSet({ ...office, version: '2', seenVersion: null })).toBe(false)
    expect(await pbxs.pbxList()).toEqual([office])
    const moved = { ...office, url: 'esl://:s@h', origin: 'settings', version: '2', endsCalls: true } as const
    expect(await pbxs.pbxSet({ ...moved, seenVersion: '2' })).toBe(false)
    expect(await pbxs.pbxSet({ ...moved, seenVersion: '1' })).toBe(true)
    const branch = { ...office, name: 'branch', url: null }
    await pbxs.pbxSet({ ...branch, seenVersion: null })
    expect(await pbxs.pbxList()).toEqual([branch, moved])
  })

  test('are deleted with their memory when the calls of an earlier PBX are ended', async () => {
    await using at = await open()
    const { pbxs, calls } = at.store
    const known = async () => [await calls.pbxMemoryGet('office'), (await pbxs.pbxStateList()).length]
    const note = async () => {
      await calls.pbxMemorySet('office', '{}')
      await pbxs.pbxStateSetMany([{ pbx: 'office', state: '{}', atSteadyUs: NOW }])
    }
    await note()
    await pbxs.pbxSet({ ...office, endsCalls: true, seenVersion: null })
    expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '0' })).toBe(false)
    expect(await known()).toEqual(['{}', 1])
    expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '1' })).toBe(true)
    expect([await pbxs.pbxList(), await known()]).toEqual([[office], [undefined, 0]])
    await note()
    await pbxs.pbxSet({ ...office, url: null, version: '2', endsCalls: true, seenVersion: '1' })
    expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '2' })).toBe(true)
    expect([await pbxs.pbxList(), await known()]).toEqual([[], [undefined, 0]])
  })

  test('go one by one when their calls are ended: others that were removed are left to what deletes them all', async () => {
    await using at = await open()
    const { pbxs } = at.store
    const removed = { ...office, url: null, seenVersion: null }
    await pbxs.pbxSet({ ...removed, name: 'a', endsCalls: true })
    await pbxs.pbxSet({ ...removed, name: 'b' })
    await pbxs.pbxSet({ ...office, name: 'c', seenVersion: null })
    const names = async () => (await pbxs.pbxList()).map(({ name }) => name)
    expect(await pbxs.pbxSetCallsEnded({ name: 'a', version: '1' })).toBe(true)
    expect(await names()).toEqual(['b', 'c'])
    expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([true, ['c']])
  })

  test('stay when they are removed while recordings depend on them, and are deleted then', async () => {
    await using at = await open(ONE)
    const { pbxs, calls, recordings } = at.store
    const recording = (id: string, more: Partial<RecordingRecord> = {}) =>
      pendingRecording(id, { accountId: ACCOUNT, sinceUs: NOW, ...more })
    const put = (...some: RecordingRecord[]) => calls.batchStore(batch({}, { recordings: some }))
    const names = async () => (await pbxs.pbxList()).map(({ name }) => name)
    await put(recording('a'), recording('b'), recording('c', { pbx: 'branch', state: 'failed' }))
    const removed = { ...office, url: null, endsCalls: true, recordings: '{"location":"/a"}', seenVersion: null }
    await pbxs.pbxSet(removed)
    await pbxs.pbxSet({ ...removed, name: 'branch' })
    expect(await pbxs.pbxDeleteRemoved()).toBe(false)
    for (const name of ['office', 'branch']) await pbxs.pbxSetCallsEnded({ name, version: '1' })
    const kept = { ...office, url: null, recordings: '{"location":"/a"}' }
    expect(await pbxs.pbxList()).toEqual([kept])
    expect(await recordings.recordingListPendingPbxs()).toEqual(['office'])
    await put(recording('a', { state: 'failed' }), recording('b', { state: 'saved' }))
    expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([false, ['office']])
    expect(await recordings.recordingListPendingPbxs()).toEqual([])
    await recordings.recordingDelete({ callIds: ['call'], ids: ['b'] })
    await put(recording('d', { state: 'saved', copy: 'd.wav' }))
    expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([true, []])
    expect(await pbxs.pbxDeleteRemoved()).toBe(false)
    await put(recording('e'))
    await pbxs.pbxSet({ ...removed, recordings: null })
    await pbxs.pbxSetCallsEnded({ name: 'office', version: '1' })
    expect(await names()).toEqual([])
  })

  test('have a state that their owner replaces', async () => {
    await using at = await open()
    const { pbxs } = at.store
    await pbxs.pbxStateSetMany([
      { pbx: 'office', state: '{"state":"down"}', atSteadyUs: NOW },
      { pbx: 'branch', state: '{}', atSteadyUs: NOW },
    ])
    await pbxs.pbxStateSetMany([{ pbx: 'office', state: '{"state":"up"}', atSteadyUs: NOW + 1 }])
    expect((await pbxs.pbxStateList()).toSorted((one, other) => one.pbx.localeCompare(other.pbx))).toEqual([
      { pbx: 'branch', state: '{}', atSteadyUs: NOW },
      { pbx: 'office', state: '{"state":"up"}', atSteadyUs: NOW + 1 },
    ])
  })

  test('are known from other nodes where there are other nodes', async () => {
    await using at = await open()
    expect(await at.store.pbxs.pbxListInSettings()).toEqual(engine === 'SQLite' ? null : [])
  })

  test.skipIf(engine === 'SQLite')('are noticed when another node changes them', async () => {
    await using at = await open()
    const other = await at.another()
    let seen = 0
    at.store.onForeignChange(() => {
      seen += 1
    })
    await until('it is noticed', async () => {
      await other.pbxs.pbxSet({ ...office, name: crypto.randomUUID(), seenVersion: null })
      return seen > 0
    })
  })
})
