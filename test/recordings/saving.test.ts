import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { createLog } from '../../src/lib/log.ts'
import { SECOND } from '../../src/lib/time.ts'
import { createS3Client } from '../../src/outbound/s3-client.ts'
import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import type { Copies } from '../../src/recordings/copies/copies.ts'
import { createFolderCopies } from '../../src/recordings/copies/folder-copies.ts'
import { createS3Copies } from '../../src/recordings/copies/s3-copies.ts'
import { createRecordingFiles, type RecordingsPlace } from '../../src/recordings/recording-files.ts'
import { startRecordingSaver } from '../../src/recordings/recording-saver.ts'
import type { NewEvent, StoredEvent } from '../../src/store/operations/calls.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { emptyFolder } from '../help/app.ts'
import { tone } from '../help/audio.ts'
import { until } from '../help/receiver.ts'
import { pendingRecording } from '../help/recordings.ts'
import { S3_BUCKET, S3_KEYS, startS3Server } from '../help/s3-server.ts'
import { batch, type OpenStore, openStore } from '../help/store.ts'

// A saver on a real store and real folders. Its clocks move when the test moves them.

const SOUND = tone(1)
const HOUR = 3_600 * SECOND
const SINCE = 1_795_213_000 * SECOND
const MAX_BYTES = 50_000

let folder: ReturnType<typeof emptyFolder>
let monitor: string
let store: OpenStore
let clockUs: number
let savers: { stop(): Promise<void> }[]
let stored: StoredEvent[]
let rounds: number
let readings: number

beforeEach(() => {
  folder = emptyFolder()
  monitor = join(folder.path, 'monitor')
  mkdirSync(monitor)
  store = openStore(join(folder.path, 'hookswitch.db'))
  clockUs = 0
  savers = []
  stored = []
  rounds = 0
  readings = 0
})
afterEach(async () => {
  for (const saver of savers) await saver.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

const recording = (id: string, more: Partial<RecordingRecord> = {}) => pendingRecording(id, { sinceUs: SINCE, ...more })
async function add(...recordings: RecordingRecord[]) {
  const saved = [
    { id: 'call', savedUs: SINCE, direction: 'inbound' as const, fromNumber: null, toNumber: null, record: '{}' },
  ]
  await store.calls.batchStore(batch({ saved }, { recordings }))
}
const put = (id: string, content: Uint8Array = SOUND) => writeFileSync(join(monitor, `${id}.wav`), content)
const get = async (recordingId: string) => store.recordings.recordingGet({ callId: 'call', recordingId })
const copyFolder = () => join(folder.path, 'copies')

/** Returns the place of the PBX's recordings. */
function place(): RecordingsPlace {
  const parsed = parsePbxUrl(`ami://u:s@h?name=office&recordings=${monitor}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.pbx
}

function start({
  copies,
  ...more
}: Partial<Parameters<typeof startRecordingSaver>[0]> & { copies?: Copies | undefined } = {}) {
  const known = [place()]
  const pbxs = more.pbxs ?? (() => known)
  const counted = {
    ...store,
    recordings: {
      ...store.recordings,
      recordingListPending: (query: Parameters<typeof store.recordings.recordingListPending>[0]) => {
        rounds += 1
        return store.recordings.recordingListPending(query)
      },
      recordingListPendingPbxs: () => {
        readings += 1
        return store.recordings.recordingListPendingPbxs()
      },
    },
  }
  const saver = startRecordingSaver({
    store: counted,
    copies,
    pbxs,
    maxBytes: MAX_BYTES,
    ownership: OWNS_EVERYTHING,
    files: createRecordingFiles({ pbxs, maxBytes: MAX_BYTES, copies }),
    steadyUs: () => clockUs,
    nowUs: () => SINCE + clockUs,
    log: createLog('silent'),
    eventOf: async ({ id, callId, sequence }): Promise<NewEvent> => ({
      uuid: `event of ${id}`,
      callId,
      name: 'call_saved',
      sequence,
      atUs: SINCE,
      body: '{}',
    }),
    onStored: (events) => void stored.push(...events),
    everyMs: 1,
    ...more,
  })
  savers.push(saver)
  return saver
}
/** Waits until all pending recordings had their turn since now. */
async function turn() {
  const before = rounds
  await until('two more rounds', () => rounds >= before + 3)
}
async function pass(us: number) {
  clockUs += us
  await turn()
}
/** Lets time pass until something is so. */
async function passUntil(what: string, isTrue: () => boolean | Promise<boolean>) {
  await until(what, async () => {
    await pass(2 * SECOND)
    return isTrue()
  })
}
const events = () => stored.map(({ uuid }) => uuid)
const copied = () =>
  existsSync(copyFolder())
    ? readdirSync(copyFolder(), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'))
    : []

describe('without copies a recording is saved', () => {
  test('once its file is unchanged for two seconds, with its event in the same commit, once', async () => {
    put('a')
    await add(recording('a'))
    start()
    await turn()
    await pass(1.9 * SECOND)
    expect((await get('a'))?.state).toBe('pending')
    await pass(0.1 * SECOND)
    await until('it is saved', async () => (await get('a'))?.state === 'saved')
    expect(await get('a')).toMatchObject({ sizeBytes: SOUND.length, sha256: null, copy: null, mediaType: 'audio/wav' })
    await pass(HOUR)
    expect(events()).toEqual(['event of a'])
  })

  test('not while it grows', async () => {
    put('a')
    await add(recording('a'))
    start()
    for (let count = 0; count < 5; count++) {
      await pass(1.5 * SECOND)
      appendFileSync(join(monitor, 'a.wav'), 'more')
    }
    expect(events()).toEqual([])
    await passUntil('it is saved', () => events().length === 1)
    expect((await get('a'))?.sizeBytes).toBe(SOUND.length + 20)
  })

  test('when its file comes late; until then it is known why it is not', async () => {
    await add(recording('a'))
    start()
    await until('it failed once', async () => (await get('a'))?.error !== null)
    expect((await get('a'))?.error).toBe('there is no such file')
    put('a', new Uint8Array())
    await pass(20 * SECOND)
    await until('another reason', async () => (await get('a'))?.error === 'its file is empty')
    put('a')
    await pass(HOUR)
    await passUntil('it is saved', () => events().length === 1)
    expect(await get('a')).toMatchObject({ state: 'saved', error: null })
  })

  test('never, if its file did not come within a day: then it has failed', async () => {
    await add(recording('a'), recording('b', { path: '/etc/../a.wav' }))
    start()
    await turn()
    await pass(24 * HOUR)
    expect((await get('a'))?.state).toBe('pending')
    await pass(HOUR)
    await until('both failed', async () => (await store.recordings.recordingCount()).failed === 2)
    put('a')
    await pass(HOUR)
    expect(events()).toEqual([])
  })

  test('although many before it fail', async () => {
    const lost = Array.from({ length: 1_000 }, (_, at) => recording(`lost-${at}`))
    put('z')
    await add(...lost, recording('z', { sinceUs: SINCE + 1 }))
    start()
    await until('it was tried', async () => (await store.recordings.recordingListTroubled(2_000)).length === 1_000)
    await passUntil('it is saved', () => events().length === 1)
  })
})

describe.each(['without copies', 'with copies'])('%s a file that has become quiet and then', (mode) => {
  const path = () => join(monitor, 'a.wav')
  test.each([
    ['is gone', () => {}, 'there is no such file'],
    ['has 0 bytes', () => put('a', new Uint8Array()), 'its file is empty'],
    ['is a link to a file outside', () => symlinkSync('../outside.wav', path()), 'the file is outside the folder'],
    ['is a link to itself', () => symlinkSync('a.wav', path()), 'it is a link that leads nowhere'],
    ['is a folder', () => mkdirSync(path()), 'it is not a regular file'],
    ['is larger than allowed', () => put('a', Buffer.alloc(MAX_BYTES + 1)), 'more than --recording-max'],
  ])('%s is not saved until it is whole again', async (_, change, reason) => {
    writeFileSync(join(folder.path, 'outside.wav'), SOUND)
    put('a')
    await add(recording('a'))
    start({ copies: mode === 'with copies' ? createFolderCopies(copyFolder()) : undefined })
    await turn()
    rmSync(path())
    change()
    await pass(2 * SECOND)
    await until('it failed', async () => (await get('a'))?.error !== null)
    expect([(await get('a'))?.error, (await get('a'))?.state]).toEqual([expect.stringContaining(reason), 'pending'])
    expect([events(), copied()]).toEqual([[], []])
    rmSync(path(), { recursive: true, force: true })
    put('a')
    clockUs += HOUR
    await passUntil('it is saved', () => events().length === 1)
    expect((await get('a'))?.sizeBytes).toBe(SOUND.length)
  })
})

test('while S3 is away a recording waits, and is saved once when it is back', async () => {
  const s3 = startS3Server()
  const client = createS3Client({ ...S3_KEYS, bucket: S3_BUCKET, endpoint: s3.url })
  s3.setBroken(true)
  put('a')
  await add(recording('a'))
  start({ copies: createS3Copies({ bucket: S3_BUCKET, prefix: 'x' }, client) })
  await turn()
  await pass(2 * SECOND)
  await until('it failed', async () => (await get('a'))?.error !== null)
  expect(await get('a')).toMatchObject({
    state: 'pending',
    error: expect.stringContaining(`S3, bucket ${S3_BUCKET}: `),
  })
  await pass(20 * HOUR)
  expect([events(), s3.objects.size]).toEqual([[], 0])
  s3.setBroken(false)
  await passUntil('it is saved', () => events().length > 0)
  await pass(HOUR)
  const saved = await get('a')
  expect([events(), saved?.state, saved?.error]).toEqual([['event of a'], 'saved', null])
  expect(s3.objects.get(`${S3_BUCKET}/x/${saved?.copy}`)?.equals(SOUND)).toBe(true)
  await s3.stop()
})

describe('with copies in a folder a recording', () => {
  const sha256 = createHash('sha256').update(SOUND).digest('hex')

  test('is copied, and is served from there when the PBX has deleted its file', async () => {
    put('a')
    await add(recording('a'))
    const copies = createFolderCopies(copyFolder())
    start({ copies })
    await turn()
    await pass(2 * SECOND)
    await until('it is saved', () => events().length === 1)
    const saved = await get('a')
    expect(saved).toMatchObject({ state: 'saved', sha256, copy: 'account-1/2026-11-20/call-a.wav' })
    rmSync(join(monitor, 'a.wav'))
    expect(readFileSync(join(copyFolder(), saved?.copy ?? '')).equals(SOUND)).toBe(true)
    const ready = await createRecordingFiles({ pbxs: () => [], maxBytes: MAX_BYTES, copies }).open(
      saved ?? recording('a'),
    )
    expect([ready.etag, ready.mediaType, ready.file.size]).toEqual([`"${sha256}"`, 'audio/wav', SOUND.length])
    await ready.file.close()
  })

  test('is copied again if it grows while it is copied', async () => {
    put('a')
    await add(recording('a'))
    const plain = createFolderCopies(copyFolder())
    let writes = 0
    const copies: Copies = {
      ...plain,
      async write(name, file) {
        const hash = await plain.write(name, file)
        writes += 1
        if (writes === 1) appendFileSync(join(monitor, 'a.wav'), 'more')
        return hash
      },
    }
    start({ copies })
    await turn()
    await pass(2 * SECOND)
    await until('the first copy was made', () => writes === 1)
    expect(events()).toEqual([])
    await passUntil('it is saved', () => events().length === 1)
    const saved = await get('a')
    expect(readFileSync(join(copyFolder(), saved?.copy ?? '')).length).toBe(SOUND.length + 4)
  })

  test('is copied once it is whole if it is cut off while it is copied', async () => {
    put('a')
    await add(recording('a'))
    const plain = createFolderCopies(copyFolder())
    let writes = 0
    const copies: Copies = {
      ...plain,
      write(name, file) {
        writes += 1
        if (writes === 1) truncateSync(join(monitor, 'a.wav'), 1_000)
        return plain.write(name, file)
      },
    }
    start({ copies })
    await turn()
    await pass(2 * SECOND)
    await until('it failed', async () => (await get('a'))?.error !== null)
    expect((await get('a'))?.error).toContain('it was cut off while it was read')
    expect(copied().filter((name) => name.endsWith('.wav'))).toEqual([])
    put('a')
    clockUs += HOUR
    await passUntil('it is saved', () => events().length === 1)
    const saved = await get('a')
    expect(readFileSync(join(copyFolder(), saved?.copy ?? '')).equals(SOUND)).toBe(true)
  })

  test('whose copy fails is tried again, and no part of it has the name of a copy', async () => {
    put('a')
    await add(recording('a'))
    // A file is where the folder of the copies has to be.
    mkdirSync(copyFolder())
    writeFileSync(join(copyFolder(), 'account-1'), '')
    start({ copies: createFolderCopies(copyFolder()) })
    await turn()
    await pass(2 * SECOND)
    await until('it failed', async () => (await get('a'))?.error !== null)
    expect((await get('a'))?.state).toBe('pending')
    rmSync(join(copyFolder(), 'account-1'))
    await pass(HOUR)
    await until('it is saved', () => events().length === 1)
  })

  test('larger than allowed is never copied', async () => {
    put('a', Buffer.alloc(MAX_BYTES + 1, 1))
    await add(recording('a'))
    start({ copies: createFolderCopies(copyFolder()) })
    await until('it failed', async () => (await get('a'))?.error !== null)
    expect((await get('a'))?.error).toContain('--recording-max')
    expect(copied()).toEqual([])
  })

  test('whose call is erased while it is copied leaves nothing', async () => {
    put('a')
    await add(recording('a'))
    const plain = createFolderCopies(copyFolder())
    const copies: Copies = {
      ...plain,
      async write(name, file) {
        const hash = await plain.write(name, file)
        await store.maintenance.callErase(['call'])
        return hash
      },
    }
    start({ copies })
    await turn()
    await pass(2 * SECOND)
    await until('it is forgotten', async () => (await get('a')) === undefined)
    expect([events(), copied()]).toEqual([[], []])
  })
})

describe('the pending recording of a PBX that', () => {
  /** Saves a recording until its first attempt has failed. */
  async function giveUp(pbxs: readonly RecordingsPlace[]) {
    await add(recording('a'))
    start({ pbxs: () => pbxs })
    await until('it failed once', async () => (await get('a'))?.error !== null)
  }

  test('was removed is saved from where its files were', async () => {
    put('a')
    await add(recording('a'))
    const removed = { ...place(), isRemoved: true }
    start({ pbxs: () => [removed], copies: createFolderCopies(copyFolder()) })
    await passUntil('it is saved', () => events().length === 1)
    expect(await get('a')).toMatchObject({ state: 'saved', copy: 'account-1/2026-11-20/call-a.wav' })
  })

  test('was removed is given up after a day if its file never comes, with the reason', async () => {
    await giveUp([{ ...place(), isRemoved: true }])
    await pass(24 * HOUR)
    expect(await get('a')).toMatchObject({ state: 'pending', error: 'there is no such file' })
    await pass(HOUR)
    await until('it is given up', async () => (await get('a'))?.state === 'failed')
    expect((await get('a'))?.error).toBe('there is no such file')
  })

  test.each<[string, () => RecordingsPlace[]]>([
    ['was removed without recordings= in its URL', () => [{ name: 'office', isRemoved: true }]],
    ['nothing is left of', () => []],
  ])('%s is given up once no other node can have added it meanwhile', async (_, pbxs) => {
    put('a')
    await giveUp(pbxs())
    expect((await get('a'))?.state).toBe('pending')
    await passUntil('it is given up', async () => (await get('a'))?.state === 'failed')
    expect((await get('a'))?.error).toBe('its PBX was removed, and the place of its files is unknown')
    expect(clockUs).toBeGreaterThan(60 * SECOND)
    expect(clockUs).toBeLessThan(HOUR)
  })

  test('has lost recordings= waits for it for a day, and it is known why', async () => {
    put('a')
    let known: RecordingsPlace[] = [{ name: 'office' }]
    await add(recording('a'))
    start({ pbxs: () => known })
    await until('it failed once', async () => (await get('a'))?.error !== null)
    expect((await get('a'))?.error).toBe('recordings= is no longer in the URL of its PBX')
    await pass(20 * HOUR)
    expect((await get('a'))?.state).toBe('pending')
    known = [place()]
    clockUs += HOUR
    await passUntil('it is saved', () => events().length === 1)
  })

  test('was removed is saved by the node that does the maintenance, under its lease', async () => {
    put('a')
    await add(recording('a'))
    const fenced: string[] = []
    const ownership = (ownsMaintenance: boolean) => ({
      ...OWNS_EVERYTHING,
      pbxOwnership: () => 'not owned' as const,
      ownsMaintenance: () => ownsMaintenance,
      fenceOf(lease: string) {
        fenced.push(lease)
        return undefined
      },
    })
    const removed = { ...place(), isRemoved: true }
    const other = start({ pbxs: () => [removed], ownership: ownership(false) })
    await until('it has read several times that there is one', () => {
      clockUs += SECOND
      return readings > 3
    })
    expect(await get('a')).toEqual(recording('a'))
    await other.stop()
    start({ pbxs: () => [removed], ownership: ownership(true) })
    await passUntil('it is saved', () => events().length === 1)
    expect([...new Set(fenced)]).toEqual(['maintenance'])
  })
})

test('a WAV file with a header and no sound is not saved until it has sound', async () => {
  put('a', tone(0))
  await add(recording('a'))
  start()
  await passUntil('it failed', async () => (await get('a'))?.error === 'its file is empty')
  expect(events()).toEqual([])
  put('a')
  clockUs += HOUR
  await passUntil('it is saved', () => events().length === 1)
})

test('a PBX whose files never come holds up no other', async () => {
  // Its web server answers with the size of each file, and then sends nothing.
  let begun = 0
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, chunk) {
        if (chunk.toString().startsWith('GET')) begun += 1
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: 5000\r\n\r\n')
      },
    },
  })
  const slow = { name: 'slow', recordings: { location: `http://127.0.0.1:${server.port}/`, root: null } }
  const both = [slow, place()]
  put('a')
  await add(
    ...Array.from({ length: 40 }, (_, at) => recording(`slow-${at}`, { pbx: 'slow', sinceUs: SINCE - 1 })),
    recording('a'),
  )
  const saver = start({ pbxs: () => both, copies: createFolderCopies(copyFolder()) })
  await until('the other is saved', async () => {
    clockUs += 2 * SECOND
    return (await get('a'))?.state === 'saved'
  })
  await until('the slow one is being read', async () => {
    clockUs += 2 * SECOND
    return begun > 0
  })
  expect((await get('slow-0'))?.state).toBe('pending')
  savers.splice(savers.indexOf(saver), 1)
  server.stop(true)
  await saver.stop()
})
