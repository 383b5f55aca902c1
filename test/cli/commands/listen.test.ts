import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newSecret, signerOf } from '../../../src/outbound/signature.ts'
import { emptyFolder, type RunningApp, run, start } from '../../help/app.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

const folder = emptyFolder()
const cwd = folder.path
const secret = newSecret()
const ready = /^hookswitch listens on (\S+)$/m
afterAll(() => folder[Symbol.dispose]())

const nowS = () => Math.floor(Date.now() / 1_000)
const body = '{"data":{"name":"test"}}'
const signed = (timestampS = nowS(), by = secret) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(timestampS),
  'webhook-signature': signerOf([by])('msg_1', timestampS, body),
})

test.each([
  ['listen', ['listen', '--port']],
  ['pbx replay', ['pbx', 'replay', fixture('o-ivr-no-dial.ami'), '--listen']],
])('%s names a port that is in use', async (name, args) => {
  const other = startReceiver()
  const address = name === 'listen' ? String(other.port) : `127.0.0.1:${other.port}`
  const { code, stderr } = await run([...args, address], { cwd })
  await other.stop()
  const flag = name === 'listen' ? '--port' : '--listen 127.0.0.1:PORT'
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `hookswitch: port ${other.port} on 127.0.0.1 is in use: stop the other program, or choose another port with ${flag}\n`,
  })
})

describe('hookswitch listen', () => {
  let app: RunningApp
  beforeAll(async () => {
    app = await start(['listen', '--port', '0', '--secret', secret], { cwd, ready })
  })
  afterAll(async () => {
    expect(await app.stop('SIGINT')).toBe(0)
  })

  test.each<[string, Record<string, string>, number, RegExp]>([
    ['a right signature', signed(), 200, /✓ signed +test +a test request/],
    [
      'one of an old and a new secret',
      { ...signed(), 'webhook-signature': `v1,x ${signed()['webhook-signature']}` },
      200,
      /✓/,
    ],
    ['another secret', signed(nowS(), newSecret()), 401, /✗ no signature matches the secret/],
    ['an old request', signed(nowS() - 3_600), 401, /✗ webhook-timestamp is more than 5 minutes/],
    ['no signature', {}, 401, /✗ a webhook-\* header is missing/],
  ])('prints of %s what it is, and answers as a receiver should', async (_, headers, status, line) => {
    const before = app.output().length
    const response = await fetch(`${app.url}/any/path`, { method: 'POST', headers, body })
    expect(response.status).toBe(status)
    await until('the request is shown', () => app.output().slice(before).includes('    }'))
    const shown = app.output().slice(before)
    expect(shown).toMatch(line)
    expect(shown).toContain('POST /any/path')
    expect(shown).toContain('"name": "test"')
  })

  test('shows text of others without what would move the cursor', async () => {
    const before = app.output().length
    await fetch(`${app.url}/`, { method: 'POST', body: '\x1b[2Jhello' })
    await until('the request is shown', () => app.output().slice(before).includes('hello'))
    expect(app.output()).not.toContain('\x1b')
  })
})

test('answers as its flags state, regardless of the signature', async () => {
  const app = await start(['listen', '--port', '0', '--secret', secret, '--answer', '202'], { cwd, ready })
  expect((await fetch(app.url, { method: 'POST', body })).status).toBe(202)
  await app.stop()
})

test('prints JSON for machines, and answers as its flags state', async () => {
  const app = await start(['listen', '--port', '0', '--json', '--answer', '503'], { cwd, ready })
  expect((await fetch(`${app.url}/x`, { method: 'POST', body })).status).toBe(503)
  await until('the request is shown', () => app.output().includes('{'))
  await app.stop()
  const line =
    app
      .output()
      .split('\n')
      .find((one) => one.startsWith('{')) ?? ''
  expect(JSON.parse(line)).toMatchObject({ method: 'POST', path: '/x', body, signature: { kind: 'unchecked' } })
})

test.each([
  [['--secret', 'abc'], /whsec_/],
  [['--port', 'x'], /--port/],
  [['--answer', '99'], /--answer/],
  [['--json', 'x'], /see hookswitch listen --help/],
])('%j is wrong usage', async (args, message) => {
  const { code, stderr } = await run(['listen', ...args], { cwd })
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})
