import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { tokenRoutes } from '../../../src/auth/token-routes.ts'
import { createTokenService } from '../../../src/auth/token-service.ts'
import { callRoutes } from '../../../src/calls/api/routes.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { ask } from '../../help/client.ts'
import { batch, type OpenStore, openStore } from '../../help/store.ts'

/** `GET /call` with a token for the pop page. */

const NUMBER = '+4930123456'
const example = EXAMPLES[2]?.data
if (example?.name !== 'dial_answered') throw new Error('the third example is dial_answered')
const { call, stage } = example

/** Calls of one number, the newest last: extension 102 rang in every fourth one. */
const saved = Array.from({ length: 40 }, (_, index) => {
  const id = `call-${index}`
  const target = index % 4 === 0 ? '102' : '101'
  const of = { ...call, id, from: { ...call.from, number: NUMBER }, answered_by: null, handled_by: [], missed_by: [] }
  const record = JSON.stringify({ call: of, stages: [{ ...stage, kind: 'user', target }], recordings: [] })
  const savedUs = 1_795_213_000 * SECOND + index
  return { id, savedUs, direction: 'inbound' as const, fromNumber: NUMBER, toNumber: '100', record }
})

const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let session: string

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) =>
    callRoutes(auth, store).use(
      tokenRoutes(auth, createTokenService({ accounts: store.accounts, onRevoked: auth.forget }), SILENT_AUDIT),
    ),
  )
  session = await api.logIn('default')
  await store.calls.batchStore(batch({ saved }))
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

async function newPop(rights: object = {}): Promise<string> {
  const { body } = await ask(api, 'POST', '/auth/token', { token: session, body: { name: 'p', pop: true, ...rights } })
  return String(Object(body.result).access_token)
}

const read = async (token: string, query: string, headers = {}) => {
  const { status, body } = await ask(api, 'GET', `/call${query}`, { token, headers })
  const { items = [], next_cursor } = Object(body.result) as { items?: { id: string }[]; next_cursor?: unknown }
  return { status, ids: items.map(({ id }) => id), next_cursor }
}
const ofNumber = `?number=${encodeURIComponent(NUMBER)}`

test('the last three calls with a number are read, without a cursor, and fewer on request', async () => {
  const token = await newPop()
  const last = { status: 200, ids: ['call-39', 'call-38', 'call-37'], next_cursor: null }
  expect(await read(token, ofNumber)).toEqual(last)
  expect(await read(token, `${ofNumber}&limit=50`)).toEqual(last)
  expect((await read(token, `${ofNumber}&limit=1`)).ids).toEqual(['call-39'])
  expect(await read(token, '?number=999')).toEqual({ status: 200, ids: [], next_cursor: null })
})

test('with an extension, calls in which it took part or rang are read alone', async () => {
  expect((await read(await newPop({ extension: '102' }), ofNumber)).ids).toEqual(['call-36', 'call-32', 'call-28'])
  expect((await read(await newPop({ extension: '103' }), ofNumber)).ids).toEqual([])
})

test.each([
  ['no number', ''],
  ['a cursor', `${ofNumber}&cursor=WzEsMl0`],
  ['a search', `${ofNumber}&q=an`],
  ['another extension', `${ofNumber}&extension=101`],
  ['counts', `${ofNumber}&counts=true`],
  ['a time', `${ofNumber}&since=2026-01-01T00:00:00Z`],
  ['a parameter that there is not', `${ofNumber}&new=1`],
])('%s is refused', async (_, query) => {
  expect((await read(await newPop(), query)).status).toBe(403)
})

test('a file of all calls is not sent, and no record of a call', async () => {
  const token = await newPop()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/csv' }
  const response = await fetch(`${api.url}/call${ofNumber}`, { headers })
  expect([response.headers.get('content-type'), (await response.json()).result.items.length]).toEqual([
    'application/json',
    3,
  ])
  expect((await fetch(`${api.url}/call`, { headers })).status).toBe(403)
  expect((await ask(api, 'GET', `/call/${crypto.randomUUID()}`, { token })).status).toBe(403)
})
