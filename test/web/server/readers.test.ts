import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { Elysia } from 'elysia'
import type { AuthService } from '../../../src/auth/service.ts'
import { readSubjects } from '../../../src/deliveries/log/subject.ts'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { openOpaqueIds } from '../../../src/http/opaque-ids.ts'
import { nowUs, steadyUs } from '../../../src/lib/time.ts'
import { type LiveCall, Overview } from '../../../src/web/model.ts'
import { createDeliveryCounts } from '../../../src/web/server/delivery-counts.ts'
import { followNoChanges, startStreams, streamRoutes } from '../../../src/web/server/event-stream.ts'
import { ownFigures } from '../../../src/web/server/figures.ts'
import { createLastHour } from '../../../src/web/server/last-hour.ts'
import { overviewRoutes } from '../../../src/web/server/overview.ts'
import { followOwnEvents } from '../../../src/web/server/stored-events.ts'
import { readOwnStatuses } from '../../../src/web/server/webhook-statuses.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { connectByHand } from '../../help/by-hand.ts'
import { ask, webhook } from '../../help/client.ts'
import { until } from '../../help/receiver.ts'
import { openStore, storeEvents } from '../../help/store.ts'

const MANY = 10_000

/** Ids of calls grow with the time of their start. */
const idOf = (call: number): string => `call ${String(call).padStart(5, '0')}`

/** Yields `count` calls that are up, each with a stage. */
function* calls(count: number): Generator<LiveCall & { readonly id: string }> {
  const data = EXAMPLES[2]?.data
  if (data?.name !== 'dial_answered') throw new Error('the third example is that of dial_answered')
  for (let n = 0; n < count; n += 1)
    yield { id: idOf(n), pbx: 'office', call: { ...data.call, id: idOf(n) }, stages: [data.stage] }
}

/** Starts a real server with all that readers request; each account has `count` calls. */
async function startReaders(count = 0, heartbeatMs = 60_000) {
  const folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const emitter = newEmitter()
  const deliveriesRead: (readonly number[])[] = []
  const parts: { auth?: AuthService; streams?: ReturnType<typeof startStreams> } = {}
  const api = await startApi(store, (auth) => {
    parts.auth = auth
    const streams = startStreams({
      refreshCalls: async () => undefined,
      follow: followOwnEvents(emitter),
      followChanges: followNoChanges,
      emitter,
      auth,
      heartbeatMs,
      async deliveries(ids) {
        deliveriesRead.push(ids)
        return store.log.deliveryGetMany(ids)
      },
      subjectsOf: (rows) => readSubjects(store.log, rows),
      openIds: openOpaqueIds(store.log),
      liveCalls: () => calls(count),
    })
    parts.streams = streams
    const lastHour = createLastHour()
    const counts = createDeliveryCounts({ emitter, lastHour, nowUs })
    const health = () => ({ state: 'up' as const, downSinceUs: null })
    const sources = {
      store,
      figures: ownFigures(lastHour, nowUs),
      statuses: readOwnStatuses({ counts, health, refusals: { sinceUs: () => null, refusing: () => [] } }),
      steadyUs,
      nowUs,
      liveCalls: () => calls(count),
      refreshCalls: async () => undefined,
      pbxs: async () => [],
    }
    return new Elysia().use(streamRoutes(auth, streams)).use(overviewRoutes(auth, sources))
  })
  return {
    ...api,
    store,
    emitter,
    deliveriesRead,
    forget: () => parts.auth?.forget(),
    async [Symbol.asyncDispose]() {
      await parts.streams?.stop()
      await api.stop()
      await store.stop()
      folder[Symbol.dispose]()
    },
  }
}

/** A client that asks by hand, and sees when the other end closes. */
function askByHand(url: string, token: string, { reads = true } = {}) {
  const client = connectByHand(url)
  if (!reads) client.socket.pause()
  client.socket.write(`GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  return { ...client, read: () => client.socket.resume() }
}

/** Streams by hand, one for each token, until every one of them is answered. */
async function openByHand(url: string, tokens: readonly string[]) {
  const clients = tokens.map((token) => askByHand(url, token))
  const codes = () => clients.map(({ state }) => Number(/^HTTP\/1.1 (\d+)/.exec(state.text)?.[1]))
  await until('all are answered', () => codes().every((code) => code > 0))
  return { codes, drop: () => clients.forEach((client) => void client[Symbol.dispose]()) }
}

describe(`with ${MANY} calls up`, () => {
  test('the stream sends each of them first', async () => {
    await using readers = await startReaders(MANY)
    using reader = askByHand(readers.url, await readers.logIn('a'))
    await until('the last one is sent', () => reader.state.text.includes(`"id":"${idOf(MANY - 1)}"`))
    expect(reader.state.text.split('event: call\n')).toHaveLength(MANY + 1)
  })

  test('the stream sends changes alone if it is asked for without the calls', async () => {
    await using readers = await startReaders(MANY)
    const headers = { authorization: `Bearer ${await readers.logIn('a')}` }
    const { body } = await fetch(`${readers.url}/stream?calls=none`, { headers })
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe(': the stream of this account\n\n')
    const stored = { id: 1, accountId: 2, body: JSON.stringify(EXAMPLES[0]) }
    readers.emitter.emit('stored', [
      {
        ...stored,
        uuid: 'e',
        callId: 'c',
        name: 'call_started',
        sequence: 1,
        atUs: 1,
        sinceSteadyUs: 1,
        deliveries: [],
      },
    ])
    expect((await reader?.read())?.value).toStartWith('event: call\n')
    await reader?.cancel()
  })

  test('the overview has the newest 500 of them and the number of all, and is as its schema states', async () => {
    await using readers = await startReaders(MANY)
    const { status, body, headers } = await ask(readers, 'GET', '/overview', { token: await readers.logIn('a') })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    const { result, ...envelope } = body
    expect(envelope).toEqual({ status: 'success', code: 200, message: 'This is the state of your account.' })
    if (!Value.Check(Overview, result)) throw new Error(String(Value.Errors(Overview, result).First()?.path))
    const newest = Array.from({ length: 500 }, (_, n) => idOf(MANY - 1 - n))
    expect(result.calls.map(({ call }) => call.id)).toEqual(newest)
    expect(result.call_count).toBe(MANY)
  })
})

test.each([
  ['of an account without calls', 0, '/overview'],
  ['without the calls that are up', 10, '/overview?calls=none'],
])('the overview %s is as its schema states', async (_, count, path) => {
  await using readers = await startReaders(count)
  const { body } = await ask(readers, 'GET', path, { token: await readers.logIn('a') })
  if (!Value.Check(Overview, body.result)) throw new Error('it does not fit')
  expect([body.result.calls, body.result.call_count]).toEqual([[], count])
})

test('an account is sure of 16 streams, regardless of what others have, and gets more while there are some', async () => {
  await using readers = await startReaders()
  const tokens: string[] = []
  for (let n = 0; n < 7; n += 1) tokens.push(await readers.logIn(`account${n}`))
  const taken = await openByHand(
    readers.url,
    tokens.slice(0, 6).flatMap((token) => Array<string>(65).fill(token)),
  )
  const isOpen = (code: number) => code === 200
  const byAccount = tokens.slice(0, 6).map(
    (_, n) =>
      taken
        .codes()
        .slice(n * 65, (n + 1) * 65)
        .filter(isOpen).length,
  )
  // 48 more than 16 is what one may have, 256 more is what all together may.
  expect(Math.max(...byAccount)).toBe(64)
  expect(Math.min(...byAccount)).toBeGreaterThanOrEqual(16)
  expect(byAccount.reduce((sum, count) => sum + count)).toBe(6 * 16 + 256)
  const last = await openByHand(readers.url, Array<string>(17).fill(tokens[6] ?? ''))
  expect(last.codes().filter(isOpen)).toHaveLength(16)
  taken.drop()
  last.drop()
})

describe('many streams of one account', () => {
  const started = { callId: 'c', name: 'call_started' as const, sequence: 1, atUs: 1 }
  const bodyOf = (id: string) => JSON.stringify({ data: { id, call: { id } } })

  test('cost one read per delivery that changed, however many changes it had and whoever reads it', async () => {
    await using readers = await startReaders()
    const token = await readers.logIn('a')
    await createWebhookService({ webhooks: readers.store.webhooks }).replace(2, [webhook('http://a.example/')], null)
    const events = Array.from({ length: 300 }, (_, n) => ({ ...started, uuid: `e${n}`, body: bodyOf(`${n}`) }))
    const stored = await storeEvents(readers.store, events, { accountId: 2 })
    const ids = stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
    expect(ids).toHaveLength(300)
    const clients = Array.from({ length: 16 }, () => askByHand(readers.url, token))
    await until('all are open', () => clients.every(({ state }) => state.text.includes(': the stream')))
    for (let change = 0; change < 5; change += 1) for (const id of ids) readers.emitter.emit('deliveries', [id])
    const countOf = (text: string) => text.split('event: delivery\n').length - 1
    await until('all have all', () => clients.every(({ state }) => countOf(state.text) >= ids.length))
    expect(readers.deliveriesRead.flat()).toEqual(ids)
    expect(Math.max(...readers.deliveriesRead.map((part) => part.length))).toBeLessThanOrEqual(128)
    for (const client of clients) client[Symbol.dispose]()
  })

  test('cost no read of deliveries of other accounts', async () => {
    await using readers = await startReaders()
    const idsOf = async (accountId: number) => {
      const event = { ...started, uuid: `of ${accountId}`, body: bodyOf(`of ${accountId}`) }
      await createWebhookService({ webhooks: readers.store.webhooks }).replace(
        accountId,
        [webhook('http://a.example/')],
        null,
      )
      const stored = await storeEvents(readers.store, [event], { accountId })
      return stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
    }
    const token = await readers.logIn('a')
    const [others, own] = [await idsOf(1), await idsOf(2)]
    using client = askByHand(readers.url, token)
    await until('it is open', () => client.state.text.includes(': the stream'))
    readers.emitter.emit('deliveries', others, 1)
    readers.emitter.emit('deliveries', own, 2)
    await until('its own has come', () => client.state.text.includes('event: delivery'))
    expect([others.length, own.length]).toEqual([1, 1])
    expect(readers.deliveriesRead.flat()).toEqual(own)
  })

  test('get every event, in order, from when they were opened', async () => {
    await using readers = await startReaders()
    const token = await readers.logIn('a')
    const emit = (id: string) =>
      readers.emitter.emit('stored', [
        { ...started, uuid: id, id: 1, sinceSteadyUs: 0, accountId: 2, body: bodyOf(id), deliveries: [] },
      ])
    using early = askByHand(readers.url, token)
    await until('it is open', () => early.state.text.includes(': the stream'))
    for (let n = 0; n < 100; n += 1) emit(`early${n}.`)
    using late = askByHand(readers.url, token)
    await until('it is open', () => late.state.text.includes(': the stream'))
    emit('last.')
    await until('both have the last', () => [early, late].every(({ state }) => state.text.includes(bodyOf('last.'))))
    const eventsOf = (text: string) => [...text.matchAll(/event: event\ndata: .*?"id":"(.*?)\./g)].map(([, id]) => id)
    expect(eventsOf(early.state.text)).toEqual([...Array.from({ length: 100 }, (_, n) => `early${n}`), 'last'])
    expect(eventsOf(late.state.text)).toEqual(['last'])
  })
})

describe('the connection is closed', () => {
  test('if its reader is refused', async () => {
    await using readers = await startReaders()
    const token = await readers.logIn('a')
    const statuses = await openByHand(readers.url, Array(64).fill(token))
    expect(new Set(statuses.codes())).toEqual(new Set([200]))
    using refused = askByHand(readers.url, token)
    await until('it is closed', () => refused.state.closed)
    expect(refused.state.text).toStartWith('HTTP/1.1 429')
    statuses.drop()
  })

  test('if the token of its reader is revoked', async () => {
    await using readers = await startReaders()
    using reader = askByHand(readers.url, await readers.logIn('a'))
    await until('it is open', () => reader.state.text.includes(': the stream'))
    const [user] = (await readers.store.accounts.userList()).filter(({ email }) => email === 'a@example.com')
    await readers.store.accounts.tokenDeleteOfUser(user?.id ?? 0)
    readers.forget()
    await until('it is closed', () => reader.state.closed)
  })

  test('if its reader takes nothing', async () => {
    await using readers = await startReaders()
    using reader = askByHand(readers.url, await readers.logIn('a'), { reads: false })
    await until('it is open', () => readers.pendingRequests() === 1)
    const name = 'call_started' as const
    const event = { uuid: '', callId: '', name, sequence: 1, atUs: 0, id: 1, sinceSteadyUs: 0 }
    const body = JSON.stringify({ data: { call: {}, filler: 'x'.repeat(100_000) } })
    const accountId = 2
    await until('it is cut off', () => {
      readers.emitter.emit('stored', [{ ...event, accountId, body, deliveries: [] }])
      return readers.pendingRequests() === 0
    })
    reader.read()
    await until('it is closed', () => reader.state.closed)
  })
})

test('the events of an erased call contain nothing about its parties', async () => {
  await using readers = await startReaders()
  const token = await readers.logIn('a')
  const [, , , , attended] = EXAMPLES
  if (attended === undefined) throw new Error('there is an example of an attended transfer')
  const { data } = attended
  const event = {
    uuid: data.id,
    callId: data.call.id,
    name: data.name,
    sequence: 1,
    atUs: 0,
    body: JSON.stringify(attended),
  }
  await storeEvents(readers.store, [event], { accountId: 2 })
  const eventsOfCall = () => ask(readers, 'GET', `/call/${data.call.id}/event`, { token })
  expect((await eventsOfCall()).body.result).toMatchObject([{ transfer: { kind: 'attended' } }])
  await readers.store.maintenance.callErase([data.call.id])
  const { status, body } = await eventsOfCall()
  expect([status, body.result]).toMatchObject([200, [{ id: data.id, stage: null, transfer: null }]])
})
