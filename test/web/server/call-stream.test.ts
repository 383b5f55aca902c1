import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Elysia } from 'elysia'
import { tokenRoutes } from '../../../src/auth/token-routes.ts'
import { createTokenService } from '../../../src/auth/token-service.ts'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import type { EventBody } from '../../../src/events/bodies.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { openOpaqueIds } from '../../../src/http/opaque-ids.ts'
import { followNoChanges, startStreams, streamRoutes } from '../../../src/web/server/event-stream.ts'
import { followOwnEvents } from '../../../src/web/server/stored-events.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { ask } from '../../help/client.ts'
import { until } from '../../help/receiver.ts'
import { type OpenStore, openStore } from '../../help/store.ts'
import { followStream } from '../../help/stream.ts'

/** Streams of calls alone, for the pop page. */

const ACCOUNT = 2
const example = EXAMPLES.flatMap(({ time, data }) => (data.name === 'dial_answered' ? [{ time, data }] : []))[0]
if (example === undefined) throw new Error('there is no example of dial_answered')
const { time, data } = example
const nobody = { number: null, name: null, extension: null, e164: null, contact: null }

/** An event of a call in which only an extension rings. */
function rings(id: string, target: string): EventBody {
  const call = { ...data.call, id, from: nobody, to: nobody, answered_by: null, handled_by: [], missed_by: [] }
  return { time, data: { ...data, call, stage: { ...data.stage, kind: 'user', target } } }
}
const live = ['101', '102', '103'].map((target) => ({
  call: Object(rings(`live ${target}`, target).data).call,
  stages: [Object(rings('', target).data).stage],
}))

const folder = emptyFolder()
const emitter = newEmitter()
const deliveriesRead: (readonly number[])[] = []
let store: OpenStore
let streams: ReturnType<typeof startStreams>
let api: Awaited<ReturnType<typeof startApi>>
let session: string

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) => {
    streams = startStreams({
      refreshCalls: async () => undefined,
      follow: followOwnEvents(emitter),
      followChanges: followNoChanges,
      emitter,
      auth,
      async deliveries(ids) {
        deliveriesRead.push(ids)
        return store.log.deliveryGetMany(ids)
      },
      subjectsOf: async () => () => '',
      openIds: openOpaqueIds(store.log),
      liveCalls: () => live,
    })
    const tokens = createTokenService({ accounts: store.accounts, onRevoked: auth.forget })
    return new Elysia().use(streamRoutes(auth, streams)).use(tokenRoutes(auth, tokens, SILENT_AUDIT))
  })
  session = await api.logIn('acme')
})
afterAll(async () => {
  await streams.stop()
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

async function newPop(rights: object = {}): Promise<string> {
  const { body } = await ask(api, 'POST', '/auth/token', { token: session, body: { name: 'p', pop: true, ...rights } })
  return String(Object(body.result).access_token)
}

const storeEvent = (body: EventBody, accountId = ACCOUNT) =>
  emitter.emit('stored', [
    {
      id: 1,
      accountId,
      body: JSON.stringify(body),
      uuid: 'e',
      callId: 'c',
      name: 'dial_answered',
      sequence: 1,
      atUs: 1,
      sinceSteadyUs: 1,
      deliveries: [],
    },
  ])

type Stream = Awaited<ReturnType<typeof followStream>>
const idsOf = (stream: Stream) => stream.of('call').map(({ id }) => id)

/** Follows a stream, stores events, and returns the ids of the calls that it sent. The last event shows the end. */
async function sentTo(token: string, query: string, last: string): Promise<Stream> {
  const stream = await followStream(api, token, query)
  await until('the stream is open', () => stream.text() !== '')
  for (const target of ['101', '102', '103']) storeEvent(rings(`new ${target}`, target))
  storeEvent(rings('of another account', '102'), ACCOUNT + 1)
  emitter.emit('deliveries', [1])
  storeEvent(rings('last', last))
  await until('the last call is sent', () => idsOf(stream).includes('last'))
  stream.drop()
  return stream
}

test('a token for the pop page gets calls alone, the live ones first', async () => {
  const { messages, of } = await sentTo(await newPop(), '', '101')
  expect(of('call').map(({ id }) => id)).toEqual([
    'live 101',
    'live 102',
    'live 103',
    'new 101',
    'new 102',
    'new 103',
    'last',
  ])
  expect(new Set(messages.map(({ name }) => name))).toEqual(new Set(['call']))
  // Nobody gets deliveries: none is read.
  expect(deliveriesRead).toEqual([])
})

test('with an extension it gets calls of this extension alone, from the first one on', async () => {
  const token = await newPop({ extension: '102' })
  for (const query of ['', '?extension=102'])
    expect(idsOf(await sentTo(token, query, '102'))).toEqual(['live 102', 'new 102', 'last'])
  const { status, body } = await ask(api, 'GET', '/stream?extension=103', { token })
  expect([status, body.message]).toEqual([403, 'This token reads calls of the extension 102 alone.'])
})

test('a log-in may ask for the calls of an extension, and gets everything otherwise', async () => {
  const asked = await sentTo(session, '?extension=103', '103')
  expect(idsOf(asked)).toEqual(['live 103', 'new 103', 'last'])
  expect(asked.of('event')).toEqual([])
  const whole = await sentTo(session, '', '101')
  expect(whole.of('event').length).toBeGreaterThan(0)
})

test('a stream of calls ends when its token is revoked', async () => {
  const { body } = await ask(api, 'POST', '/auth/token', { token: session, body: { name: 'p', pop: true } })
  const { id, access_token: token } = body.result as { id: string; access_token: string }
  const stream = await followStream(api, token)
  expect(stream.response.status).toBe(200)
  expect((await ask(api, 'DELETE', `/auth/token/${id}`, { token: session })).status).toBe(200)
  await stream.ended
  expect((await ask(api, 'GET', '/stream', { token })).status).toBe(401)
})
