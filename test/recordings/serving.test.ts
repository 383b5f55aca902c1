import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Elysia } from 'elysia'
import { createAudit } from '../../src/auth/audit.ts'
import { callRoutes } from '../../src/calls/api/routes.ts'
import { EXAMPLES } from '../../src/events/samples.ts'
import { createLog } from '../../src/lib/log.ts'
import { nowUs, SECOND } from '../../src/lib/time.ts'
import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import { openRecordings } from '../../src/recordings/service.ts'
import { createFolderSource } from '../../src/recordings/sources/folder-source.ts'
import { startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { tone } from '../help/audio.ts'
import { startFileServer } from '../help/file-server.ts'
import { until } from '../help/receiver.ts'
import { pendingRecording } from '../help/recordings.ts'
import { batch, type OpenStore, openStore } from '../help/store.ts'

// Recordings of a PBX served over HTTP: from a folder, and from a web server that has the same folder.

const folder = emptyFolder()
const monitor = join(folder.path, 'monitor')
const SOUND = tone(2)
const PUBLIC = 'https://calls.example.com'
const LONG_AGO = new Date('2026-11-20T10:00:00Z')
/** A file of that time is not old enough to be complete, however slow the machine is. */
const LATER = new Date(Date.now() + 3_600_000)
const MAX_BYTES = 100_000
const PATHS = {
  good: 'in/Зоя "1".wav',
  page: 'page.wav',
  empty: 'empty.wav',
  growing: 'growing.wav',
  missing: 'missing.wav',
  large: 'large.wav',
  secret: 'link.wav',
  up: '../secret.wav',
}

let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let strangers: string
const server = startFileServer({ folder: folder.path, authorization: 'Basic bWU6aXQncyBtZQ==' })

function put(path: string, content: Uint8Array | string, writtenAt = LONG_AGO) {
  writeFileSync(join(monitor, path), content)
  utimesSync(join(monitor, path), writtenAt, writtenAt)
}

const recordingAt = (pbx: string, id: string, path: string) =>
  pendingRecording(id, { callId: `call ${pbx}`, pbx, path: `/monitor/${path}`, sinceUs: 1 * SECOND })

beforeAll(async () => {
  mkdirSync(join(monitor, 'in'), { recursive: true })
  put(PATHS.good, SOUND)
  put(PATHS.page, '<html><script>alert(1)</script>')
  put(PATHS.empty, '')
  put(PATHS.growing, SOUND, LATER)
  put(PATHS.large, Buffer.alloc(MAX_BYTES + 1))
  writeFileSync(join(folder.path, 'secret.wav'), 'secret')
  utimesSync(join(folder.path, 'secret.wav'), LATER, LATER)
  symlinkSync('../secret.wav', join(monitor, PATHS.secret))
  store = openStore(join(folder.path, 'hookswitch.db'))
  const pbxs = [
    `ami://a:b@host?name=folder&recordings=${monitor}`,
    `ami://a:b@host?name=web&recordings=${server.url.replace('://', "://me:it's%2520me@")}monitor/`,
    'ami://a:b@host?name=none',
  ].flatMap((url) => {
    const parsed = parsePbxUrl(url)
    return 'pbx' in parsed ? parsed.pbx : []
  })
  expect(pbxs).toHaveLength(3)
  const config = {
    publicUrl: `${PUBLIC}/`,
    recordingLinkMs: 60_000,
    recordingMaxBytes: MAX_BYTES,
    recordingsCopy: undefined,
    recordingsFrom: [],
    retentionRecordingsMs: undefined,
    retentionCallsMs: 1,
  }
  const recordings = await openRecordings({
    store,
    log: createLog('silent'),
    nowUs,
    config,
    pbxs: { places: () => pbxs, placesOfSettings: () => [], deleteRemoved: async () => undefined },
  })
  const audit = createAudit({
    accounts: store.accounts,
    trail: store.audit,
    log: createLog('silent'),
    trustProxies: [],
  })
  api = await startApi(store, (auth) =>
    new Elysia().use(callRoutes(auth, store, recordings.addUrls)).use(recordings.routes({ auth, audit })),
  )
  token = await api.logIn('default')
  strangers = await api.logIn('another')
  for (const pbx of ['folder', 'web', 'none']) {
    const rows = Object.entries(PATHS).map(([id, path]) => recordingAt(pbx, id, path))
    const call = { ...EXAMPLES[0]?.data.call, id: `call ${pbx}` }
    const shown = [...rows, { id: 'without a path', path: null }].map(({ id, path }) => ({
      id,
      path,
      format: 'wav',
      duration: 2,
      started_at: null,
      ended_at: null,
    }))
    const record = JSON.stringify({ call, stages: [], recordings: shown })
    const saved = [{ id: call.id, savedUs: 1, direction: 'inbound' as const, fromNumber: null, toNumber: null, record }]
    await store.calls.batchStore(batch({ saved }, { recordings: rows }))
  }
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  server.stop()
  folder[Symbol.dispose]()
})

const pathOf = (id: string, pbx = 'folder') => `/call/${encodeURIComponent(`call ${pbx}`)}/recording/${id}`
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(api.url + path, { method, headers: { authorization: `Bearer ${token}`, ...headers } })

describe.each(['folder', 'web'])('a recording in a %s', (pbx) => {
  const WHOLE = { status: 200, bytes: SOUND, range: null }
  test.each([
    ['as a whole', {}, WHOLE],
    ['in several ranges: as a whole', { range: 'bytes=0-1,5-6' }, WHOLE],
    ['with a range of the start', { range: 'bytes=0-99' }, { bytes: SOUND.subarray(0, 100), range: 'bytes 0-99' }],
    [
      'with a range in it',
      { range: 'bytes=1000-1999' },
      { bytes: SOUND.subarray(1000, 2000), range: 'bytes 1000-1999' },
    ],
    ['with its last bytes', { range: 'bytes=-7' }, { bytes: SOUND.subarray(-7), range: `bytes ${SOUND.length - 7}-` }],
    ['from a byte on', { range: 'bytes=30000-' }, { bytes: SOUND.subarray(30_000), range: 'bytes 30000-' }],
    ['if its tag is another: as a whole', { range: 'bytes=0-9', 'if-range': '"other"' }, WHOLE],
    [
      'if it was not written since',
      { range: 'bytes=0-9', 'if-range': LONG_AGO.toUTCString() },
      { bytes: SOUND.subarray(0, 10), range: 'bytes 0-9' },
    ],
    ['if it was written since: as a whole', { range: 'bytes=0-9', 'if-range': new Date(0).toUTCString() }, WHOLE],
  ])('is sent %s', async (_, headers, { bytes, range }) => {
    const response = await get(pathOf('good', pbx), headers as Record<string, string>)
    expect(response.status).toBe(range === null ? 200 : 206)
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
    expect(response.headers.get('content-length')).toBe(String(bytes.length))
    expect(response.headers.get('content-range') ?? '').toStartWith(range ?? '')
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(response.headers.get('accept-ranges')).toBe('bytes')
    expect(response.headers.get('etag')).toMatch(/^W\/"\w+"$/)
    expect(response.headers.get('last-modified')).toBe(LONG_AGO.toUTCString())
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
    expect(response.headers.get('content-disposition')).toBe(
      `inline; filename="____1_.wav"; filename*=UTF-8''%D0%97%D0%BE%D1%8F%20%221%22.wav`.replace('____1_', '___ _1_'),
    )
  })

  test('answers HEAD as GET, without a body', async () => {
    const response = await get(pathOf('good', pbx), {}, 'HEAD')
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      String(SOUND.length),
      '',
    ])
    const part = await get(pathOf('good', pbx), { range: 'bytes=0-9' }, 'HEAD')
    expect([part.status, part.headers.get('content-length')]).toEqual([206, '10'])
  })

  test('is not sent again to a client that has it', async () => {
    const etag = (await get(pathOf('good', pbx), {}, 'HEAD')).headers.get('etag') ?? ''
    const response = await get(pathOf('good', pbx), { 'if-none-match': `"x", ${etag}` })
    expect([response.status, await response.text()]).toEqual([304, ''])
  })

  test('has a range that cannot be satisfied: 416 with its size', async () => {
    const response = await get(pathOf('good', pbx), { range: `bytes=${SOUND.length}-` })
    expect([response.status, response.headers.get('content-range')]).toEqual([416, `bytes */${SOUND.length}`])
    expect(await response.json()).toMatchObject({ status: 'error', code: 416, result: [] })
  })

  test.each([
    ['missing', 404],
    ['empty', 404],
    ['up', 404],
    ['secret', pbx === 'folder' ? 404 : 409],
    ['growing', 409],
    ['large', 413],
    ['unknown', 404],
  ])('that is %s is %d', async (id, code) => {
    const response = await get(pathOf(id, pbx))
    expect(await response.json()).toMatchObject({ status: 'error', code, result: [] })
    expect(response.status).toBe(code)
  })

  test('is only to be saved, never shown, if it is a page', async () => {
    const { headers } = await get(pathOf('page', pbx))
    expect(headers.get('content-type')).toBe('application/octet-stream')
    expect(headers.get('content-disposition')).toStartWith('attachment; filename="page.wav"')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
  })
})

test('three hundred clients at once each get the whole, with one date', async () => {
  const sound = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const response = await get(pathOf('good'))
      expect(response.headers.get('date')).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
      return Buffer.from(await response.arrayBuffer())
    }),
  )
  expect(sound.every((one) => one.equals(SOUND))).toBe(true)
})

test('a PBX without a known place of its files: 404', async () => {
  expect((await get(pathOf('good', 'none'))).status).toBe(404)
})

test('a web server is asked for unchanged names, only below its folder', () => {
  expect(server.requests.filter((line) => !/^\w+ \/monitor\/[^/]+(\/[^/]+)?$/.test(line))).toEqual([])
  expect(server.requests).toContain('HEAD /monitor/in/%D0%97%D0%BE%D1%8F%20%221%22.wav')
})

describe('who may have a recording', () => {
  const linkOf = async () => {
    const { result } = await (await get(`/call/${encodeURIComponent('call folder')}`)).json()
    const { url } = result.recordings.find(({ id }: { id: string }) => id === 'good')
    return String(url).replace(PUBLIC, '')
  }
  const plain = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(api.url + path, { headers })).status

  test('a token of its account, and no other', async () => {
    expect((await get(pathOf('good'), { authorization: `Bearer ${strangers}` })).status).toBe(404)
    expect(await plain(pathOf('good'))).toBe(401)
    expect(await plain(pathOf('unknown'))).toBe(401)
    expect(await plain(`${pathOf('good')}?access_token=${token}`)).toBe(401)
  })

  test('a link of the record of its call', async () => {
    const link = await linkOf()
    const response = await fetch(api.url + link)
    expect(Buffer.from(await response.arrayBuffer()).equals(SOUND)).toBe(true)
    expect(await plain(link, { authorization: `Bearer ${token}` })).toBe(200)
  })

  test.each([
    [
      'a wrong signature',
      (link: string) => link.replace(/signature=(.)/, (_, first) => `signature=${first === 'A' ? 'B' : 'A'}`),
    ],
    ['another expiry', (link: string) => link.replace('expires=1', 'expires=2')],
    ['another recording', (link: string) => link.replace('/good?', '/page?')],
    ['a recording that is unknown', (link: string) => link.replace('/good?', '/unknown?')],
    ['no signature', (link: string) => link.replace(/&signature=.*/, '')],
  ])('a link with %s is refused, with one answer for all', async (_, changed) => {
    const response = await fetch(api.url + changed(await linkOf()))
    expect([response.status, (await response.json()).message]).toEqual([
      403,
      'The link is wrong or has expired. Ask for a new one.',
    ])
  })

  test("a link beside another account's token, or beside a revoked token", async () => {
    const link = await linkOf()
    for (const other of [strangers, 'hks_revoked'])
      expect(await plain(link, { authorization: `Bearer ${other}` })).toBe(200)
    expect(await plain(`${link}x`, { authorization: `Bearer ${strangers}` })).toBe(404)
  })

  test('a link for a player, to users of the account alone', async () => {
    const { result } = await (await get(`${pathOf('good')}/link`)).json()
    expect((await fetch(api.url + result.path)).status).toBe(200)
    expect((await get(`${pathOf('good')}/link`, { authorization: `Bearer ${strangers}` })).status).toBe(404)
    expect(await plain(`${pathOf('good')}/link`)).toBe(401)
  })

  test('no link once the key is another', async () => {
    const link = await linkOf()
    expect(await plain(link)).toBe(200)
    await store.recordings.linkKeyReplace('another')
    expect(await plain(link)).toBe(403)
  })
})

test('a record has links to the recordings whose files can be read', async () => {
  const urls = async (pbx: string) => {
    const { result } = await (await get(`/call/${encodeURIComponent(`call ${pbx}`)}`)).json()
    return result.recordings.map(({ url }: { url?: string }) => url)
  }
  const [first, ...others] = await urls('folder')
  expect(first).toStartWith(`${PUBLIC}/call/call%20folder/recording/good?expires=`)
  expect(others.at(-1)).toBeUndefined()
  expect((await urls('none')).filter((url: unknown) => url !== undefined)).toEqual([])
})

test('a file that was cut off while it was read breaks the connection: half a file is never taken for the whole', async () => {
  put('cut.wav', Buffer.alloc(90_000, 1))
  const cut = recordingAt('folder', 'cut', 'cut.wav')
  await store.calls.batchStore(batch({}, { recordings: [cut] }))
  const opened = await createFolderSource(monitor).open(['cut.wav'])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  truncateSync(join(monitor, 'cut.wav'), 10)
  expect(new Response(opened.file.read(0, opened.file.size)).arrayBuffer()).rejects.toThrow('cut off')
  await opened.file.close()
})

describe('a file that was saved', () => {
  const path = join(monitor, 'changing.wav')
  const changes: [string, () => void, number][] = [
    ['is gone', () => {}, 404],
    ['is empty now', () => put('changing.wav', ''), 404],
    ['is a link to a file outside now', () => symlinkSync('../secret.wav', path), 404],
    ['is a link to a folder outside now', () => symlinkSync('..', path), 404],
    ['is a link to itself now', () => symlinkSync('changing.wav', path), 404],
    ['is a folder now', () => mkdirSync(path), 404],
    ['is written again', () => writeFileSync(path, SOUND), 409],
    ['is shorter, and complete', () => put('changing.wav', SOUND.subarray(0, 5_000)), 200],
    ['is a link within the folder now', () => symlinkSync('page.wav', path), 200],
  ]
  test.each(changes)('and %s', async (_, change, status) => {
    rmSync(path, { recursive: true, force: true })
    put('changing.wav', SOUND)
    const opened = await createFolderSource(monitor).open(['changing.wav'])
    if (opened.kind !== 'file') throw new Error(opened.reason)
    await opened.file.close()
    const id = Bun.randomUUIDv7()
    const saved = { state: 'saved' as const, stamp: opened.file.stamp, mediaType: 'audio/wav' }
    const recordings = [{ ...recordingAt('folder', id, 'changing.wav'), ...saved }]
    await store.calls.batchStore(batch({}, { recordings }))
    expect((await (await get(pathOf(id))).bytes()).length).toBe(SOUND.length)
    rmSync(path)
    change()
    const response = await get(pathOf(id))
    expect(response.status).toBe(status)
    if (status !== 200) expect(await response.json()).toMatchObject({ status: 'error', code: status, result: [] })
    rmSync(path, { recursive: true, force: true })
  })
})

test('files are closed after every answer, also where the client went away', async () => {
  put('long.wav', Buffer.alloc(MAX_BYTES, 1))
  await store.calls.batchStore(batch({}, { recordings: [recordingAt('folder', 'long', 'long.wav')] }))
  for (let count = 0; count < 50; count++) {
    const controller = new AbortController()
    const response = await fetch(api.url + pathOf('long'), {
      headers: { authorization: `Bearer ${token}` },
      signal: controller.signal,
    })
    await response.body?.getReader().read()
    controller.abort()
    await get(pathOf('good'), { range: 'bytes=0-1' }).then((one) => one.arrayBuffer())
  }
  const monitorFiles = () => {
    return readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(monitor)
      } catch {
        return false
      }
    }).length
  }
  await until('the files of the folder are closed', () => monitorFiles() === 0)
})
