import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diagnoseCopies } from '../../../src/cli/doctor/recordings.ts'
import { createLog } from '../../../src/lib/log.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { createS3Client } from '../../../src/outbound/s3-client.ts'
import { markOf } from '../../../src/recordings/copies/copies-place.ts'
import { createFolderCopies } from '../../../src/recordings/copies/folder-copies.ts'
import { createS3Copies, createS3Mark } from '../../../src/recordings/copies/s3-copies.ts'
import { createMarkedCopies, MARK_FILE, problemOfMark } from '../../../src/recordings/copies/store-mark.ts'
import { startCopyRetention } from '../../../src/recordings/copy-retention.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { savedRecording } from '../../help/recordings.ts'
import { S3_BUCKET, S3_KEYS, startS3Server } from '../../help/s3-server.ts'
import { batch, type OpenStore, openStore } from '../../help/store.ts'

let folder: ReturnType<typeof emptyFolder>
let stores: OpenStore[]
/** The content of a mark. */
const STORE_ID = /^[0-9a-f]{32}\n$/
const NOW_US = Date.now() * 1_000
const place = (name = 'copies') => join(folder.path, name)

beforeEach(() => {
  folder = emptyFolder()
  stores = []
})
afterEach(async () => {
  for (const store of stores) await store.stop()
  folder[Symbol.dispose]()
})

function newStore(name: string): OpenStore {
  mkdirSync(join(folder.path, name))
  const store = openStore(join(folder.path, name, 'hookswitch.db'))
  stores.push(store)
  return store
}
const problem = (store: OpenStore, at = place()) => problemOfMark(markOf(store, at))

/** Stores a recording that is saved, and puts its copy into folders. */
async function addCopy(store: OpenStore, id: string, places: readonly string[], sinceUs = NOW_US): Promise<void> {
  const recording = savedRecording(id, { callId: `call ${id}`, sinceUs, copy: `account-1/${id}.wav` })
  await store.calls.batchStore(batch({}, { recordings: [recording] }))
  for (const one of places) {
    mkdirSync(join(one, 'account-1'), { recursive: true })
    writeFileSync(join(one, 'account-1', `${id}.wav`), 'sound')
  }
}

test('a folder that is made for a store is marked with its id, and is right from then on', async () => {
  const store = newStore('a')
  expect(await problem(store)).toBeUndefined()
  expect(readFileSync(join(place(), MARK_FILE), 'utf8')).toMatch(STORE_ID)
  await addCopy(store, 'one', [place()])
  expect(await problem(store)).toBeUndefined()
})

test('a folder of another store is refused', async () => {
  await problem(newStore('a'))
  expect(await problem(newStore('b'))).toContain('another store')
})

test('the data folder of a service is refused, and stays without a mark', async () => {
  mkdirSync(place('data'))
  writeFileSync(join(place('data'), 'hookswitch.db'), 'a store')
  expect(await problem(newStore('a'), place('data'))).toContain('is the data folder of a service')
  expect(existsSync(join(place('data'), MARK_FILE))).toBe(false)
})

test('a folder without a mark is refused if the store has copies elsewhere, and the advice repairs it', async () => {
  const store = newStore('a')
  await addCopy(store, 'one', [])
  mkdirSync(place('away'))
  for (const at of [place('away'), place('none')]) expect(await problem(store, at)).toContain('is not marked')
  expect(existsSync(place('none'))).toBe(false)
  const [, id = ''] = /echo (\w+) >/.exec((await problem(store, place('away'))) ?? '') ?? []
  writeFileSync(join(place('away'), MARK_FILE), `${id}\n`)
  expect(await problem(store, place('away'))).toBeUndefined()
})

test('a folder that an earlier version filled is marked; one with the copies of an unknown store is not', async () => {
  const store = newStore('a')
  for (const id of ['one', 'two', 'three', 'four']) await addCopy(store, id, [place()])
  expect(await problem(store)).toBeUndefined()
  await addCopy(newStore('b'), 'x', [place('others')])
  expect(await problem(newStore('c'), place('others'))).toContain('is not marked')
})

test('the node whose folder lacks the newest copies says so, if two nodes have a folder each', async () => {
  const store = newStore('a')
  expect(await problem(store, place('first'))).toBeUndefined()
  expect(await problem(store, place('second'))).toBeUndefined()
  utimesSync(join(place('second'), MARK_FILE), 1, 1)
  await addCopy(store, 'one', [place('first')])
  expect(await problem(store, place('first'))).toBeUndefined()
  expect(await problem(store, place('second'))).toContain('another node')
})

test('nothing is saved or forgotten while the folder is away, and doctor names it', async () => {
  const store = newStore('a')
  await problem(store)
  await addCopy(store, 'one', [place()], 1)
  const copies = createMarkedCopies(createFolderCopies(place()), () => problem(store), createLog('silent'))
  rmSync(place(), { recursive: true })
  mkdirSync(place())
  expect(copies.remove('account-1/one')).rejects.toThrow('is not marked')
  const running = startCopyRetention({
    recordings: store.recordings,
    copies,
    log: createLog('silent'),
    keepMs: 1,
    isOwner: () => true,
    mayPrune: () => true,
    nowUs,
    everyMs: 1,
  })
  let rounds = 0
  await until('it was tried', () => ++rounds > 20)
  expect((await store.recordings.recordingCount()).saved).toBe(1)
  await running.stop()
  const [found] = await diagnoseCopies(store, place())
  expect(found).toMatchObject({ level: 'wrong', text: expect.stringContaining('is not marked') })
  expect(await diagnoseCopies(newStore('b'), place('new'))).toMatchObject([{ level: 'ok' }])
  expect(existsSync(place('new'))).toBe(false)
})

test('a prefix of a bucket is marked as a folder is: another store neither copies into it nor deletes there', async () => {
  const server = startS3Server()
  const client = createS3Client({ bucket: S3_BUCKET, endpoint: server.url, ...S3_KEYS })
  const prefixMark = (store: OpenStore, prefix: string) =>
    markOf(store, '', createS3Mark({ bucket: S3_BUCKET, prefix }, client))
  const prefixProblem = (store: OpenStore, prefix = 'office') => problemOfMark(prefixMark(store, prefix))
  const [store, other] = [newStore('a'), newStore('b')]

  expect(await problemOfMark(prefixMark(store, 'office'), { mayMark: false })).toBeUndefined()
  expect(server.objects.size).toBe(0)
  expect(await prefixProblem(store)).toBeUndefined()
  expect(server.objects.get(`${S3_BUCKET}/office/${MARK_FILE}`)?.toString()).toMatch(STORE_ID)
  expect(await prefixProblem(store)).toBeUndefined()
  expect(await prefixProblem(other)).toBe(
    's3://calls/office has the copies of another store: give this store a place of its own',
  )
  const copies = createMarkedCopies(
    createS3Copies({ bucket: S3_BUCKET, prefix: 'office' }, client),
    () => prefixProblem(other),
    createLog('silent'),
  )
  expect(copies.remove('account-1/one')).rejects.toThrow('another store')
  // Copies of an unknown store are left alone; a place that an earlier version filled is marked.
  server.objects.set(`${S3_BUCKET}/older/account-1/one.wav`, Buffer.from('sound'))
  expect(await prefixProblem(other, 'older')).toContain(`aws s3 cp - s3://calls/older/${MARK_FILE}`)
  await addCopy(store, 'one', [])
  expect(await prefixProblem(store, 'older')).toBeUndefined()
  expect(await prefixProblem(store, 'elsewhere')).toContain('is not marked')
  server.setBroken(true)
  expect(prefixProblem(store)).rejects.toThrow('S3, bucket calls')
  server.stop()
})
