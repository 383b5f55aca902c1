import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { createHostCheck } from '../../src/http/allowed-hosts.ts'
import { emptyFolder, type RunningApp, start, startServe } from '../help/app.ts'

describe('the header Host', () => {
  const isAllowed = createHostCheck({
    publicUrl: 'https://Calls.example.com:8443/x',
    names: ['hooks.internal', 'Dotted.example.'],
  })

  test.each([
    '127.0.0.1',
    '127.0.0.1:8080',
    '192.168.1.7:80',
    '[::1]',
    '[2001:db8::1]:8080',
    'localhost',
    'LocalHost:8080',
    'localhost.',
    'calls.example.com',
    'CALLS.example.com:443',
    'hooks.internal:8080',
    'dotted.example',
    'dotted.example.:80',
  ])('is answered: %s', (host) => expect(isAllowed(host)).toBe(true))

  test.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example@127.0.0.1',
    '127.0.0.1@evil.example',
    'calls.example.com.evil.example',
    'hooks.internal, evil.example',
    '[::1].evil.example',
    '[evil.example]',
    '::1',
    'x:1:2',
  ])('is refused: %s', (host) => expect(isAllowed(host)).toBe(false))

  test('may be missing: every browser sends it, but not every probe', () => {
    expect(isAllowed(null)).toBe(true)
    expect(isAllowed('')).toBe(true)
  })
})

/** Sends a request with any header Host, and returns the status line with the body. */
async function askAs(app: RunningApp, host: string, path: string, method = 'GET'): Promise<string> {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part)
  return Buffer.concat(parts).toString()
}

const PATHS = ['/', '/health', '/docs', '/openapi.json', '/metrics', '/auth/me', '/pbx', '/stream', '/nowhere']

test('a page under a name that is not this service gets 421 in the envelope, on every path', async () => {
  using folder = emptyFolder()
  const args = [
    '--public-url',
    'https://calls.example.com',
    '--host',
    'hooks.internal',
    '--metrics-token',
    'x'.repeat(16),
  ]
  const app = await startServe({ cwd: folder.path, args })
  try {
    for (const path of PATHS) {
      const answer = await askAs(app, 'evil.example', path)
      expect(answer).toStartWith('HTTP/1.1 421 ')
      const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
      expect(body).toMatchObject({ status: 'error', code: 421, result: [], message: expect.stringContaining('--host') })
      expect(answer.toLowerCase()).toMatch(/\r\nx-request-id: /)
    }
    expect(await askAs(app, 'evil.example', '/auth/login', 'POST')).toStartWith('HTTP/1.1 421 ')
    for (const host of ['127.0.0.1', 'localhost:1', '[::1]', 'calls.example.com', 'hooks.internal:80'])
      expect(await askAs(app, host, '/health')).toStartWith('HTTP/1.1 200 ')
  } finally {
    await app.stop()
  }
})

test('the demo has an administrator whose password is another each time, and answers to no other name', async () => {
  using folder = emptyFolder()
  const env = { TMPDIR: folder.path }
  const ready = /web page +(\S+)[\s\S]*with the password +\S+/
  const passwords: (string | undefined)[] = []
  for (const args of [['demo'], ['demo', '--host', 'demo.internal']]) {
    const app = await start(args, { cwd: folder.path, env, ready })
    passwords.push(/with the password +(\S+)/.exec(app.output())?.[1])
    expect(await askAs(app, 'evil.example', '/')).toStartWith('HTTP/1.1 421 ')
    const isNamed = args.includes('demo.internal')
    expect(await askAs(app, 'demo.internal', '/')).toStartWith(isNamed ? 'HTTP/1.1 200 ' : 'HTTP/1.1 421 ')
    await app.stop()
  }
  expect(passwords[0]).toMatch(/^[\w-]{16,}$/)
  expect(passwords[1]).toMatch(/^[\w-]{16,}$/)
  expect(passwords[0]).not.toBe(passwords[1])
})
