import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { audioFixture, tone } from '../help/audio.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { startFileServer } from '../help/file-server.ts'
import { fixture } from '../help/pbx.ts'
import { startReceiver, until } from '../help/receiver.ts'

// Calls of both kinds of PBX that were recorded, from the path that the PBX reports to the sound that a receiver
// downloads from the link it got: with the compiled file, real audio, and copies.

const MONITOR = '/srv/ast/root/var/spool/asterisk/monitor'

/** Each case has a folder `files/NAME`; `below` is the end of the reported path. The files have any ending. */
const CASES = [
  {
    name: 'freeswitch',
    recording: 'recorded.esl',
    query: 'recordings=FOLDER/recordings',
    below: 'recordings/2026-11-20_4d981605-d8a0-4bf1-aa79-1ab157d3b70e.wav',
    sound: tone(5),
    type: 'audio/wav',
    link: `/srv/fs/run/recordings/2026-11-20_4d981605-d8a0-4bf1-aa79-1ab157d3b70e.wav`,
  },
  {
    name: 'freeswitch-opus',
    recording: 'recorded-json.esl',
    query: 'recordings=FOLDER&recordings_root=/srv/fs/run/recordings',
    below: '2026-11-20_4d981605-d8a0-4bf1-aa79-1ab157d3b70e.wav',
    sound: audioFixture('opus.ogg'),
    type: 'audio/ogg; codecs=opus',
    link: `/srv/fs/run/recordings/2026-11-20_4d981605-d8a0-4bf1-aa79-1ab157d3b70e.wav`,
  },
  {
    name: 'asterisk-gsm',
    recording: 'm-recorded.ami',
    query: `recordings=FOLDER&recordings_root=${MONITOR}`,
    below: '2026/11/20/in-15550100105-15551230001-1795214147.1092.wav',
    sound: audioFixture('gsm.wav'),
    type: 'audio/vnd.wave; codec=31',
    link: `${MONITOR}/2026/11/20/in-15550100105-15551230001-1795214147.1092.wav`,
  },
  {
    name: 'asterisk-web',
    recording: 'm2-recorded-on-demand.ami',
    query: 'recordings=URL',
    below: 'monitor/ondemand-101.wav',
    sound: audioFixture('mpeg.mp3'),
    type: 'audio/mpeg',
    link: `${MONITOR}/ondemand-101.wav`,
  },
] as const

type Recording = { id: string; path: string; url: string }
type Data = { name: string; pbx: string; sequence: number; call: { id: string }; recording?: Recording }

const folder = emptyFolder()
const folderOf = (name: string) => join(folder.path, 'files', name)
const fileOf = ({ name, below }: { name: string; below: string }) => join(folderOf(name), below)
const PUBLIC = 'https://calls.example.com/below'
const stops: (() => unknown)[] = []
let app: RunningApp
let token = ''
let events: () => Data[] = () => []
const savedOf = (pbx: string) => events().filter((data) => data.pbx === pbx && data.name === 'recording_saved')

beforeAll(async () => {
  for (const one of CASES) {
    mkdirSync(dirname(fileOf(one)), { recursive: true })
    writeFileSync(fileOf(one), one.sound)
  }
  const receiver = startReceiver()
  stops.unshift(() => receiver.stop())
  events = () => [...new Map(receiver.received.map(({ id, body }) => [id, JSON.parse(body).data])).values()]
  const server = startFileServer({ folder: folderOf('asterisk-web'), authorization: 'Bearer pass' })
  stops.unshift(server.stop)
  const { promise: isReady, resolve: goOn } = Promise.withResolvers<void>()
  const urls = CASES.map(({ name, recording, query }) => {
    const replay = startReplay({ files: [fixture(recording)], after: isReady, speed: 4 })
    stops.unshift(() => replay.stop())
    const scheme = recording.endsWith('.ami') ? 'ami://any' : 'esl://'
    const place = query.replace('FOLDER', folderOf(name)).replace('URL', `${server.url}monitor/&recordings_token=pass`)
    return `${scheme}:any@127.0.0.1:${replay.port}?name=${name}&${place}`
  })
  const settings = ['--allow-net', 'loopback', '--public-url', PUBLIC, '--recordings-copy', join(folder.path, 'copies')]
  app = await startServe({ cwd: folder.path, args: [...settings, ...urls.flatMap((url) => ['--pbx', url])] })
  stops.unshift(() => app.stop())
  token = await newToken(app, 'a@example.com')
  const url = `${receiver.url}/calls`
  expect((await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })).status).toBe(200)
  const options = { url, events: ['recording_saved'] }
  expect((await ask(app, 'PUT', '/integration/webhook/options', { token, body: options })).status).toBe(200)
  goOn()
  await until('every recording is saved', () => CASES.every(({ name }) => savedOf(name).length > 0))
})
afterAll(async () => {
  for (const stop of stops) await stop()
  folder[Symbol.dispose]()
})

describe.each(CASES)('the recording of $name', ({ name, below, sound, type, link }) => {
  const get = async (headers: Record<string, string> = {}, url = savedOf(name)[0]?.recording?.url ?? '') => {
    const response = await fetch(url.replace(PUBLIC, app.url), { headers })
    return { response, bytes: Buffer.from(await response.arrayBuffer()) }
  }

  test('is one event, after the record of its call, whose sequence it repeats', () => {
    const [saved, ...more] = savedOf(name)
    expect(more).toEqual([])
    const record = events().find((data) => data.pbx === name && data.name === 'call_saved')
    expect([saved?.recording?.path, saved?.sequence, saved?.call.id]).toEqual([link, record?.sequence, record?.call.id])
  })

  test('opens by its link, in the type of its content, whatever its name', async () => {
    const { response, bytes } = await get()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
    expect(bytes.equals(sound)).toBe(true)
    const part = await get({ range: 'bytes=100-199' })
    expect([part.response.status, part.bytes.equals(sound.subarray(100, 200))]).toEqual([206, true])
  })

  test('is served from its copy when the PBX has deleted its file, with its SHA-256 as its tag', async () => {
    rmSync(join(folderOf(name), below))
    const { response, bytes } = await get()
    expect(bytes.equals(sound)).toBe(true)
    expect(response.headers.get('etag')).toBe(`"${createHash('sha256').update(sound).digest('hex')}"`)
  })

  test('has a link in the record of its call too', async () => {
    const { body } = await ask(app, 'GET', `/call/${savedOf(name)[0]?.call.id}`, { token })
    const { recordings } = body.result as { recordings: Recording[] }
    expect(recordings.map(({ path }) => path)).toEqual([link])
    expect((await get({}, recordings[0]?.url)).bytes.equals(sound)).toBe(true)
  })
})

test('the compiled file replaces the key beside the running service: then no link opens anything, and new ones do', async () => {
  const links = CASES.map(({ name }) => savedOf(name)[0]?.recording?.url.replace(PUBLIC, app.url) ?? '')
  const statuses = () => Promise.all(links.map(async (link) => (await fetch(link)).status))
  expect(await statuses()).toEqual([200, 200, 200, 200])
  const rotated = await run(['recordings', 'rotate-key'], { cwd: folder.path })
  expect(rotated).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('earlier links to recordings no longer open'),
  })
  expect(await statuses()).toEqual([403, 403, 403, 403])
  const fresh = async () => {
    const { body } = await ask(app, 'GET', `/call/${savedOf('freeswitch')[0]?.call.id}`, { token })
    const { recordings } = body.result as { recordings: Recording[] }
    return (await fetch(recordings[0]?.url.replace(PUBLIC, app.url) ?? '')).status
  }
  await until('new links have the new key', async () => (await fresh()) === 200)
})

test('a PBX without recordings=: copies are still served, and the page shows that', async () => {
  const callId = savedOf('freeswitch')[0]?.call.id
  await app.stop()
  app = await startServe({
    cwd: folder.path,
    args: ['--public-url', PUBLIC, '--recordings-copy', join(folder.path, 'copies')],
  })
  const { body } = await ask(app, 'GET', `/call/${callId}`, { token })
  const { recordings } = body.result as { recordings: Recording[] }
  const response = await fetch(recordings[0]?.url.replace(PUBLIC, app.url) ?? '')
  expect(Buffer.from(await response.arrayBuffer()).equals(CASES[0].sound)).toBe(true)
})

test('without the place of the copies there is nothing to open: 404, and no link in the record', async () => {
  const callId = savedOf('freeswitch')[0]?.call.id
  const { url = '' } = savedOf('freeswitch')[0]?.recording ?? {}
  await app.stop()
  app = await startServe({ cwd: folder.path, args: ['--public-url', PUBLIC] })
  const { body } = await ask(app, 'GET', `/call/${callId}`, { token })
  const { recordings } = body.result as { recordings: Recording[] }
  expect(recordings.map((one) => 'url' in one)).toEqual([false])
  const path = new URL(url).pathname.replace('/below', '')
  expect((await ask(app, 'GET', path, { token })).status).toBe(404)
})
