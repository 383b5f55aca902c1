import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createTestSender } from '../../../src/deliveries/log/test-request.ts'
import { createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { expireDeliveries } from '../../../src/deliveries/run/expiry.ts'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { createWebhookCache } from '../../../src/deliveries/sending/webhook-cache.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { recordOutcome } from '../../../src/outbound/circuit-breaker.ts'
import { faultOfSigned } from '../../../src/outbound/signature.ts'
import type { WebhookOptionsRecord } from '../../../src/store/operations/webhooks.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, newRig } from '../run/rig.ts'

/** The options of a webhook as its receiver sees them. */

type Rig = Awaited<ReturnType<typeof newRig>>

async function setOptions(rig: Rig, url: string, options: Partial<WebhookOptionsRecord>, nowUs = Date.now() * 1_000) {
  const all = { ...DEFAULT_OPTIONS, ...options }
  const replaced = await rig.store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options: all, nowUs })
  if (replaced === 'unlisted' || 'unknownHeaders' in replaced) throw new Error('the options were refused')
  rig.emitter.emit('webhooks', ACCOUNT)
}

/** Fails expired deliveries of a webhook that is down, as the service does every few seconds. */
async function sweep({ store, clock: { steadyUs } }: Rig, nowUs: () => number): Promise<void> {
  const scheduler = createScheduler()
  const webhooks = createWebhookCache({
    webhooks: store.webhooks,
    templates: TEMPLATES,
    nowUs,
    onLoaded: scheduler.setTiming,
  })
  const trouble = { kind: 'refused', status: 500 } as const
  for (let n = 0; n < 5; n += 1) recordOutcome(scheduler.queueOf(1).breaker, trouble, { probe: false, nowUs: 0 })
  await webhooks.load([1])
  const maxAgeUs = 120 * SECOND
  await expireDeliveries({
    queue: store.queue,
    scheduler,
    webhooks,
    ownership: OWNS_EVERYTHING,
    nowUs,
    steadyUs,
    maxAgeUs,
    onEnded: () => {},
  })
}

const pending = async (rig: Rig) => (await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 200)).items.length
const states = async (rig: Rig) => (await rig.deliveries.list(ACCOUNT, {}, 200)).items.map(({ state }) => state)

test('without options the request is unchanged, byte for byte', async () => {
  const receiver = startReceiver()
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  rig.wake()
  await rig.emit('a')
  await until('it arrived', () => receiver.received.length === 1)
  const [{ headers = {} } = {}] = receiver.received
  expect(Object.keys(headers).toSorted()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'content-length',
    'content-type',
    'host',
    'traceparent',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ])
  expect(headers['content-type']).toBe('application/json')
  await receiver.stop()
})

test('headers and body follow the options, and the signature covers the sent bytes', async () => {
  const receiver = startReceiver()
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await setOptions(rig, receiver.url, {
    headers: { 'X-Api-Key': 'secret', Authorization: 'Bearer mine' },
    body: { template: 'id={{ data.id }}', contentType: 'text/plain' },
  })
  rig.wake()
  const [uuid] = await rig.emit('a')
  await until('it arrived', () => receiver.received.length === 1)
  const [{ headers = {}, body = '' } = {}] = receiver.received
  expect(headers).toMatchObject({ 'x-api-key': 'secret', authorization: 'Bearer mine', 'content-type': 'text/plain' })
  expect(headers['user-agent']).toBe('HookswitchHttpAgent/1.0')
  expect(body).toBe(`id=${uuid}`)
  const [{ id = '' } = {}] = (await rig.deliveries.list(ACCOUNT, {}, 1)).items
  const shown = await rig.deliveries.show(ACCOUNT, id)
  expect(JSON.parse(shown.body)).toMatchObject({ data: { call: 'a' } })
  expect(shown.rendered).toBe(body)
  const [{ secret = '' } = {}] = await rig.store.webhooks.secretList(ACCOUNT)
  expect(faultOfSigned(secret, headers, body, Date.now() / 1_000)).toBeUndefined()
  await receiver.stop()
})

test('each attempt applies the present options', async () => {
  const receiver = startReceiver(() => new Response('', { status: 500 }))
  await using rig = await newRig({ scheduleMs: [1, 1, 1, 1, 1, 1] })
  await rig.setUrls(receiver.url)
  rig.wake()
  await rig.emit('a')
  await until('it was tried', () => receiver.received.length >= 1)
  await setOptions(rig, receiver.url, { headers: { 'X-New': 'yes' } })
  await until('it was tried with the header', () => receiver.received.some(({ headers }) => headers['x-new'] === 'yes'))
  await receiver.stop()
})

test('a template that gives nothing sends nothing, and the delivery is delivered with the reason', async () => {
  const receiver = startReceiver()
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await setOptions(rig, receiver.url, {
    body: { template: '{% if data.call == "b" %}b{% endif %}', contentType: 'text/plain' },
  })
  rig.wake()
  await rig.emit('a', 'b')
  await until('both have ended', async () => (await pending(rig)) === 0)
  expect(receiver.received.map(({ body }) => body)).toEqual(['b'])
  expect(await states(rig)).toEqual(['delivered', 'delivered'])
  const { items } = await rig.deliveries.list(ACCOUNT, {}, 9)
  const { attempts } = await rig.deliveries.show(ACCOUNT, items[1]?.id ?? '')
  expect(attempts).toMatchObject([
    { status: null, error: 'the template gives nothing for this event: it was not sent' },
  ])
  await receiver.stop()
})

test('a template that fails is a failed attempt with a reason, is tried again, and counts nothing against the receiver', async () => {
  const receiver = startReceiver()
  await using rig = await newRig({ scheduleMs: [1, 1, 1, 1, 1, 1, 600_000] })
  await rig.setUrls(receiver.url)
  const template = '{% for i in (1..100000000) %}x{% endfor %}'
  await setOptions(rig, receiver.url, { body: { template, contentType: 'text/plain' } })
  rig.wake()
  await rig.emit('a')
  await until('it was tried several times', async () => {
    const [one] = (await rig.deliveries.list(ACCOUNT, {}, 1)).items
    return (one?.attempts_made ?? 0) >= 6
  })
  expect(receiver.received).toEqual([])
  expect(rig.dispatcher.health(1).state).toBe('unknown')
  const [{ id = '' } = {}] = (await rig.deliveries.list(ACCOUNT, {}, 1)).items
  const { attempts } = await rig.deliveries.show(ACCOUNT, id)
  expect(attempts[0]?.error).toBe('the template: line 1, column 1: needs more memory than a template may have')
  await setOptions(rig, receiver.url, {})
  await rig.deliveries.retry(ACCOUNT, id)
  await until('it is delivered', async () => (await states(rig))[0] === 'delivered')
  await receiver.stop()
})

test('a template whose result for one event is not JSON, though its content type is, does not send it', async () => {
  const receiver = startReceiver()
  await using rig = await newRig({ scheduleMs: [600_000] })
  await rig.setUrls(receiver.url)
  const template = '{"call":{% if data.call == "a" %}"{% endif %}{{ data.call | json }}}'
  await setOptions(rig, receiver.url, { body: { template, contentType: 'application/json' } })
  rig.wake()
  await rig.emit('a', 'b')
  await until('the other is sent', () => receiver.received.length === 1)
  const attemptsOf = async () => {
    const { items } = await rig.deliveries.list(ACCOUNT, { state: 'pending' }, 9)
    const { attempts } = await rig.deliveries.show(ACCOUNT, items[0]?.id ?? '')
    return attempts.map(({ status, error }) => ({ status, error }))
  }
  await until('the failed attempt is stored', async () => (await attemptsOf()).length === 1)
  expect(receiver.received.map(({ body }) => body)).toEqual(['{"call":"b"}'])
  expect(await attemptsOf()).toEqual([
    { status: null, error: expect.stringContaining('the template: its content type says JSON, but for this event') },
  ])
  await receiver.stop()
})

test('a template without an end takes little time from other webhooks', async () => {
  const receiver = startReceiver()
  await using rig = await newRig()
  const [hostile, good] = [`${receiver.url}/hostile`, `${receiver.url}/good`]
  await rig.setUrls(hostile, good)
  const template =
    '{% for i in (1..300) %}{% for j in (1..300) %}{% for k in (1..300) %}{% endfor %}{% endfor %}{% endfor %}'
  await setOptions(rig, hostile, { body: { template, contentType: 'text/plain' } })
  rig.wake()
  await rig.emit(...Array.from({ length: 200 }, (_, n) => `call ${n}`))
  await until('the other has all', () => receiver.received.length === 200)
  const errors = async () => {
    const { items } = await rig.deliveries.list(ACCOUNT, { url: hostile }, 200)
    const shown = await Promise.all(items.map(({ id }) => rig.deliveries.show(ACCOUNT, id)))
    return shown.flatMap(({ attempts }) => attempts.map(({ error }) => String(error)))
  }
  await until('each was tried', async () => (await errors()).length >= 200)
  const LIMIT =
    /^the template: (line \d+, column \d+: )?(takes longer than 10 ms|needs more memory than a template may have)$/
  const RESTS = 'the template: took too long, or too much memory: it is tried again after a rest'
  const found = Map.groupBy(await errors(), (error) => (LIMIT.test(error) ? 'a limit' : error))
  // It is rendered three times, then after a rest.
  expect(found.get('a limit')?.length ?? 0).toBeWithin(3, 20)
  expect([...found.keys()].toSorted()).toEqual(['a limit', RESTS])
  expect(receiver.received.every(({ path }) => path === '/good')).toBe(true)
  await receiver.stop()
})

test('a day of pause loses, fails and ages nothing; afterwards all is sent in order', async () => {
  const receiver = startReceiver(() => new Response('', { status: 503 }))
  const world = { leapUs: 0 }
  const steadyUs = () => Math.floor(performance.now() * 1_000) + world.leapUs
  const nowUs = () => Date.now() * 1_000 + world.leapUs
  await using rig = await newRig({ nowUs, steadyUs, scheduleMs: [60_000, 60_000] })
  await rig.setUrls(receiver.url)
  rig.wake()
  // It is down when it is paused: of such a webhook deliveries fail by their age.
  await rig.emit('a', 'b', 'c', 'd', 'e', 'f')
  await until('it is down', () => rig.dispatcher.health(1).state === 'down')
  await until('nothing is under way', () => rig.dispatcher.inFlight === 0)
  await setOptions(rig, receiver.url, { paused: true }, nowUs())
  const before = receiver.received.length
  await rig.emit(...Array.from({ length: 2_000 }, (_, n) => `call ${n % 50}`))
  world.leapUs += 86_400 * SECOND
  receiver.answerWith(() => new Response('ok'))
  await sweep(rig, nowUs)
  expect(receiver.received.length).toBe(before)
  expect((await states(rig)).every((state) => state === 'pending')).toBe(true)
  expect(rig.dispatcher.health(1).state).toBe('down')
  receiver.received.length = 0
  await setOptions(rig, receiver.url, { paused: false }, nowUs())
  await sweep(rig, nowUs)
  await until('all were sent', async () => {
    world.leapUs += SECOND / 10
    return (await pending(rig)) === 0
  })
  expect((await rig.deliveries.list(ACCOUNT, { state: 'failed' }, 1)).items).toEqual([])
  const sequences = Map.groupBy(
    receiver.received.map(({ body }) => JSON.parse(body).data),
    ({ call }) => call,
  )
  for (const some of sequences.values()) {
    const order = some.map(({ sequence }: { sequence: number }) => sequence)
    expect(order).toEqual(order.toSorted((one: number, other: number) => one - other))
  }
  await receiver.stop()
})

test('a test request has the headers and the body, and ignores a pause', async () => {
  const receiver = startReceiver()
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await setOptions(rig, receiver.url, {
    paused: true,
    headers: { 'X-Api-Key': 'secret' },
    body: { preset: 'flat', parameters: {} },
  })
  const reserve = rig.wake().reserve
  const tester = createTestSender({
    templates: TEMPLATES,
    store: rig.store,
    attempt: newAttempt({ allow: allowing('loopback') }),
    reserve,
  })
  expect(await tester(ACCOUNT, receiver.url)).toMatchObject({ status: 200 })
  const [{ headers = {}, body = '' } = {}] = receiver.received
  expect(headers['x-api-key']).toBe('secret')
  expect(JSON.parse(body)).toMatchObject({ event: 'test', account: 'default' })
  await setOptions(rig, receiver.url, { body: { template: '{{ none }}', contentType: 'text/plain' } })
  expect(await tester(ACCOUNT, receiver.url)).toMatchObject({
    status: null,
    error: 'the template gives nothing for this event: it was not sent',
  })
  await receiver.stop()
})
