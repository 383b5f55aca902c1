import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAllowance } from '../../src/http/rate-limit.ts'
import { Fault } from '../../src/lib/fault.ts'
import { SECOND } from '../../src/lib/time.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { connectByHand } from '../help/by-hand.ts'
import { ask, newToken } from '../help/client.ts'
import { until } from '../help/receiver.ts'

const folder = emptyFolder()
let app: RunningApp
let token: string
let stranger: string
let dripping: ReturnType<typeof startDripping>
beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  token = await newToken(app, 'a@example.com')
  stranger = await newToken(app, 'b@example.com', 'other')
  dripping = startDripping()
})
afterAll(async () => {
  dripping.stop()
  await app.stop()
  folder[Symbol.dispose]()
})

/** Sends the head of a request by hand, and bytes of its body now and then. */
function byHand(head: string) {
  const sender = connectByHand(app.url)
  sender.socket.write(`${head}\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`)
  return sender
}

/** Sends a body drop by drop, for as long as the service lets it. The other tests are run meanwhile. */
function startDripping() {
  const sender = byHand('POST /auth/login HTTP/1.1')
  sender.socket.write('Content-Length: 1000\r\n\r\n')
  const drops = setInterval(() => sender.socket.write(' '), 500)
  const stop = (): void => {
    clearInterval(drops)
    sender[Symbol.dispose]()
  }
  return { isClosed: () => sender.state.closed, stop }
}

test('a body that is nested deeply is refused', async () => {
  const headers = { 'content-type': 'application/json' }
  const raw = '['.repeat(8_000) + ']'.repeat(8_000)
  expect((await ask(app, 'POST', '/auth/login', { headers, raw })).status).toBe(400)
})

test.each([
  ['POST', '/auth/login', '{"email":"a\\ud800@example.com","password":"x"}', '/email'],
  ['POST', '/auth/login', '{"email":"a@example.com","password":"\\uDC00x"}', '/password'],
  ['PUT', '/integration/webhook/options', '{"url":"https://a.example","name":"\\ud83d"}', '/name'],
  [
    'PUT',
    '/integration/webhook/options',
    '{"url":"https://a.example","filter":{"queue":["a","\\ud83d"]}}',
    '/filter/queue/1',
  ],
  ['PUT', '/integration/contacts', '{"preset":"journal","parameters":{"a/b\\ud83d":1}}', '/parameters/a~1b\ud83d'],
  ['POST', '/auth/token', '{"name":"\\ud83d"}', '/name'],
])('half of a character is refused wherever it stands: %s %s %s', async (method, path, raw, pointer) => {
  const headers = { 'content-type': 'application/json' }
  const { status, body } = await ask(app, method, path, { token, headers, raw })
  expect(status).toBe(422)
  const { errors } = body.result as { errors: { path: string; message: string }[] }
  expect(errors).toContainEqual({ path: pointer, message: expect.stringMatching(/lone surrogate/) })
})

test('a pair of escaped surrogates is a character', async () => {
  const headers = { 'content-type': 'application/json' }
  const raw = '{"name":"\\ud83d\\ude42"}'
  const { status, body } = await ask(app, 'POST', '/auth/token', { token, headers, raw })
  expect([status, body.result]).toMatchObject([200, { name: '🙂' }])
})

describe('a body of a stranger', () => {
  test.each([
    ['an announced', (length: number) => `Content-Length: ${length}\r\n\r\n`],
    [
      'an unannounced',
      (length: number) => `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${' '.repeat(length)}\r\n`,
    ],
  ])('of more than 1 MiB is not waited for: %s length', async (_, rest) => {
    using sender = byHand('POST /auth/login HTTP/1.1')
    sender.socket.write(rest(1024 * 1024 + 1))
    await until('it is answered', () => sender.state.text.includes('"message"'))
    expect(sender.state.text).toStartWith('HTTP/1.1 413')
  })
})

test.each([
  ['an announced', (text: string) => text],
  ['an unannounced', (text: string) => new Blob([text]).stream()],
])('a login may have a body of 1 MiB: %s length', async (_, raw) => {
  const login = JSON.stringify({ email: 'nobody@example.com', password: 'wrong password', padding: '' })
  const text = `${login}${' '.repeat(1024 * 1024 - login.length)}`
  const { status } = await ask(app, 'POST', '/auth/login', {
    raw: raw(text),
    headers: { 'content-type': 'application/json' },
  })
  expect(status).toBe(401)
})

test('an account that sends one large body after the other has to wait, and no other one is', async () => {
  const raw = `[${' '.repeat(1_000_000)}]`
  const headers = { 'content-type': 'application/json' }
  const put = (whose: string) => ask(app, 'PUT', '/integration/webhook', { token: whose, raw, headers })
  let refused = await put(token)
  let sent = 1
  for (; refused.status === 200 && sent < 1_000; sent += 1) refused = await put(token)
  expect(refused.status).toBe(429)
  expect(sent).toBeGreaterThan(32)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await ask(app, 'PUT', '/integration/webhook', { token: stranger, body: [] })).status).toBe(200)
})

test('an allowance is spent at once or bit by bit, and grows back', () => {
  let atUs = 0
  const allowance = createAllowance({ atOnce: 10, perSecond: 2, now: () => atUs })
  const spend = (accountId: number, amount: number) => {
    try {
      allowance.spend(accountId, amount)
      return 'spent'
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return `${error.status}, again in ${error.headers['retry-after']} s`
    }
  }
  expect([spend(1, 4), spend(1, 6), spend(1, 3), spend(2, 10)]).toEqual([
    'spent',
    'spent',
    '429, again in 2 s',
    'spent',
  ])
  atUs += SECOND
  expect([spend(1, 3), spend(1, 2), spend(1, 1)]).toEqual(['429, again in 1 s', 'spent', '429, again in 1 s'])
  atUs += 1_000 * SECOND
  expect([spend(1, 10), spend(1, 1)]).toEqual(['spent', '429, again in 1 s'])
})

test('a body of a stranger that comes drop by drop holds its connection for no longer than one that does not come', () =>
  until('it is closed', dripping.isClosed))
