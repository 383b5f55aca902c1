import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

const folder = emptyFolder()
const cwd = folder.path
const receiver = startReceiver(() => new Response('taken,\n\u001b[2Jthanks\n'))
const delivery = (...args: string[]) => run(['delivery', ...args], { cwd })

/** One call of six events, all of them delivered. */
beforeAll(async () => {
  const ready = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 50, after: ready.promise })
  const pbx = `ami://u:s@127.0.0.1:${replay.port}?name=office`
  const app = await startServe({ cwd, args: ['--allow-net', 'loopback', '--pbx', pbx] })
  const token = await newToken(app, 'a@example.com')
  await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
  ready.resolve()
  const saved = '/integration/delivery?event=call_saved&state=delivered'
  await until('the whole call is delivered', async () => {
    const { body } = await ask(app, 'GET', saved, { token })
    return JSON.stringify(body).includes('"call_saved"')
  })
  await app.stop()
  await replay.stop()
})
afterAll(async () => {
  await receiver.stop()
  folder[Symbol.dispose]()
})

test('list shows of each the id, when, state, event, attempts, call and URL', async () => {
  const [headings = '', newest = ''] = (await delivery('list')).stdout.split('\n')
  expect(headings.split(/ {2,}/)).toEqual(['ID', 'CREATED', 'STATE', 'EVENT', 'ATTEMPTS', 'CALL', 'URL'])
  const [id, created, ...rest] = newest.split(/ {2,}/)
  expect(id).toMatch(/^dlv_[\w-]{22}$/)
  expect(created).toMatch(/^\d{4}-.*Z$/)
  expect(rest).toEqual(['delivered', 'call_saved', '1', expect.stringMatching(/^[0-9a-f-]{36}$/), receiver.url])
})

test('the call that list shows finds all of its own', async () => {
  const [{ call_id: call }] = JSON.parse((await delivery('list', '--limit', '1', '--json')).stdout).items
  const { stdout } = await delivery('list', '--call', call)
  const [, ...lines] = stdout.trim().split('\n')
  expect(lines.length).toBeGreaterThan(1)
  expect(lines.every((line) => line.includes(call))).toBe(true)
})

test('show prints the answer of every attempt in one line, without control characters', async () => {
  const [{ id }] = JSON.parse((await delivery('list', '--limit', '1', '--json')).stdout).items
  const { stdout } = await delivery('show', id)
  expect(stdout).toMatch(/^\S+Z {2}attempt {2}200 {6}\d+ ms +127\.0\.0\.1 {2}taken, \?\[2Jthanks$/m)
  expect(stdout).toContain('"name":"call_saved"')
})

test.each([
  [
    'an unknown id',
    ['show', '99999999'],
    1,
    /there is no delivery 99999999: list the ids with hookswitch delivery list/,
  ],
  ['what is no id', ['show', 'abc'], 1, /there is no delivery abc: list the ids with hookswitch delivery list/],
  [
    'an unknown id to retry',
    ['retry', '99999999'],
    1,
    /there is no delivery 99999999: list the ids with hookswitch delivery list/,
  ],
  ['nothing to retry', ['retry'], 2, /delivery retry ID/],
  [
    'no zone',
    ['retry', '--failed-since', '2026-11-20T21:42:00'],
    2,
    /--failed-since: 2026-11-20T21:42:00 is neither a time \(2026-/,
  ],
  ['no time', ['retry', '--failed-since', 'yesterday'], 2, /--failed-since: yesterday is neither a time/],
] as const)('%s is reported in one line with what to do', async (_, args, code, message) => {
  const ran = await delivery(...args)
  expect([ran.code, ran.stderr.trim().split('\n').length]).toEqual([code, 1])
  expect(ran.stderr).toMatch(message)
})
