import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Delivery, DeliveryFilter } from '../../../src/deliveries/log/model.ts'
import { deliveryRoutes } from '../../../src/deliveries/log/routes.ts'
import { createTestSender } from '../../../src/deliveries/log/test-request.ts'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import type { EventKind } from '../../../src/events/kinds.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { nowUs, rfc3339 } from '../../../src/lib/time.ts'
import { faultOfSigned } from '../../../src/outbound/signature.ts'
import { startApi } from '../../help/api.ts'
import { type Ask, ask } from '../../help/client.ts'
import { type Answer, startReceiver, until } from '../../help/receiver.ts'
import { openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, listed, newRig } from '../run/rig.ts'

/**
 * The log of deliveries over HTTP. The receiver answers by path, so that there are deliveries in every state:
 * /ok delivered · /gone failed (410) · /later waits for its retry (400) · /left cancelled, since its URL has left the
 * list.
 */
const STATUS: Readonly<Record<string, number>> = { '/ok': 200, '/gone': 410, '/later': 400, '/left': 400 }
const OTHER = 2
const EVENTS = [
  ['c1', 'call_started'],
  ['c1', 'dial_started'],
  ['c2', 'call_started'],
  ['c1', 'call_ended'],
] as const

const byPath: Answer = ({ path }) => new Response(`body of ${path}`, { status: STATUS[path] ?? 500 })
const receiver = startReceiver(byPath)
const url = (path: string) => `${receiver.url}${path}`
const attempt = newAttempt({ allow: allowing('loopback') })
let rig: Awaited<ReturnType<typeof newRig>>
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let strangers: string

async function emit(accountId: number, callId: string, name: EventKind): Promise<void> {
  const atUs = nowUs()
  const uuid = newUuid(atUs)
  const body = JSON.stringify({ time: rfc3339(atUs), data: { name, id: uuid } })
  const events = [{ uuid, callId, name, sequence: 1, atUs, body }]
  rig.emitter.emit('stored', await storeEvents(rig.store, events, { accountId, nowSteadyUs: rig.clock.steadyUs() }))
}

async function setUp(): Promise<void> {
  rig = await newRig({ scheduleMs: [60_000, 60_000] })
  const sendTest = (accountId: number, to: string) =>
    createTestSender({ templates: TEMPLATES, store: rig.store, attempt })(accountId, to)
  api = await startApi(rig.store, (auth) =>
    deliveryRoutes(auth, { deliveries: rig.deliveries, replays: rig.replays, sendTest }),
  )
  token = await api.logIn('default')
  strangers = await api.logIn('strangers')
  await rig.webhooks.replace(OTHER, [listed(url('/ok'))], null)
  await emit(OTHER, 'theirs', 'call_started')
  await rig.setUrls(...['/ok', '/gone', '/later', '/left'].map(url))
  for (const [callId, name] of EVENTS) {
    await emit(ACCOUNT, callId, name)
    await Bun.sleep(2)
  }
  await until('each was tried', () => receiver.received.length === 1 + 4 * EVENTS.length)
  await rig.setUrls(...['/ok', '/gone', '/later'].map(url))
  for (const state of ['delivered', 'failed', 'pending', 'cancelled'])
    await until(
      `all are ${state} that should be`,
      async () => (await list(`state=${state}`)).items.length === EVENTS.length,
    )
}

async function tearDown(): Promise<void> {
  await api.stop()
  await rig[Symbol.asyncDispose]()
  receiver.received.length = 0
  receiver.answerWith(byPath)
}
afterAll(() => receiver.stop())

const get = (path: string, by = token) => ask(api, 'GET', path, { token: by })
const post = (path: string, options: Ask = {}) => ask(api, 'POST', path, { token, ...options })
type Page = { items: Delivery[]; next_cursor: string | null }
/** The service checks its responses against the schema. */
const resultOf = <T>({ body }: Awaited<ReturnType<typeof ask>>) => body.result as T
const list = async (query: string, by = token) => resultOf<Page>(await get(`/integration/delivery?${query}`, by))
const one = async (query: string): Promise<Delivery> => {
  const [first] = (await list(query)).items
  if (first === undefined) throw new Error(`no delivery matches ${query}`)
  return first
}
const pathOf = (delivery: Delivery) => new URL(delivery.url).pathname
const comingTo = (path: string) => receiver.received.filter((request) => request.path === path).length

describe('reading the log', () => {
  beforeAll(setUp)
  afterAll(tearDown)

  test('deliveries are found by what is in their bodies', async () => {
    const list = async (query: string) => {
      const { status, body } = await ask(api, 'GET', `/integration/delivery?${query}`, { token })
      const events = (body.result as { items?: Delivery[] }).items?.map(({ event }) => event)
      return { status, events }
    }
    const { events = [] } = await list('body.name=call_ended')
    expect(events.length).toBeGreaterThan(0)
    expect(new Set(events)).toEqual(new Set(['call_ended']))
    expect(await list('body.name=call_ended&body.name2=x')).toEqual({ status: 200, events: [] })
    expect((await list('body.a=1&body.b=1&body.c=1&body.d=1')).status).toBe(422)
  })

  test('all of an account, newest first, in the order of the list within an event, and nothing of another', async () => {
    const { items, next_cursor } = await list('')
    const expected = EVENTS.toReversed().flatMap(([call, event]) =>
      ['/left', '/later', '/gone', '/ok'].map((path) => [call, event, path]),
    )
    expect(items.map((item) => [item.call_id, item.event, pathOf(item)])).toEqual(expected)
    expect(next_cursor).toBeNull()
    expect((await list('', strangers)).items.map(({ call_id }) => call_id)).toEqual(['theirs'])
  })

  test.each([
    ['state=delivered', 4, '/ok'],
    ['state=failed', 4, '/gone'],
    ['state=pending', 4, '/later'],
    ['state=cancelled', 4, '/left'],
    ['event=call_started', 8, undefined],
    ['event=call_saved', 0, undefined],
    ['call_id=c1', 12, undefined],
    ['call_id=theirs', 0, undefined],
    [`url=${encodeURIComponent(url('/gone'))}`, 4, '/gone'],
    [`url=${encodeURIComponent(url('/left'))}`, 4, '/left'],
    ['url=http%3A%2F%2Fnobody.example%2F', 0, undefined],
    ['call_id=c1&event=call_started&state=failed', 1, '/gone'],
    [`state=failed&url=${encodeURIComponent(url('/ok'))}`, 0, undefined],
  ])('%s: %p of them', async (query, count, path) => {
    const { items } = await list(query)
    expect(items).toHaveLength(count)
    if (path !== undefined) expect(new Set(items.map(pathOf))).toEqual(new Set([path]))
  })

  test('from a time on, and before it, are all: no delivery is in both', async () => {
    const calls = async (query: string) => (await list(query)).items.map(({ call_id, event }) => `${call_id} ${event}`)
    const { created_at: at } = await one('call_id=c2')
    expect(new Set(await calls(`since=${at}`))).toEqual(new Set(['c2 call_started', 'c1 call_ended']))
    expect(new Set(await calls(`until=${at}`))).toEqual(new Set(['c1 call_started', 'c1 dial_started']))
    expect(await calls(`since=${at}&until=${at}`)).toEqual([])
    expect(await calls(`call_id=c2&since=${at}&state=failed`)).toHaveLength(1)
    expect(await calls(`call_id=c2&until=${at}`)).toEqual([])
  })

  test.each(['', 'call_id=c1', 'state=pending', 'state=cancelled&event=call_started'])(
    'pages of three ("%s") are together what one page would be',
    async (query) => {
      const whole = await list(`${query}&limit=200`)
      const paged: Delivery[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: Page = await list(`${query}&limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`)
        expect(page.items.length).toBeLessThanOrEqual(3)
        paged.push(...page.items)
        cursor = page.next_cursor
      }
      expect(paged).toEqual(whole.items)
    },
  )

  test.each([
    ['a limit beyond 200', 'limit=201', '/limit'],
    ['a limit that is no number', 'limit=many', '/limit'],
    ['a cursor of nobody', 'cursor=abc', '/cursor'],
    ['a cursor with a number that no id has', `cursor=${Buffer.from('[1e300]').toString('base64url')}`, '/cursor'],
    ['a cursor of another list', `cursor=${Buffer.from('["2026","x"]').toString('base64url')}`, '/cursor'],
    ['an event that there is not', 'event=call_transferred', '/event'],
    ['a time that is none', 'until=yesterday', '/until'],
    ['a time without its zone', 'since=2026-11-20T21:42:00', '/since'],
  ])('%s is 422', async (_, query, path) => {
    const { status, body } = await get(`/integration/delivery?${query}`)
    expect([status, body.result]).toEqual([422, { errors: [{ path, message: expect.any(String) }] }])
  })

  test.each([
    ['delivered', [{ status: 200, error: null, response: 'body of /ok' }]],
    ['failed', [{ status: 410, error: null, response: 'body of /gone' }]],
    ['pending', [{ status: 400, error: null, response: 'body of /later' }]],
    ['cancelled', [{ status: 400, error: null, response: 'body of /left' }]],
  ])('one that is %s, with its body as it was sent and its attempts', async (state, attempts) => {
    const item = await one(`state=${state}&call_id=c2`)
    const shown = resultOf<Record<string, unknown>>(await get(`/integration/delivery/${item.id}`))
    const sent = receiver.received.find(({ id, path }) => id === item.event_id && path === pathOf(item))
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(shown).toEqual({
      ...item,
      body: sent?.body ?? 'nothing was sent',
      attempts: attempts.map((made) => ({ ...made, at: time, duration_ms: expect.any(Number), address: '127.0.0.1' })),
    })
    expect(item).toEqual({
      id: expect.stringMatching(/^dlv_[\w-]{22}$/),
      event_id: sent?.id ?? '',
      event: 'call_started',
      call_id: 'c2',
      subject: expect.any(String),
      url: item.url,
      state: item.state,
      attempts_made: 1,
      next_attempt_at: state === 'pending' ? time : null,
      created_at: time,
      delivered_at: state === 'delivered' ? time : null,
    })
  })

  test.each([
    '0',
    '01',
    '1.5',
    '1e3',
    '-1',
    '9'.repeat(16),
    '9'.repeat(30),
    'x',
    '%20',
    '128',
    'dlv_',
    `dlv_${'A'.repeat(22)}`,
  ])('the id %s is 404, to read and to retry', async (id) => {
    expect((await get(`/integration/delivery/${id}`)).status).toBe(404)
    expect((await post(`/integration/delivery/${id}/retry`)).status).toBe(404)
  })

  test("another account's delivery is as unknown as one that is not there", async () => {
    const [theirs] = (await list('', strangers)).items
    const unknown = await get('/integration/delivery/999999')
    expect((await get(`/integration/delivery/${theirs?.id}`)).body).toEqual(unknown.body)
    expect((await post(`/integration/delivery/${theirs?.id}/retry`)).body).toEqual(unknown.body)
  })
})

describe('sending again', () => {
  beforeEach(setUp)
  afterEach(tearDown)

  test.each([
    ['delivered', '/ok', [200, 200]],
    ['failed', '/gone', [410, 200]],
    ['pending', '/later', [400, 200]],
  ])('one that is %s: at once, and its earlier attempts stay', async (state, path, statuses) => {
    const { id } = await one(`state=${state}&call_id=c1&event=dial_started`)
    const before = comingTo(path)
    receiver.answerWith(() => new Response('taken'))
    const { status, body } = await post(`/integration/delivery/${id}/retry`)
    expect([status, body.message]).toEqual([200, 'The delivery is being sent again.'])
    // It may have been delivered before the answer was written.
    expect(body.result).toMatchObject({ id, attempts_made: expect.any(Number) })
    await until('it is delivered', async () => {
      const { result } = (await get(`/integration/delivery/${id}`)).body
      return (result as { attempts: unknown[] }).attempts.length === 2
    })
    const shown = resultOf<{ state: string; attempts: { status: number }[] }>(await get(`/integration/delivery/${id}`))
    expect(shown.state).toBe('delivered')
    expect(shown.attempts.map((made) => made.status)).toEqual(statuses)
    expect(comingTo(path)).toBe(before + 1)
  })

  test('a retried delivery has a new schedule: its next failure is not its last', async () => {
    const { id } = await one('state=failed&call_id=c2')
    const beforeMs = Date.now()
    receiver.answerWith(() => new Response('', { status: 400 }))
    await post(`/integration/delivery/${id}/retry`)
    await until(
      'it was tried again',
      async () => (await one(`call_id=c2&url=${encodeURIComponent(url('/gone'))}`)).attempts_made === 2,
    )
    const again = await one(`call_id=c2&url=${encodeURIComponent(url('/gone'))}`)
    expect(again.state).toBe('pending')
    expect(Date.parse(again.next_attempt_at ?? '')).toBeWithin(beforeMs + 50_000, Date.now() + 70_000)
  })

  test('one whose URL has left the list is 422, with advice', async () => {
    const { id } = await one('state=cancelled&call_id=c2')
    const { status, body } = await post(`/integration/delivery/${id}/retry`)
    expect(status).toBe(422)
    expect(body.message).toContain('put it back')
    expect(body.result).toEqual({ errors: [{ path: '', message: 'its URL has left the list' }] })
  })

  test('one whose body was erased is 422', async () => {
    const { id } = await one('state=failed&call_id=c2')
    const other = openStore(rig.path)
    await rig.setUrls(...['/ok', '/gone'].map(url))
    await until('none of it waits', async () => (await list('state=pending')).items.length === 0)
    await other.maintenance.callErase(['c2'])
    await other.stop()
    const { status, body } = await post(`/integration/delivery/${id}/retry`)
    expect(status).toBe(422)
    expect(body.result).toEqual({ errors: [{ path: '', message: 'the body of its event was erased' }] })
  })

  const MANY: readonly (readonly [string, DeliveryFilter | undefined, number, readonly string[]])[] = [
    ['nothing but an empty body: all that failed', undefined, 4, ['/gone']],
    ['{}: the same', {}, 4, ['/gone']],
    ['a call', { call_id: 'c2' }, 1, ['/gone']],
    ['an event', { event: 'dial_started' }, 1, ['/gone']],
    ['a URL of which none failed', { url: url('/ok') }, 0, []],
    ['those that were delivered', { state: 'delivered' }, 4, ['/ok']],
    ['those that wait', { state: 'pending', call_id: 'c1' }, 3, ['/later']],
    ['those whose URL has left: none can be sent', { state: 'cancelled' }, 0, []],
    ['a time from which on nothing was stored', { since: '2999-01-01T00:00:00Z' }, 0, []],
    ['a time before which nothing was stored', { until: '2000-01-01T00:00:00Z' }, 0, []],
    ["another account's call", { call_id: 'theirs', state: 'delivered' }, 0, []],
  ]
  test.each(MANY)('many, by %s', async (_, body, queued, paths) => {
    receiver.received.length = 0
    receiver.answerWith(() => new Response())
    const answer = await post('/integration/delivery/retry', body === undefined ? {} : { body })
    expect([answer.status, answer.body.result]).toEqual([200, { queued }])
    await until('each is sent again', () => receiver.received.length >= queued)
    await until(
      'each is delivered',
      async () => (await list('state=delivered')).items.length >= (body?.state === 'delivered' ? 4 : 4 + queued),
    )
    expect(receiver.received).toHaveLength(queued)
    expect([...new Set(receiver.received.map(({ path }) => path))]).toEqual([...paths])
  })

  test.each([
    ['a state that there is not', { state: 'lost' }, '/state'],
    ['a time that is none', { since: 'x' }, '/since'],
    ['a time without its zone', { until: '2026-11-20T21:42:00' }, '/until'],
    ['a URL that is no text', { url: 5 }, '/url'],
    ['a filter of the list alone', { state: 'delivered', 'body.call.from.number': '1' }, '/body.call.from.number'],
  ])('many, by %s: 422, and nothing is sent', async (_, body, path) => {
    receiver.received.length = 0
    const answer = await post('/integration/delivery/retry', { body })
    expect(answer.status).toBe(422)
    expect(answer.body.result).toMatchObject({ errors: [{ path }] })
    expect(receiver.received).toEqual([])
  })
})

describe('past events', () => {
  beforeAll(setUp)
  afterAll(tearDown)

  test('are sent to a URL of the account: how many; another request is a 409 while they are', async () => {
    const body = { url: url('/ok'), since: '2020-01-01T00:00:00Z', again: true }
    const first = await post('/integration/webhook/replay', { body })
    expect([first.status, resultOf<{ queued: number }>(first).queued > 0]).toEqual([200, true])
    const second = await post('/integration/webhook/replay', { body })
    expect([second.status, second.body.message]).toEqual([409, expect.stringContaining('wait until')])
    const others = await post('/integration/webhook/replay', { token: strangers, body: { ...body, url: url('/gone') } })
    expect([others.status, others.body.result]).toEqual([
      422,
      { errors: [{ path: '/url', message: 'is not in the list' }] },
    ])
  })

  test.each([
    ['without a time', { since: undefined }, '/since'],
    ['of a state', { events: ['phone_changed'] }, '/events/0'],
    ['of no kind', { events: [] }, '/events'],
    ['with a field that there is not', { surplus: 1 }, '/surplus'],
  ])('%s: 422', async (_, more, path) => {
    const body = { url: url('/ok'), since: '2020-01-01T00:00:00Z', ...more }
    const answer = await post('/integration/webhook/replay', { body })
    expect([answer.status, answer.body.result]).toMatchObject([422, { errors: [{ path }] }])
  })
})

describe('test requests in a minute', () => {
  beforeAll(setUp)
  afterAll(tearDown)

  test('are thirty for an account: the next is a 429 that says when', async () => {
    const send = (by = token) => post('/integration/webhook/test', { token: by, body: { url: url('/nowhere') } })
    const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await send()).status))
    expect(new Set(statuses)).toEqual(new Set([422]))
    const { status, headers, body } = await send()
    expect([status, headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    expect(body).toMatchObject({ status: 'error', code: 429, result: [] })
    expect(body.message).toContain('Too many test requests in a short time. Try again in')
    expect((await send(strangers)).status).toBe(422)
  })
})

describe('a test request', () => {
  beforeAll(setUp)
  afterAll(tearDown)
  const send = (to: string, by = token) => post('/integration/webhook/test', { token: by, body: { url: to } })

  test.each([
    ['/ok', { status: 200, error: null, response: 'body of /ok' }],
    ['/gone', { status: 410, error: null, response: 'body of /gone' }],
  ])('to %s returns the outcome, and is stored nowhere', async (path, expected) => {
    const before = (await list('limit=200')).items
    const { status, body } = await send(url(path))
    expect([status, body.result]).toEqual([200, { ...expected, duration_ms: expect.any(Number) }])
    expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toMatchObject({
      data: { name: 'test', account: 'default' },
    })
    expect((await list('limit=200')).items).toEqual(before)
    const secrets = await rig.webhooks.secrets(ACCOUNT)
    const { secret = '' } = secrets.find((one) => one.url === url(path)) ?? {}
    const { headers, body: sent } = receiver.received.at(-1) ?? { headers: {}, body: '' }
    expect(faultOfSigned(secret, headers, sent, Date.now() / 1_000)).toBeUndefined()
  })

  test.each([
    ['that is not in the list', url('/nowhere')],
    ['that has left it', url('/left')],
    ['that is no URL', 'x'],
  ])('to a URL %s is 422', async (_, to) => {
    const { status, body } = await send(to)
    expect([status, body.result]).toEqual([422, { errors: [{ path: '/url', message: 'is not in the list' }] }])
  })

  test("to a URL of another account's list is 422", async () => {
    expect((await send(url('/gone'), strangers)).status).toBe(422)
  })

  test('to a receiver that is not there returns the reason', async () => {
    await rig.setUrls('http://127.0.0.1:1/')
    const result = { status: null, error: 'connection refused', response: null }
    expect((await send('http://127.0.0.1:1/')).body.result).toMatchObject(result)
  })
})
