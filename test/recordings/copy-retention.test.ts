import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diagnoseRecordings } from '../../src/cli/doctor/recordings.ts'
import { createLog } from '../../src/lib/log.ts'
import { SECOND } from '../../src/lib/time.ts'
import type { Copies } from '../../src/recordings/copies/copies.ts'
import { createFolderCopies } from '../../src/recordings/copies/folder-copies.ts'
import { startCopyRetention } from '../../src/recordings/copy-retention.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { emptyFolder } from '../help/app.ts'
import { until } from '../help/receiver.ts'
import { savedRecording } from '../help/recordings.ts'
import { batch, type OpenStore, openStore } from '../help/store.ts'

const NOW = 1_795_213_000 * SECOND
let folder: ReturnType<typeof emptyFolder>
let store: OpenStore
let running: { stop(): Promise<void> } | undefined

beforeEach(() => {
  folder = emptyFolder()
  store = openStore(join(folder.path, 'hookswitch.db'))
})
afterEach(async () => {
  await running?.stop()
  running = undefined
  await store.stop()
  folder[Symbol.dispose]()
})

const recording = (id: string, more: Partial<RecordingRecord> = {}) =>
  savedRecording(id, { callId: `call ${id}`, sinceUs: NOW, sha256: 'ab', copy: `x/${id}.wav`, ...more })
const pathOf = (id: string) => join(folder.path, 'copies', 'x', `${id}.wav`)
const copies = () => createFolderCopies(join(folder.path, 'copies'))

async function add(...recordings: RecordingRecord[]) {
  mkdirSync(join(folder.path, 'copies', 'x'), { recursive: true })
  for (const { id } of recordings) writeFileSync(pathOf(id), 'sound')
  await store.calls.batchStore(batch({}, { recordings }))
}
const start = (more: Partial<Parameters<typeof startCopyRetention>[0]> = {}) => {
  running = startCopyRetention({
    recordings: store.recordings,
    copies: copies(),
    log: createLog('silent'),
    keepMs: 1_000,
    nowUs: () => NOW,
    isOwner: () => true,
    mayPrune: () => true,
    everyMs: 5,
    ...more,
  })
}
const saved = async () => (await store.recordings.recordingCount()).saved

test('copies that were kept long enough are deleted with their records, and no others', async () => {
  const old = Array.from({ length: 250 }, (_, at) => recording(`old-${at}`, { sinceUs: NOW - 2 * SECOND }))
  await add(...old, recording('new'))
  start()
  await until('the old ones are forgotten', async () => (await saved()) === 1)
  expect(old.filter(({ id }) => existsSync(pathOf(id)))).toEqual([])
  expect(existsSync(pathOf('new'))).toBe(true)
})

test('while the clock cannot be trusted, only copies of erased calls are deleted', async () => {
  await add(recording('old', { sinceUs: NOW - 2 * SECOND }), recording('erased'))
  await store.recordings.recordingErase(['call erased'])
  start({ mayPrune: () => false })
  await until('the erased one is forgotten', async () => (await store.recordings.recordingCount()).erased === 0)
  expect([existsSync(pathOf('erased')), existsSync(pathOf('old')), await saved()]).toEqual([false, true, 1])
})

test('files that a killed process left of an erased recording are deleted, although the store knows of no copy', async () => {
  const stem = 'account-1/2026-11-20/call_a-a'
  mkdirSync(join(folder.path, 'copies/account-1/2026-11-20'), { recursive: true })
  const left = ['1x.part', 'wav'].map((ending) => join(folder.path, 'copies', `${stem}.${ending}`))
  for (const path of left) writeFileSync(path, 'sound')
  await store.calls.batchStore(batch({}, { recordings: [recording('a', { state: 'pending', copy: null })] }))
  await store.recordings.recordingErase(['call a'])
  start()
  await until('the erased one is forgotten', async () => (await store.recordings.recordingCount()).erased === 0)
  expect(left.filter((path) => existsSync(path))).toEqual([])
})

test('a copy at a place that is no longer configured is not forgotten', async () => {
  await add(recording('old', { sinceUs: NOW - 2 * SECOND }), recording('none', { sinceUs: 1, copy: null }))
  start({ copies: undefined })
  await until('the one without a copy is forgotten', async () => (await saved()) === 1)
})

test('a copy that cannot be deleted keeps no other from being deleted, and doctor lists it', async () => {
  const bad = Array.from({ length: 150 }, (_, at) => recording(`bad-${at}`, { sinceUs: NOW - 3 * SECOND }))
  await store.calls.batchStore(batch({}, { recordings: bad }))
  // A folder in place of a file.
  for (const { id } of bad) mkdirSync(pathOf(id), { recursive: true })
  await add(recording('old', { sinceUs: NOW - 2 * SECOND }), recording('erased', { sinceUs: NOW - 2 * SECOND }))
  await store.recordings.recordingErase(['call erased', 'call bad-0'])
  start()
  await until('the others are forgotten', async () => {
    const { saved: left, erased } = await store.recordings.recordingCount()
    return left === 149 && erased === 1
  })
  expect([existsSync(pathOf('old')), existsSync(pathOf('erased'))]).toEqual([false, false])
  await until('all have their reason', async () => (await store.recordings.recordingListUndeleted(200)).length === 150)
  const found = (await diagnoseRecordings(store)).filter(({ level }) => level === 'wrong')
  expect(found).toHaveLength(20)
  for (const { text } of found) expect(text).toContain('its copy cannot be deleted')
  expect(found.map(({ text }) => text).join()).toContain('the erased call call bad-0')
})

test('recordings that cannot be forgotten without --recordings-copy block no others', async () => {
  const kept = Array.from({ length: 150 }, (_, at) => recording(`kept-${at}`, { sinceUs: NOW - 3 * SECOND }))
  await store.calls.batchStore(batch({}, { recordings: kept }))
  await add(recording('none', { sinceUs: NOW - 2 * SECOND, copy: null }))
  start({ copies: undefined })
  await until('the one without a copy is forgotten', async () => (await saved()) === 150)
})

test('a copy whose place hangs keeps no other from being deleted', async () => {
  const hanging: Copies = {
    ...copies(),
    remove: (stem) => (stem === 'x/hangs' ? new Promise(() => undefined) : copies().remove(stem)),
  }
  await add(recording('hangs', { sinceUs: NOW - 3 * SECOND }))
  const others = Array.from({ length: 40 }, (_, at) => recording(`old-${at}`, { sinceUs: NOW - 2 * SECOND }))
  await add(...others)
  start({ copies: hanging, deleteWithinMs: 1_000 })
  await until('the others are deleted', () => others.every(({ id }) => !existsSync(pathOf(id))))
})

test('doctor reports which recordings could not be saved, and why', async () => {
  expect(await diagnoseRecordings(store)).toEqual([])
  await add(recording('a'))
  expect((await diagnoseRecordings(store)).map(({ level }) => level)).toEqual(['ok'])
  await add(recording('b', { state: 'failed', error: 'there is no such file' }))
  const found = await diagnoseRecordings(store)
  expect(found.map(({ level }) => level)).toEqual(['advice', 'wrong'])
  expect(found[1]?.text).toBe('/monitor/b.wav of office was given up: there is no such file')
})

test('a place that is away is logged once for each reason', async () => {
  const logged: string[] = []
  const silent = () => {}
  const warn = (facts: unknown) => void logged.push(Object(facts).reason)
  const log = { debug: silent, info: silent, error: silent, warn }
  const reasons = ['away', 'away', 'away', 'denied', 'denied', undefined, 'away']
  let rounds = 0
  const check = async () => {
    const reason = reasons[rounds++]
    if (reason !== undefined) throw new Error(reason)
  }
  start({ log, copies: { ...copies(), check } })
  await until('it was asked often', () => rounds > reasons.length)
  expect(logged).toEqual(['away', 'denied', 'away'])
})
