import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyFolder } from '../help/app.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { pendingRecording } from '../help/recordings.ts'
import { S3_BUCKET, startS3Server } from '../help/s3-server.ts'
import { seededRandom } from '../help/seed.ts'
import { batch, openStore } from '../help/store.ts'

const COUNT = 8
const BYTES = 400_000

const SQLITE_TO_S3 = { engine: 'SQLite', mode: 'copies in S3', isThere: true }
const cases = ['SQLite', 'Postgres'].flatMap((engine) =>
  ['copies', 'no copies'].map((mode) => ({
    engine,
    mode,
    isThere: engine === 'SQLite' || POSTGRES_MISSING === undefined,
  })),
)

async function openDatabase(engine: string, folder: string) {
  if (engine === 'SQLite') {
    const store = openStore(join(folder, 'hookswitch.db'))
    return { store, url: [], stop: () => store.stop() }
  }
  const database = await emptyDatabase()
  const store: Store = await openPostgresStore(databaseSource(database.url))
  const stop = async () => {
    await store.stop()
    await database[Symbol.asyncDispose]()
  }
  return { store, url: [database.url], stop }
}

function recordingsIn(folder: string): RecordingRecord[] {
  mkdirSync(join(folder, 'monitor'))
  return Array.from({ length: COUNT }, (_, at) => {
    writeFileSync(join(folder, 'monitor', `${at}.wav`), Buffer.alloc(BYTES, `sound ${at} `))
    return pendingRecording(`recording-${at}`, { path: `${at}.wav`, sinceUs: nowUs() })
  })
}

describe.each([...cases, SQLITE_TO_S3])('on $engine, with $mode', ({ engine, mode, isThere }) => {
  test.skipIf(!isThere)('a process that is killed again and again saves each recording once, and whole', async () => {
    using folder = emptyFolder()
    const s3 = startS3Server()
    const { store, url, stop } = await openDatabase(engine, folder.path)
    const recordings = recordingsIn(folder.path)
    const call = { savedUs: 1, direction: 'inbound' as const, fromNumber: null, toNumber: null, record: '{}' }
    await store.calls.batchStore(batch({ saved: [{ id: 'call', ...call }] }, { recordings }))
    const random = seededRandom(9)
    const place = mode === SQLITE_TO_S3.mode ? s3.url : mode
    const saver = join(import.meta.dir, '../help/saver-process.ts')
    for (let kills = 0; (await store.recordings.recordingCount()).saved < COUNT; kills += 1) {
      const child = Bun.spawn([process.execPath, saver, folder.path, place, ...url], {
        stdout: 'pipe',
        stderr: 'inherit',
      })
      await child.stdout.getReader().read()
      // Anywhere in its work; later from time to time, so that it gets on however slow the machine is.
      await Bun.sleep(random.int(40 + kills * 40))
      child.kill('SIGKILL')
      await child.exited
    }
    const events = await store.log.eventListOfCall(1, 'call')
    expect(events.map(({ uuid }) => uuid).toSorted()).toEqual(recordings.map(({ id }) => id).toSorted())
    const saved = await store.recordings.recordingListOfCalls(['call'])
    const copies = join(folder.path, 'copies')
    if (mode === 'no copies') {
      expect(saved.filter(({ copy, state }) => copy !== null || state !== 'saved')).toEqual([])
      expect(existsSync(copies)).toBe(false)
    } else if (mode === SQLITE_TO_S3.mode) {
      const isWhole = ({ copy, path }: RecordingRecord) =>
        s3.objects.get(`${S3_BUCKET}/${copy}`)?.equals(readFileSync(join(folder.path, 'monitor', path))) === true
      expect(saved.filter((one) => !isWhole(one))).toEqual([])
      expect(s3.objects.size).toBe(COUNT)
    } else {
      const isWhole = ({ copy, path }: RecordingRecord) =>
        readFileSync(join(copies, copy ?? '')).equals(readFileSync(join(folder.path, 'monitor', path)))
      expect(saved.filter((one) => !isWhole(one))).toEqual([])
      const names = readdirSync(copies, { recursive: true, encoding: 'utf8' })
      expect(names.filter((name) => /\.\w+$/.test(name)).toSorted()).toEqual(
        saved.map(({ copy }) => copy ?? '').toSorted(),
      )
    }
    await stop()
    await s3.stop()
  })
})
