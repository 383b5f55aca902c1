import { afterAll, beforeAll, expect, test } from 'bun:test'
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, utimesSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import { parseRange } from '../../src/recordings/byte-range.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { addUser, ask, logIn } from '../help/client.ts'
import { pendingRecording } from '../help/recordings.ts'
import { batch, openStore } from '../help/store.ts'

// A recording of 3 GB, in a folder and on a web server, by the compiled file. It takes no disk: most of it is a hole.

const BYTES = 3_000_000_000
const BEFORE = new Date('2026-11-20T10:00:00Z')
const MARKS = [0, 1_500_000_000, BYTES - 4]
/** Large enough to show whether the service keeps it in memory. */
const STREAMED_BYTES = 600_000_000
/** A quarter of that, and more than a process grows by that sends nothing. */
const MAX_GROWTH_KB = 150_000

const folder = emptyFolder()
const path = join(folder.path, 'monitor/large.wav')
const web = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const { start, end } = Object(parseRange(request.headers.get('range'), BYTES))
    const headers = { 'last-modified': BEFORE.toUTCString(), date: new Date().toUTCString() }
    const file = Bun.file(path)
    if (start === undefined) return new Response(file, { headers })
    const range = `bytes ${start}-${end - 1}/${BYTES}`
    return new Response(file.slice(start, end), { status: 206, headers: { ...headers, 'content-range': range } })
  },
})
let app: RunningApp
let token = ''

const start = (max: string) => {
  const pbx = (name: string, place: string) => ['--pbx', `ami://a:b@127.0.0.1:1?name=${name}&recordings=${place}`]
  const args = [...pbx('folder', join(folder.path, 'monitor')), ...pbx('web', `http://127.0.0.1:${web.port}/monitor/`)]
  return startServe({ cwd: folder.path, args: [...args, '--recording-max', max, '--log-level', 'fatal'] })
}
const get = (pbx: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${app.url}/call/${pbx}/recording/r`, { method, headers: { authorization: `Bearer ${token}`, ...headers } })

beforeAll(async () => {
  mkdirSync(join(folder.path, 'monitor'))
  const file = openSync(path, 'w')
  ftruncateSync(file, BYTES)
  for (const at of MARKS) writeSync(file, 'RIFF', at)
  closeSync(file)
  utimesSync(path, BEFORE, BEFORE)
  app = await start('512MB')
  await addUser(folder.path, 'a@example.com')
  token = await logIn(app, 'a@example.com')
  const store = openStore(join(folder.path, 'data/hookswitch.db'))
  for (const pbx of ['folder', 'web']) {
    const path = '/monitor/large.wav'
    const recording = pendingRecording('r', { callId: pbx, pbx, path, state: 'saved', sinceUs: nowUs() })
    const call = { id: pbx, savedUs: nowUs(), direction: 'inbound' as const, fromNumber: null, toNumber: null }
    await store.calls.batchStore(batch({ saved: [{ ...call, record: '{}' }] }, { recordings: [recording] }))
  }
  await store.stop()
})
afterAll(async () => {
  await app.stop()
  await web.stop(true)
  folder[Symbol.dispose]()
})

test.each(['folder', 'web'])('is refused with 413 by the limit: of a %s', async (pbx) => {
  const { status, body } = await ask(app, 'GET', `/call/${pbx}/recording/r`, { token })
  expect([status, body.message]).toEqual([413, expect.stringContaining('--recording-max')])
})

test('is sent where the limit allows it', async () => {
  await app.stop()
  app = await start('4GB')
  expect((await get('folder', {}, 'HEAD')).headers.get('content-length')).toBe(String(BYTES))
})

test.each(['folder', 'web'])('is sent in ranges, wherever they are: of a %s', async (pbx) => {
  for (const at of MARKS) {
    const response = await get(pbx, { range: `bytes=${at}-${at + 3}` })
    expect([response.status, response.headers.get('content-range'), response.headers.get('content-length')]).toEqual([
      206,
      `bytes ${at}-${at + 3}/${BYTES}`,
      '4',
    ])
    expect(await response.text()).toBe('RIFF')
  }
  expect(await (await get(pbx, { range: 'bytes=-4' })).text()).toBe('RIFF')
})

/** The most memory that the service has used so far. */
const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${app.pid}/status`, 'utf8'))?.[1])

test.skipIf(process.platform !== 'linux').each(['folder', 'web'])(
  'passes through the service without staying in its memory: of a %s',
  async (pbx) => {
    const bytes = STREAMED_BYTES
    await (await get(pbx, { range: 'bytes=0-9999999' })).bytes()
    const beforeKb = peakKb()
    const response = await get(pbx, { range: `bytes=0-${bytes - 1}` })
    let received = 0
    for await (const chunk of response.body ?? []) received += chunk.length
    expect(received).toBe(bytes)
    const growthKb = peakKb() - beforeKb
    process.stderr.write(`${bytes / 1e6} MB of a ${pbx}: the peak of ${beforeKb} KB grew by ${growthKb} KB\n`)
    expect(growthKb).toBeLessThan(MAX_GROWTH_KB)
  },
)
