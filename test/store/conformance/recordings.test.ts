import { expect, test } from 'bun:test'
import {
  FIRST_RECORDING,
  type RecordingPosition,
  type RecordingRecord,
} from '../../../src/store/operations/recordings.ts'
import { pendingRecording } from '../../help/recordings.ts'
import { batch } from '../../help/store.ts'
import { ACCOUNT, event, NOW, ONE, onEngines } from './rig.ts'

onEngines('recordings', ({ open }) => {
  const recording = (id: string, more: Partial<RecordingRecord> = {}) =>
    pendingRecording(id, { accountId: ACCOUNT, sinceUs: NOW, ...more })
  const saved = (id: string, more: Partial<RecordingRecord> = {}) =>
    recording(id, { state: 'saved', sizeBytes: 3_000_000_000, stamp: 's', mediaType: 'audio/wav', ...more })
  async function openWith(...recordings: RecordingRecord[]) {
    const at = await open(ONE)
    const put = (...some: RecordingRecord[]) => at.store.calls.batchStore(batch({}, { recordings: some }))
    await put(...recordings)
    const get = (recordingId: string, callId = 'call') => at.store.recordings.recordingGet({ callId, recordingId })
    return { ...at, put, get, recordings: at.store.recordings }
  }
  const idsOf = (rows: readonly RecordingRecord[]) => rows.map(({ id }) => id)

  test('a recording is stored with the events of a batch, and read back as it was', async () => {
    await using at = await openWith(recording('a', { path: 'Зоя\n東京.wav' }))
    expect(await at.get('a')).toEqual(recording('a', { path: 'Зоя\n東京.wav' }))
    expect(await at.get('b')).toBeUndefined()
    expect(await at.get('a', 'other')).toBeUndefined()
    const done = saved('a', { path: 'Зоя\n東京.wav', sha256: 'ab', copy: 'x/a.wav' })
    const placed = await at.store.calls.batchStore(batch({ events: [event('call')] }, { recordings: [done] }))
    expect(placed.map(({ webhookIds }) => webhookIds.length)).toEqual([1])
    expect(await at.get('a')).toEqual(done)
  })

  test('one that is saved, failed or erased does not become pending again', async () => {
    await using at = await openWith(saved('a'), recording('b', { state: 'failed', error: 'gone' }), recording('c'))
    await at.recordings.recordingErase(['call', 'unknown'])
    await at.put(recording('a'), recording('b'), saved('c'))
    const rows = await at.recordings.recordingListOfCalls(['call', 'unknown'])
    expect(rows.map(({ id, state }) => [id, state])).toEqual([
      ['a', 'erased'],
      ['b', 'erased'],
      ['c', 'erased'],
    ])
    await at.put(saved('d'))
    await at.put(recording('d'))
    expect((await at.get('d'))?.state).toBe('saved')
  })

  test('pending ones are listed PBX by PBX, the oldest first, and those in trouble the newest first', async () => {
    await using at = await openWith(
      recording('a', { sinceUs: NOW + 1, error: 'away' }),
      recording('b'),
      recording('c', { pbx: 'branch', error: 'away' }),
      recording('d', { state: 'failed', error: 'gone', sinceUs: NOW + 2 }),
      saved('e'),
    )
    const pending = (limit: number, after: RecordingPosition = FIRST_RECORDING) =>
      at.recordings.recordingListPending({ pbx: 'office', after, limit })
    expect(idsOf(await pending(9))).toEqual(['b', 'a'])
    const [first = recording('b')] = await pending(1)
    expect(idsOf([first, ...(await pending(9, first))])).toEqual(['b', 'a'])
    expect(idsOf(await at.recordings.recordingListTroubled(9))).toEqual(['d', 'a', 'c'])
    expect(idsOf(await at.recordings.recordingListTroubled(1))).toEqual(['d'])
    expect((await at.recordings.recordingListPendingPbxs()).toSorted()).toEqual(['branch', 'office'])
    expect(await at.recordings.recordingCount()).toEqual({ pending: 3, saved: 1, failed: 1, erased: 0 })
  })

  test('recordings of erased calls and old recordings are listed, and deleted one by one', async () => {
    await using at = await openWith(saved('old', { sinceUs: NOW - 1 }), saved('new'))
    await at.put(saved('other', { callId: 'erased' }))
    await at.recordings.recordingErase(['erased'])
    const expired = (after: RecordingPosition = FIRST_RECORDING, limit = 9) =>
      at.recordings.recordingListExpired({ beforeUs: NOW, after, limit })
    const erased = (after: RecordingPosition = FIRST_RECORDING) =>
      at.recordings.recordingListErased({ after, limit: 9 })
    await at.put(saved('older', { sinceUs: NOW - 2 }))
    expect(idsOf(await expired())).toEqual(['older', 'old'])
    expect(idsOf(await expired(FIRST_RECORDING, 1))).toEqual(['older'])
    expect(idsOf(await expired(saved('older', { sinceUs: NOW - 2 })))).toEqual(['old'])
    expect(idsOf(await erased())).toEqual(['other'])
    expect(await erased(saved('other', { callId: 'erased' }))).toEqual([])
    const errors = {
      callIds: ['erased', 'call', 'call'],
      ids: ['other', 'old', 'unknown'],
      errors: ['x', 'y', 'z'],
    }
    await at.recordings.recordingSetErrors(errors)
    const undeleted = await at.recordings.recordingListUndeleted(9)
    expect(undeleted.map(({ id, state, error }) => [id, state, error])).toEqual([
      ['old', 'saved', 'y'],
      ['other', 'erased', 'x'],
    ])
    expect(idsOf(await at.recordings.recordingListUndeleted(1))).toEqual(['old'])
    await at.put(saved('copied', { copy: 'x/1.wav' }), saved('newest', { copy: 'x/2.wav', sinceUs: NOW + 1 }))
    expect(idsOf(await at.recordings.recordingListNewestCopies(9))).toEqual(['newest', 'copied'])
    expect(idsOf(await at.recordings.recordingListNewestCopies(1))).toEqual(['newest'])
    await at.recordings.recordingDelete({ callIds: ['call'], ids: ['older'] })
    await at.recordings.recordingDelete({ callIds: ['call', 'erased', 'call'], ids: ['old', 'other', 'unknown'] })
    expect([await expired(), await erased()]).toEqual([[], []])
    expect(await at.get('new')).toEqual(saved('new'))
  })

  test('there is one key of links, which is replaced as a whole', async () => {
    await using at = await openWith()
    expect(await at.recordings.linkKeyGet()).toBeUndefined()
    expect(await at.recordings.linkKeyAdd('one')).toBe('one')
    expect(await at.recordings.linkKeyAdd('two')).toBe('one')
    await at.recordings.linkKeyReplace('three')
    expect(await at.recordings.linkKeyGet()).toBe('three')
  })
})
