import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { type Answer, ask, newToken, webhook } from '../help/client.ts'

const folder = emptyFolder()
let app: RunningApp
let token: string
let colleague: string
let stranger: string

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  token = await newToken(app, 'one@example.com')
  colleague = await newToken(app, 'two@example.com')
  stranger = await newToken(app, 'three@example.com', 'acme')
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

const LIST = '/integration/webhook'
const get = (path = LIST, as = token) => ask(app, 'GET', path, { token: as })
const put = (body: unknown, headers = {}, as = token) => ask(app, 'PUT', LIST, { token: as, body, headers })
const errorsOf = ({ body }: Answer) => (body.result as { errors: { path: string; message: string }[] }).errors
const A = webhook('https://a.example.com/x?y=1#z')
const B = webhook('http://b.example.com:8080', { call_saved: false, call_started: false })

describe('the list', () => {
  test('is empty at first, and its [] deletes all', async () => {
    expect((await get()).body.result).toEqual([])
    await put([A])
    expect((await put([])).body.result).toEqual([])
    expect((await get()).body.result).toEqual([])
  })

  test('is kept as it was sent: order, spelling, and a URL that is in it twice', async () => {
    const odd = webhook('HTTPS://User:p%40ss@B.Example.COM:443/Ä/../%7e')
    const list = [B, A, odd, { ...A, dial_ended: false }]
    const answer = await put(list)
    expect(answer.body.result).toEqual(list)
    const read = await get()
    expect(read.body.result).toEqual(list)
    expect(Object.keys((read.body.result as object[])[0] ?? {})).toEqual(Object.keys(A))
    expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
  })

  test('is shared by the users of an account, and invisible to another', async () => {
    await put([A])
    await put([B], {}, stranger)
    expect((await get(LIST, colleague)).body.result).toEqual([A])
    expect((await get(LIST, stranger)).body.result).toEqual([B])
    await put([], {}, stranger)
    expect((await get()).body.result).toEqual([A])
  })

  test('is replaced as a whole or not at all', async () => {
    await put([A])
    expect((await put([B, { ...A, call_ended: 'yes' }])).status).toBe(422)
    expect((await get()).body.result).toEqual([A])
  })

  test('holds 100 webhooks, not more', async () => {
    const many = Array.from({ length: 101 }, (_, index) => webhook(`https://example.com/${index}`))
    const refused = await put(many)
    expect(errorsOf(refused)).toEqual([{ path: '', message: 'the list may have 100 items at most' }])
    expect((await put(many.slice(1))).status).toBe(200)
  })
})

describe('a URL', () => {
  test.each([
    ['of 2,048 characters', `https://example.com/${'x'.repeat(2_028)}`],
    ['whose characters, not code units, are 2,048', `https://example.com/${'😀'.repeat(2_028)}`],
    ['with a name of another script', 'https://bücher.example/'],
    ['of a public address', 'http://93.184.216.34/'],
  ])('%s is fine', async (_, url) => {
    expect((await put([webhook(url)])).status).toBe(200)
  })

  test.each([
    ['of 2,049 characters', `https://example.com/${'x'.repeat(2_029)}`, /2048 characters/],
    ['that is relative', '/hook', /absolute/],
    ['without slashes', 'https:example.com', /absolute/],
    ['without a scheme', 'crm.example.com/calls', /: add https:\/\/ in front/],
    ['without a scheme, with a port', 'crm:8080', /: add https:\/\/ in front/],
    ['of another scheme', 'ftp://example.com/', /absolute/],
    ['without a host', 'https://', /absolute/],
    ['with blanks around it', ' https://example.com/', /has a space or a line break: write %20/],
    ['with a line break', 'https://example.com/\nx', /has a control character: remove it/],
    ['that is empty', '', /absolute/],
    ['of this machine', 'http://localhost:3000/', /--allow-net loopback/],
    ['of this machine, by another name', 'http://app.localhost./', /--allow-net loopback/],
    ['of loopback as a number', 'http://2130706433/', /--allow-net loopback/],
    ['of loopback in octal', 'http://0177.1/', /--allow-net loopback/],
    ['of loopback, mapped', 'http://[::ffff:127.0.0.1]/', /--allow-net loopback/],
    ['of a private network', 'http://192.168.1.1/', /--allow-net private/],
    ['of the cloud metadata', 'http://169.254.169.254/', /--allow-net/],
  ])('%s is refused', async (_, url, message) => {
    const answer = await put([A, webhook(url)])
    expect(answer.status).toBe(422)
    expect(errorsOf(answer)).toEqual([{ path: '/1/url', message: expect.stringMatching(message) }])
  })
})

describe('If-Match', () => {
  test('replaces the list if it names the present one, not if it names the one before', async () => {
    const first = (await put([A])).headers.get('etag') ?? ''
    expect((await put([B], { 'if-match': first })).status).toBe(200)
    expect((await put([A], { 'if-match': first })).status).toBe(412)
    expect((await get()).body.result).toEqual([B])
  })

  test.each([
    ['*', '*', 200],
    ['one of several', '"other", ETAG', 200],
    ['a weak one', 'W/ETAG', 412],
    ['rubbish', 'rubbish', 412],
  ])('%s', async (_, header, status) => {
    const etag = (await put([A])).headers.get('etag') ?? ''
    expect((await put([A], { 'if-match': header.replace('ETAG', etag) })).status).toBe(status)
  })

  test('lets one of many at the same time win', async () => {
    const etag = (await put([])).headers.get('etag') ?? ''
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => put([webhook(`https://example.com/${n}`)], { 'if-match': etag })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412])
  })
})

describe('signing secrets', () => {
  const secrets = async (as = token) => (await get(`${LIST}/secret`, as)).body.result
  const rotate = (url: unknown, force?: boolean) =>
    ask(app, 'POST', `${LIST}/secret/rotate`, { token, body: { url, ...(force === undefined ? {} : { force }) } })

  test('each URL has one of its own, once, made when it enters and kept when it leaves', async () => {
    await put([A, B, A])
    const before = await secrets()
    const secret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(before).toEqual([
      { url: A.url, secret, previous_until: null },
      { url: B.url, secret, previous_until: null },
    ])
    await put([])
    expect(await secrets()).toEqual([])
    await put([A, B])
    expect(await secrets()).toEqual(before)
    await put([A], {}, stranger)
    expect(await secrets(stranger)).not.toEqual([(before as unknown[])[0]])
  })

  test('a rotation gives a new one, and states how long the old one signs too', async () => {
    await put([A])
    const [before] = (await secrets()) as { secret: string }[]
    const answer = await rotate(A.url)
    expect(answer.status).toBe(200)
    const result = answer.body.result as { secret: string; previous_until: string }
    expect(result.secret).not.toBe(before?.secret ?? '')
    const hours = (Date.parse(result.previous_until) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThanOrEqual(24)
    expect(await secrets()).toEqual([result])
  })

  test('a second rotation while the first secret was promised to sign is 409 with the time, unless it is forced', async () => {
    await put([webhook('https://twice.example.com/')])
    const { body } = await rotate('https://twice.example.com/')
    const { secret, previous_until } = body.result as { secret: string; previous_until: string }
    const early = await rotate('https://twice.example.com/')
    expect([early.status, early.body.code, early.body.result]).toEqual([409, 409, []])
    expect(early.body.message).toContain(previous_until)
    expect(early.body.message).toContain('"force": true')
    expect(Number(early.headers.get('retry-after'))).toBeWithin(86_000, 86_401)
    expect(await secrets()).toMatchObject([{ secret, previous_until }])
    const forced = await rotate('https://twice.example.com/', true)
    expect(forced.status).toBe(200)
    expect((forced.body.result as { secret: string }).secret).not.toBe(secret)
    expect(await secrets()).toEqual([forced.body.result])
  })

  test('a URL that is not in the list is 422', async () => {
    await put([A])
    const answer = await rotate(B.url)
    expect(answer.status).toBe(422)
    expect(errorsOf(answer)).toEqual([{ path: '/url', message: 'is not in the list' }])
    expect((await rotate(5)).status).toBe(422)
  })
})

test('an account that replaces its list more than 60 times a minute has to wait, and no other one is', async () => {
  const busy = await newToken(app, 'busy@example.com', 'busy')
  let replaced = 0
  let refused = await put([A], {}, busy)
  for (; refused.status === 200 && replaced < 1_000; replaced += 1) refused = await put([A], {}, busy)
  // More than 60 on a machine on which they take longer than a minute.
  expect(replaced).toBeGreaterThanOrEqual(60)
  expect([refused.status, refused.body.result, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, [], true])
  expect((await put([{ url: 5 }], {}, busy)).status).toBe(422)
  expect((await get(LIST, busy)).body.result).toEqual([A])
  expect((await put([A], {}, stranger)).status).toBe(200)
})

test('a rotation of a secret counts as a change of the list: each one is in the audit trail for good', async () => {
  const busy = await newToken(app, 'rotating@example.com', 'rotating')
  await put([A], {}, busy)
  const rotate = () => ask(app, 'POST', `${LIST}/secret/rotate`, { token: busy, body: { url: A.url, force: true } })
  let answer = await rotate()
  for (let rotated = 1; answer.status === 200 && rotated < 1_000; rotated += 1) answer = await rotate()
  expect(answer.status).toBe(429)
})
