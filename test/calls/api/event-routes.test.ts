import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import type { AuthService } from '../../../src/auth/service.ts'
import { createEventReader } from '../../../src/calls/api/event-reader.ts'
import { eventRoutes } from '../../../src/calls/api/event-routes.ts'
import { BODIES } from '../../../src/events/bodies.ts'
import { isOnlyOnRequest } from '../../../src/events/kinds.ts'
import { EXAMPLES as ALL } from '../../../src/events/samples.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { NewEvent } from '../../../src/store/operations/calls.ts'
import { startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { type Answer, type Ask, ask } from '../../help/client.ts'
import { until } from '../../help/receiver.ts'
import { type OpenStore, openStore, storeEvents } from '../../help/store.ts'

/** Kinds that only `events` asks for are not stored here. */
const EXAMPLES = ALL.filter(({ data }) => !isOnlyOnRequest(data.name))

const NOW = 1_795_213_000 * SECOND
const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let reader: ReturnType<typeof createEventReader>
let auth: AuthService | undefined
let token: string
let others: string

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  reader = createEventReader(store)
  api = await startApi(store, (service) => {
    auth = service
    return eventRoutes(service, reader)
  })
  token = await api.logIn('default')
  others = await api.logIn('acme')
  await put(EXAMPLES.length)
})
afterAll(async () => {
  await reader.stop()
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

let made = 0
/** Stores events with the bodies of the examples, in turn. */
async function put(count: number, accountId = 1): Promise<string[]> {
  const events = Array.from({ length: count }, (): NewEvent => {
    const body = EXAMPLES[made % EXAMPLES.length] ?? EXAMPLES[0]
    if (body === undefined) throw new Error('there is no example')
    made += 1
    const uuid = `01a1f901-0000-7000-8000-${String(made).padStart(12, '0')}`
    const { name, sequence } = body.data
    return { uuid, callId: `call ${made % 2}`, name, sequence, atUs: NOW + made, body: JSON.stringify(body) }
  })
  await storeEvents(store, events, { accountId, nowSteadyUs: NOW })
  reader.wake(new Set([accountId]))
  return events.map(({ uuid }) => uuid)
}

type Item = { id: string; event: string; call_id: string; sequence: number; created_at: string; body: unknown }
type Page = { items: Item[]; next_cursor: string }
const get = (query: string, options: Ask = {}): Promise<Answer> =>
  ask(api, 'GET', `/event${query}`, { token, ...options })
const page = async (query: string, options: Ask = {}): Promise<Page> => {
  const { status, body } = await get(query, options)
  expect(status).toBe(200)
  return body.result as Page
}
const idsOf = ({ items }: Page) => items.map(({ id }) => id)
const errorsOf = ({ body }: Answer) => (body.result as { errors: { path: string }[] }).errors.map(({ path }) => path)

describe('GET /event', () => {
  test('gives the events in the order in which they were stored, with their bodies, in the envelope', async () => {
    const answer = await get('')
    expect(answer.body).toMatchObject({ status: 'success', code: 200 })
    expect(answer.headers.get('x-request-id')).toBeString()
    expect(answer.headers.get('content-type')).toBe('application/json')
    const { items } = answer.body.result as Page
    expect(items.map(({ body }) => body)).toEqual([...EXAMPLES])
    expect(items[0]).toMatchObject({ event: 'call_started', sequence: 1, created_at: '2026-11-20T22:16:40.000001Z' })
    for (const { event, body } of items) expect(Value.Check(BODIES[event as keyof typeof BODIES], body)).toBe(true)
  })

  test('goes on behind its cursor, page by page, to the end', async () => {
    const all = idsOf(await page(''))
    const read: string[] = []
    let query = '?limit=3'
    for (let pages = 0; pages < 4; pages += 1) {
      const { items, next_cursor } = await page(query)
      read.push(...items.map(({ id }) => id))
      query = `?limit=3&after=${next_cursor}`
    }
    expect(read).toEqual(all)
    expect(await page(query)).toEqual({ items: [], next_cursor: query.split('after=')[1] ?? '' })
    const more = await put(2)
    expect(idsOf(await page(query))).toEqual(more)
  })

  test('filters by kinds and by call, and its cursor moves on where nothing matched', async () => {
    const kinds = async (query: string) => (await page(query)).items.map(({ event }) => event)
    expect(new Set(await kinds('?event=call_ended'))).toEqual(new Set(['call_ended']))
    expect(new Set(await kinds('?event=call_ended&event=call_saved'))).toEqual(new Set(['call_ended', 'call_saved']))
    expect(new Set((await page('?call_id=call%201')).items.map(({ call_id }) => call_id))).toEqual(new Set(['call 1']))
    const { items, next_cursor } = await page('?call_id=none')
    expect(items).toEqual([])
    expect(next_cursor).toBe((await page('?after=now')).next_cursor)
  })

  test('after=now begins with what comes', async () => {
    const { items, next_cursor } = await page('?after=now')
    expect(items).toEqual([])
    const more = await put(1)
    expect(idsOf(await page(`?after=${next_cursor}`))).toEqual(more)
  })

  test('answers 401, without what came then, when the token is revoked while it waits', async () => {
    const { next_cursor } = await page('?after=now')
    const leaving = await api.logIn('leaving')
    const own = await ask(api, 'GET', '/event?after=now', { token: leaving })
    const query = `?wait=30&after=${(own.body.result as Page).next_cursor}`
    const waiting = ask(api, 'GET', `/event${query}`, { token: leaving })
    const other = page(`?after=${next_cursor}&wait=30`)
    await until('both wait', () => reader.waiting() === 2)
    const [user] = (await store.accounts.userList()).filter(({ email }) => email === 'leaving@example.com')
    await store.accounts.tokenDeleteOfUser(user?.id ?? 0)
    auth?.forget()
    expect((await waiting).status).toBe(401)
    expect(reader.waiting()).toBe(1)
    await put(1)
    expect((await other).items).toHaveLength(1)
  })

  test('waits for an event if none is stored, and answers without one when the time is over', async () => {
    const { next_cursor } = await page('?after=now')
    const waiting = page(`?after=${next_cursor}&wait=30`)
    await until('it waits', () => reader.waiting() === 1)
    await put(1, 2)
    expect(reader.waiting()).toBe(1)
    const more = await put(1)
    expect(idsOf(await waiting)).toEqual(more)
    expect(await page('?after=now&wait=1')).toMatchObject({ items: [] })
    expect(reader.waiting()).toBe(0)
  })

  test('waits on when what came does not match', async () => {
    const waiting = page('?after=now&wait=30&event=call_saved')
    await until('it waits', () => reader.waiting() === 1)
    const more: string[] = []
    for (let at = 0; at < EXAMPLES.length; at += 1) more.push(...(await put(1)))
    const [id] = idsOf(await waiting)
    expect(more).toContain(id ?? '')
  })

  test('does not wait for a client that has gone', async () => {
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${token}` }
    const request = fetch(`${api.url}/event?after=now&wait=30`, { headers, signal: gone.signal }).catch(() => 'gone')
    await until('it waits', () => reader.waiting() === 1)
    gone.abort()
    expect(await request).toBe('gone')
    await until('nobody waits', () => reader.waiting() === 0)
  })

  test('shows nothing of another account, and takes no cursor of it', async () => {
    expect((await page('', { token: others })).items.every(({ id }) => id !== '')).toBe(true)
    const [mine, theirs] = [idsOf(await page('')), idsOf(await page('', { token: others }))]
    expect(mine.filter((id) => theirs.includes(id))).toEqual([])
    const { next_cursor } = await page('')
    const answer = await get(`?after=${next_cursor}`, { token: others })
    expect([answer.status, errorsOf(answer)]).toEqual([422, ['/after']])
  })

  test.each([
    ['?limit=0', '/limit'],
    ['?limit=1001', '/limit'],
    ['?limit=ten', '/limit'],
    ['?wait=31', '/wait'],
    ['?wait=-1', '/wait'],
    ['?wait=1.5', '/wait'],
    ['?after=', '/after'],
    ['?after=nonsense', '/after'],
    [`?after=${Buffer.from('[1,1.5]').toString('base64url')}`, '/after'],
    [`?after=${Buffer.from('[1,-1]').toString('base64url')}`, '/after'],
    ['?event=call', '/event/0'],
    ['?events=call_ended', '/events'],
    ['?after=now&cursor=x', '/cursor'],
    ['?event=call_ended&event=call', '/event/1'],
  ])('%s is refused at %s', async (query, path) => {
    const answer = await get(query)
    expect([answer.status, errorsOf(answer)]).toEqual([422, [path]])
  })

  test('a plain cursor, as earlier versions gave out, is of no use where this version began', async () => {
    const answer = await get(`?after=${Buffer.from('[1,3]').toString('base64url')}`)
    expect(answer.status).toBe(410)
    const theirs = await get(`?after=${Buffer.from('[2,3]').toString('base64url')}`)
    expect([theirs.status, errorsOf(theirs)]).toEqual([422, ['/after']])
  })

  test('a cursor shows neither how many events there are nor how many accounts', async () => {
    const cursors = new Set<string>()
    for (let n = 0; n < 3; n += 1) {
      await put(1, 2)
      await put(1)
      cursors.add((await page('?after=now')).next_cursor)
    }
    expect(cursors.size).toBe(3)
    // Cursors are cipher blocks: two of them share a byte only by chance.
    const bytes = [...cursors].map((cursor) => Buffer.from(cursor, 'base64url'))
    expect(bytes.map(({ length }) => length)).toEqual([16, 16, 16])
    const same = Array.from({ length: 16 }, (_, at) => new Set(bytes.map((one) => one[at])).size === 1)
    expect(same.filter(Boolean).length).toBeLessThan(4)
  })

  test('without a token there is nothing', async () => {
    expect((await ask(api, 'GET', '/event')).status).toBe(401)
  })

  test('answers 410, with the oldest cursor that can be read from, when events behind the cursor were deleted', async () => {
    const { next_cursor } = await page('?limit=1')
    const all = idsOf(await page(''))
    const later = NOW + 3_600 * SECOND
    const prune = { afterId: 0, deliveredBeforeUs: later, failedBeforeUs: later, nowUs: later }
    await store.maintenance.deliveryPrune({ ...prune, limit: 4 })
    const answer = await get(`?after=${next_cursor}`)
    expect([answer.status, answer.body.result]).toEqual([410, []])
    const oldest = answer.body.message.split(' ').at(-1) ?? ''
    expect(idsOf(await page(`?after=${oldest}`))).toEqual(all.slice(4))
    expect(idsOf(await page(''))).toEqual(all.slice(4))
  })
})
