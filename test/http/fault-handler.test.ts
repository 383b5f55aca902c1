import { expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { faults } from '../../src/http/fault-handler.ts'
import { asks } from '../../src/http/query.ts'
import { Fault } from '../../src/lib/fault.ts'
import type { Log } from '../../src/lib/log.ts'

function application(draining = false, now = () => 0) {
  const logged: unknown[] = []
  const note = (fact: unknown) => void logged.push(fact)
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const root = new Elysia({ normalize: false, handler: { standardHostname: false } })
  root
    .use(faults({ log, routes: () => root.routes, draining: () => draining, newRequestId: () => 'request-1', now }))
    .get('/bug', () => {
      throw new Error('password=hunter2')
    })
    .get('/away', () => {
      throw new Fault('unavailable', 'The disk is full.', { cause: new Error('ENOSPC') })
    })
    .get('/wrong', () => ({ n: 'secret' }) as never, { response: { 200: t.Object({ n: t.Number() }) } })
    .get(
      '/query',
      ({ query }) => query,
      asks(
        t.Object({ limit: t.Optional(Type.Integer({ minimum: 1, maximum: 200 })), state: t.Optional(t.Literal('up')) }),
      ),
    )
    .get('/call/:id', () => 'fine')
  const fetch = async (path: string, method = 'GET') => await root.fetch(new Request(`http://x${path}`, { method }))
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(path, method)
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  return { fetch, get, logged }
}

test('a store that is away is logged once in ten seconds, however often somebody asks', async () => {
  let nowUs = 0
  const { get, logged } = application(false, () => nowUs)
  for (let seconds = 0; seconds < 20; seconds++) {
    nowUs = seconds * 1_000_000
    expect((await get('/away')).status).toBe(503)
  }
  expect(logged).toHaveLength(2)
})

test.each(['/bug', '/wrong'])(
  'a fault of ours is 500, names the request and nothing internal, and is logged: %s',
  async (path) => {
    const { get, logged } = application()
    const { status, headers, body } = await get(path)
    expect({ status, code: body.code, result: body.result, id: headers.get('x-request-id') }).toEqual({
      status: 500,
      code: 500,
      result: [],
      id: 'request-1',
    })
    expect(body.message).toContain('request-1')
    expect(JSON.stringify(body)).not.toMatch(/hunter2|secret/)
    expect(logged).toEqual([{ requestId: 'request-1', method: 'GET', path, err: expect.any(Error) }])
  },
)

test('while the service drains every request is 503 and the connection closes', async () => {
  for (const path of ['/query', '/nothing']) {
    const { status, headers, body } = await application(true).get(path)
    expect([status, headers.get('connection'), headers.get('x-request-id')]).toEqual([503, 'close', 'request-1'])
    expect(body.result).toEqual([])
  }
})

test('a wrong query is 422, with every fault and its path', async () => {
  const { get } = application()
  expect((await get('/query?limit=20&state=up&other=x')).body).toMatchObject({ limit: 20, state: 'up' })
  expect((await get('/query')).status).toBe(200)
  const { status, body } = await get('/query?limit=500&state=down')
  expect(status).toBe(422)
  expect(body.result).toEqual({
    errors: [
      { path: '/limit', message: 'may be 200 at most' },
      { path: '/state', message: 'must be "up"' },
    ],
  })
  expect((await get('/query?limit=many')).body.result).toEqual({
    errors: [{ path: '/limit', message: 'must be a whole number' }],
  })
})

test.each(['/call/%E0%A4%A', '/call/%', '/call/%ff', '/%zz/1?limit=%20'])('%s is no path', async (path) => {
  expect((await application().get(path)).status).toBe(404)
})

test('an escape that is a character is fine, and a query may have any', async () => {
  for (const path of ['/call/%C3%A4%20%25', '/call/1?x=%E0%A4%A'])
    expect([path, (await application().fetch(path)).status]).toEqual([path, 200])
})

test.each([
  ['/call/1', 'GET, HEAD'],
  ['/call/1/', 'GET, HEAD'],
  ['/call', null],
  ['/call/1/2', null],
])('the methods of %s are %p', async (path, allow) => {
  const { status, headers } = await application().get(path, 'DELETE')
  expect([status, headers.get('allow')]).toEqual([allow === null ? 404 : 405, allow])
})
