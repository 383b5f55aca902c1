import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { type Ask, addUser, ask, newToken, webhook } from '../help/client.ts'

// Section 2.2 of the contract, all of it, against the compiled file.

const folder = emptyFolder()
let app: RunningApp
let token: string

beforeAll(async () => {
  app = await startServe({ cwd: folder.path, args: ['--host', 'pbx'] })
  token = await newToken(app, 'table@example.com')
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

const LIST = '/integration/webhook'
const json = { 'content-type': 'application/json' }
const big = new Uint8Array(1024 * 1024 + 1).fill(0x20)
const good = [webhook('https://example.com/hook')]
const chunked = (bytes: Uint8Array) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })

type Case = [sentence: string, method: string, path: string, ask: Ask & { auth?: boolean }, status: number]
const cases: Case[] = [
  ['success is 200', 'GET', '/auth/me', { auth: true }, 200],
  ['success of a PUT is 200', 'PUT', LIST, { auth: true, body: good }, 200],
  ['success of a POST is 200', 'POST', '/auth/logout', { auth: false, token: 'fresh' }, 200],
  ['an empty body is 400', 'PUT', LIST, { auth: true, headers: json }, 400],
  ['an empty body without a type is 400', 'POST', '/auth/login', {}, 400],
  ['a body that is not JSON is 400', 'PUT', LIST, { auth: true, raw: '[{', headers: json }, 400],
  ['invalid UTF-8 is 400', 'PUT', LIST, { auth: true, raw: new Uint8Array([0x22, 0xff, 0x22]), headers: json }, 400],
  [
    'a body nested too deep is no fault of ours',
    'PUT',
    LIST,
    { auth: true, raw: '['.repeat(500_000), headers: json },
    400,
  ],
  ['a wrong password is 401', 'POST', '/auth/login', { body: { email: 'table@example.com', password: 'wrong' } }, 401],
  ['an unknown user is 401', 'POST', '/auth/login', { body: { email: 'no@example.com', password: 'wrong' } }, 401],
  ['no token is 401', 'GET', '/auth/me', {}, 401],
  ['another scheme is 401', 'GET', '/auth/me', { headers: { authorization: 'Basic YTpi' } }, 401],
  ['a malformed token is 401', 'GET', '/auth/me', { token: 'hks_short' }, 401],
  ['an unknown token is 401', 'GET', '/auth/me', { token: `hks_${'A'.repeat(43)}` }, 401],
  ['two tokens are 401', 'GET', '/auth/me', { token: `hks_${'A'.repeat(43)} x` }, 401],
  ['an unknown path is 404', 'GET', '/nothing', {}, 404],
  ['an unknown path is 404 with a token, too', 'POST', '/auth', { auth: true }, 404],
  ['an unknown delivery is 404', 'GET', '/integration/delivery/1', { auth: true }, 404],
  ['what is no id of a delivery is 404', 'POST', '/integration/delivery/x/retry', { auth: true }, 404],
  ['an unknown call is 404', 'GET', '/call/x', { auth: true }, 404],
  ['the events of an unknown call are 404', 'GET', '/call/x/event', { auth: true }, 404],
  ['another method is 405', 'DELETE', '/auth/me', {}, 405],
  ['another method with a body is 405', 'POST', LIST, { body: good }, 405],
  ['OPTIONS is 405', 'OPTIONS', LIST, {}, 405],
  ['an Accept that rules JSON out is 406', 'GET', '/auth/me', { auth: true, headers: { accept: 'text/html' } }, 406],
  ['q=0 rules JSON out', 'GET', '/auth/me', { auth: true, headers: { accept: 'application/json;q=0, */*' } }, 406],
  ['*/* is fine', 'GET', '/auth/me', { auth: true, headers: { accept: 'text/html, */*;q=0.1' } }, 200],
  ['application/* is fine', 'GET', '/auth/me', { auth: true, headers: { accept: 'application/*' } }, 200],
  ['If-Match of another list is 412', 'PUT', LIST, { auth: true, body: good, headers: { 'if-match': '"x"' } }, 412],
  ['a larger body is 413', 'PUT', LIST, { auth: true, raw: big, headers: json }, 413],
  ['a larger body in chunks is 413', 'PUT', LIST, { auth: true, raw: chunked(big), headers: json }, 413],
  ['1 MiB is not too large', 'PUT', LIST, { auth: true, raw: big.subarray(1), headers: json }, 400],
  ['another type is 415', 'PUT', LIST, { auth: true, raw: 'a=b', headers: { 'content-type': 'text/plain' } }, 415],
  ['no type is 415', 'PUT', LIST, { auth: true, raw: new Uint8Array([0x5b, 0x5d]) }, 415],
  [
    'a charset is fine',
    'PUT',
    LIST,
    { auth: true, raw: '[]', headers: { 'content-type': 'Application/JSON; charset=UTF-8' } },
    200,
  ],
  ['what does not fit is 422', 'PUT', LIST, { auth: true, body: {} }, 422],
  [
    'a URL with half of a character is 422',
    'PUT',
    LIST,
    { auth: true, body: [webhook('http://example.com/\ud800')] },
    422,
  ],
  [
    'localhost with dots behind it is a refused address',
    'PUT',
    LIST,
    { auth: true, body: [webhook('http://localhost../')] },
    422,
  ],
  ['a refused address is 422', 'PUT', LIST, { auth: true, body: [webhook('http://127.0.0.1/')] }, 422],
  ['a login without a password is 422', 'POST', '/auth/login', { body: { email: 'a@example.com' } }, 422],
  [
    'fields that are unknown elsewhere are ignored',
    'POST',
    '/auth/login',
    { body: { email: 'x', password: 'y', z: 1 } },
    401,
  ],
  ['health needs no token', 'GET', '/health', {}, 200],
  ['health keeps to the 406 rule', 'GET', '/health', { headers: { accept: 'text/plain' } }, 406],
  // The order of the checks.
  ['404 comes before 406', 'GET', '/nothing', { headers: { accept: 'text/html' } }, 404],
  ['405 comes before 406', 'DELETE', '/auth/me', { headers: { accept: 'text/html' } }, 405],
  ['406 comes before 401', 'GET', '/auth/me', { headers: { accept: 'text/html' } }, 406],
  ['401 comes before 413', 'PUT', LIST, { raw: big, headers: json }, 401],
  ['401 comes before 415', 'PUT', LIST, { raw: 'x', headers: { 'content-type': 'text/plain' } }, 401],
  ['401 comes before 400', 'PUT', LIST, { headers: json }, 401],
  ['413 comes before 415', 'PUT', LIST, { auth: true, raw: big, headers: { 'content-type': 'text/plain' } }, 413],
  ['415 comes before 400', 'PUT', LIST, { auth: true, raw: '{', headers: { 'content-type': 'text/plain' } }, 415],
  ['422 comes before 412', 'PUT', LIST, { auth: true, body: {}, headers: { 'if-match': '"x"' } }, 422],
]

test.each(cases)('%s', async (_, method, path, { auth, ...options }, status) => {
  const used = auth ? token : options.token === 'fresh' ? await newToken(app, 'fresh@example.com') : options.token
  const { body, headers, ...answer } = await ask(app, method, path, {
    ...options,
    ...(used === undefined ? {} : { token: used }),
  })
  expect(answer.status).toBe(status)
  expect(headers.get('content-type')).toStartWith('application/json')
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-/)
  expect(Object.keys(body).sort()).toEqual(['code', 'message', 'result', 'status'])
  expect(body.code).toBe(status)
  expect(body.status).toBe(status === 200 ? 'success' : 'error')
  expect(body.message).not.toBe('')
  if (status !== 200 && status !== 422) expect(body.result).toEqual([])
  if (status === 422) expect(body.result).toEqual({ errors: expect.any(Array) })
  if (status === 401) expect(headers.get('www-authenticate')).toBe('Bearer')
})

describe('a HEAD request', () => {
  test.each([
    ['gets what GET would', '/auth/me', true, 200],
    ['is refused as GET would', '/auth/me', false, 401],
    ['of an unknown path is 404', '/nothing', true, 404],
    ['of a path without GET is 405', '/auth/login', true, 405],
  ])('%s', async (_, path, auth, status) => {
    const headers = auth ? { authorization: `Bearer ${token}` } : {}
    const [head, get] = [
      await fetch(app.url + path, { method: 'HEAD', headers }),
      await fetch(app.url + path, { headers }),
    ]
    expect(head.status).toBe(status)
    // 405 names the method, so that its length differs.
    if (status !== 405) expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
    expect(await head.text()).toBe('')
  })

  test('does not wait for the end of the stream', async () => {
    const options = { method: 'HEAD', headers: { authorization: `Bearer ${token}` } }
    const { status, headers } = await fetch(`${app.url}/stream`, options)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  })
})

describe('what an answer contains', () => {
  test('405 names the methods that are possible', async () => {
    const { headers } = await ask(app, 'DELETE', LIST)
    expect(headers.get('allow')).toBe('GET, HEAD, PUT')
  })

  test('a slash at the end names the same thing', async () => {
    expect((await ask(app, 'GET', '/auth/me/', { token })).status).toBe(200)
    expect((await ask(app, 'DELETE', '/auth/me/', { token })).status).toBe(405)
  })

  test('every fault is listed, each with a JSON pointer, and nothing that was sent is repeated', async () => {
    const { call_saved, ...short } = webhook('ftp://secret-value')
    const body = [{ ...short, 'a/b~c': 1, dial_ended: 'secret-value' }, webhook('http://10.0.0.1/')]
    const { body: answer } = await ask(app, 'PUT', LIST, { token, body })
    expect(call_saved).toBe(true)
    expect(JSON.stringify(answer)).not.toContain('secret-value')
    expect(answer.result).toEqual({
      errors: expect.arrayContaining([
        { path: '/0/call_saved', message: 'is missing' },
        { path: '/0/a~1b~0c', message: 'is an unknown field' },
        { path: '/0/dial_ended', message: 'must be true or false' },
        { path: '/0/url', message: 'must be an absolute http:, https:, mqtt: or mqtts: URL' },
        { path: '/1/url', message: expect.stringContaining('--allow-net private') },
      ]),
    })
    expect(answer.result).toHaveProperty('errors.length', 5)
  })

  test('a body of nothing but faults is answered in a bounded size, soon', async () => {
    const raw = `[${'{},'.repeat(300_000)}{}]`
    const { status, body } = await ask(app, 'PUT', LIST, { token, raw, headers: json })
    expect(status).toBe(422)
    expect(body.result).toHaveProperty('errors.length', 1_000)
    expect((body.result as { errors: { path: string }[] }).errors[0]?.path).toBe('')
  })

  test.each([
    ['headers', (names: object) => ({ headers: names })],
    ['parameters of a preset', (names: object) => ({ body: { preset: 'telegram', parameters: names } })],
  ])('so are options of nothing but %s', async (_, optionsOf) => {
    const names = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`${n}:`, '1']))
    const options = { url: 'https://crm.example.com/', ...optionsOf(names) }
    const { status, body } = await ask(app, 'PUT', `${LIST}/options`, { token, body: options })
    expect(status).toBe(422)
    expect(body.result).toHaveProperty('errors.length', 1_000)
  })

  test('every fault of a query is listed with its path, and unknown parameters are ignored', async () => {
    const path = '/integration/delivery?state=bogus&limit=0&since=x&unknown=1'
    const { status, body } = await ask(app, 'GET', path, { token })
    expect(status).toBe(422)
    expect(body.result).toEqual({
      errors: [
        { path: '/state', message: 'must be one of pending, delivered, failed, cancelled' },
        { path: '/since', message: 'must be a time like 2026-11-20T21:42:00Z' },
        { path: '/limit', message: 'must be 1 at least' },
      ],
    })
    expect((await ask(app, 'GET', '/integration/delivery?unknown=1', { token })).status).toBe(200)
  })

  test('the bulk retry takes an empty body as {}, and no other one', async () => {
    const retry = (raw: string) => ask(app, 'POST', '/integration/delivery/retry', { token, raw, headers: json })
    expect((await retry('')).status).toBe(200)
    expect((await retry('null')).body.result).toEqual({ errors: [{ path: '', message: 'the body must be an object' }] })
  })

  test('a fault of the whole body has the path ""', async () => {
    const { body } = await ask(app, 'PUT', LIST, { token, body: 5 })
    expect(body.result).toEqual({ errors: [{ path: '', message: 'the list must be an array' }] })
  })

  test('one message for a wrong e-mail address and a wrong password', async () => {
    const wrong = await ask(app, 'POST', '/auth/login', { body: { email: 'table@example.com', password: 'nope' } })
    const unknown = await ask(app, 'POST', '/auth/login', { body: { email: 'nobody@example.com', password: 'nope' } })
    expect(wrong.body).toEqual(unknown.body)
  })

  test.each<[string, string, string]>([
    ['GET', '/auth/me', 'no-store'],
    ['PUT', LIST, 'no-store'],
    ['GET', LIST, 'no-store'],
    ['GET', '/overview', 'no-store'],
    ['HEAD', '/stream', 'no-store'],
    ['GET', '/nothing', 'no-store'],
    ['DELETE', LIST, 'no-store'],
    ['GET', '/health', 'no-store'],
    ['POST', '/auth/login', 'no-store'],
    ['GET', '/openapi.json', 'no-cache'],
    ['GET', '/docs', 'no-cache'],
    ['GET', '/', 'no-cache'],
  ])('no cache keeps %s %s, and nobody guesses what it is', async (method, path, caching) => {
    const { headers } = await fetch(app.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([caching, 'nosniff'])
  })

  test('every response has a request id of its own', async () => {
    const ids = await Promise.all(
      ['/health', '/nothing', '/auth/me', '/openapi.json', '/docs'].map(async (path) =>
        (await fetch(app.url + path)).headers.get('x-request-id'),
      ),
    )
    expect(ids).not.toContain(null)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('a host of three letters and no port is a host', async () => {
    const response = await fetch(`${app.url}/health`, { headers: { host: 'pbx' } })
    expect(response.status).toBe(200)
  })

  test('pages answer in their own type, regardless of Accept', async () => {
    const answers = await Promise.all(
      ['/docs', '/openapi.json'].map((path) => fetch(app.url + path, { headers: { accept: 'image/png' } })),
    )
    expect(answers.map((answer) => [answer.status, answer.headers.get('content-type')])).toEqual([
      [200, 'text/html;charset=utf-8'],
      [200, 'application/json'],
    ])
  })
})

describe('too many login attempts', () => {
  test('the eleventh failure of one e-mail address is 429, and not even the right password is checked', async () => {
    await addUser(app.cwd, 'limited@example.com')
    const attempt = (password: string, email = 'limited@example.com') =>
      ask(app, 'POST', '/auth/login', { body: { email, password } })
    const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await attempt('wrong')).status))
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    const last = await attempt('correct horse', ' LIMITED@example.com ')
    expect(last.status).toBe(429)
    expect(Number(last.headers.get('retry-after'))).toBeWithin(1, 301)
    expect((await ask(app, 'POST', '/auth/login', { body: { email: 'limited@example.com' } })).status).toBe(422)
  })
})
