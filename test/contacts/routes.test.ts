import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createContactDirectory } from '../../src/contacts/directory.ts'
import { contactRoutes } from '../../src/contacts/routes.ts'
import { createContactService } from '../../src/contacts/service.ts'
import { createLog } from '../../src/lib/log.ts'
import { steadyUs } from '../../src/lib/time.ts'
import { type AllowList, parseAllowList } from '../../src/outbound/address-guard.ts'
import { newExchange } from '../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import { SILENT_AUDIT, startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { newAuthorizer } from '../help/authorizer.ts'
import { ask } from '../help/client.ts'
import { openStore } from '../help/store.ts'
import { TEMPLATES } from '../help/templates.ts'

const folder = emptyFolder()
const store = openStore(join(folder.path, 'hookswitch.db'))
const log = createLog('silent')
const allowing = (...nets: string[]): AllowList => {
  const parsed = parseAllowList(nets)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.allow
}

/** A CRM with its own tokens, whose refresh token is valid once. */
const crm = { asked: [] as string[], tokens: 0, current: '', refreshToken: 'refresh-0', isRefused: false }
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/token') {
      const form = new URLSearchParams(await request.text())
      if (form.get('refresh_token') !== crm.refreshToken || crm.isRefused)
        return Response.json({ error: 'invalid_grant', error_description: `${form}` }, { status: 400 })
      crm.tokens += 1
      crm.refreshToken = `refresh-${crm.tokens}`
      crm.current = `access-${crm.tokens}`
      return Response.json({ access_token: crm.current, expires_in: 3_600, refresh_token: crm.refreshToken })
    }
    const number = searchParams.get('n') ?? ''
    crm.asked.push(number)
    if (request.headers.get('authorization') !== `Bearer ${crm.current}`) return new Response('', { status: 401 })
    return number.endsWith('404') ? new Response('', { status: 404 }) : Response.json([{ id: 7, name: `N ${number}` }])
  },
})
const CRM = `http://127.0.0.1:${server.port}`

const problems: (string | null)[] = []
function startService(allow: AllowList) {
  const exchange = newExchange(newGuardedRequests({ allow }))
  const directory = createContactDirectory({ log, steadyUs })
  const authorizer = newAuthorizer(store, exchange, (_, problem) => problems.push(problem))
  const toE164 = (_: number, number: string) => (number === '030 123456' ? '+4930123456' : null)
  const contacts = createContactService({
    store,
    directory,
    templates: TEMPLATES,
    exchange,
    authorizer,
    toE164,
    allow,
    log,
  })
  return startApi(store, (auth) => contactRoutes({ auth, contacts, audit: SILENT_AUDIT, now: () => 0 }))
}

let api: Awaited<ReturnType<typeof startApi>>
let token = ''
beforeAll(async () => {
  api = await startService(allowing('loopback'))
  token = await api.logIn('default')
})
afterAll(async () => {
  await api.stop()
  await server.stop(true)
  await store.stop()
  folder[Symbol.dispose]()
})

const SETTINGS = {
  url: `${CRM}/find?n={{ number }}`,
  authorization: {
    kind: 'oauth2',
    token_url: `${CRM}/token`,
    client_id: 'id',
    client_secret: 'the-client-secret',
    refresh_token: 'refresh-0',
  },
  item: '/0',
  fields: { id: '/id', name: '/name' },
  spellings: ['e164', 'digits'],
  budget_ms: 2_000,
}
const put = (body: unknown, at = api) => ask(at, 'PUT', '/integration/contacts', { token, body })
const find = async (number: string) =>
  (await ask(api, 'GET', `/contact?number=${encodeURIComponent(number)}`, { token })).body.result
const contact = (name: string) => ({ id: '7', name, company: null, url: null, owner: null })

test('contacts are not looked up until there are settings', async () => {
  expect((await ask(api, 'GET', '/integration/contacts', { token })).body).toMatchObject({ code: 200, result: null })
  expect(await find('+4930123456')).toBeNull()
  expect(crm.asked).toEqual([])
})

describe('settings', () => {
  test('are read back without secrets', async () => {
    const { status, body } = await put(SETTINGS)
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toMatch(/the-client-secret|refresh-0/)
    expect(body.result).toEqual({
      ...SETTINGS,
      method: 'GET',
      headers: {},
      body: null,
      authorization: { ...SETTINGS.authorization, client_secret: null, refresh_token: null },
      cache_minutes: 10,
    })
    expect((await ask(api, 'GET', '/integration/contacts', { token })).body.result).toEqual(body.result)
  })

  test('are 422 with every fault if they cannot work', async () => {
    const paths = async (body: unknown, at = api) => {
      const { status, body: answer } = await put(body, at)
      expect(status).toBe(422)
      return (answer.result as { errors: { path: string }[] }).errors.map(({ path }) => path).toSorted()
    }
    expect(await paths({ ...SETTINGS, unknown: 1, budget_ms: 2_001, item: 'x' })).toEqual([
      '/budget_ms',
      '/item',
      '/unknown',
    ])
    expect(await paths([])).not.toEqual([])
    expect(await paths({ ...SETTINGS, url: `${CRM}/find?n={{ number` })).toEqual(['/url'])
    expect(await paths({ ...SETTINGS, body: '{"n": {{ number }', method: 'POST' })).toEqual(['/body'])
    expect(await paths({ ...SETTINGS, url: 'http://10.0.0.1/', authorization: null })).toEqual(['/url'])
    const elsewhere = { ...SETTINGS.authorization, token_url: 'http://169.254.169.254/' }
    expect(await paths({ ...SETTINGS, authorization: elsewhere })).toEqual(['/authorization/token_url'])
    expect(
      await paths({
        ...SETTINGS,
        url: 'http://localhost.example/',
        authorization: { ...SETTINGS.authorization, client_secret: null },
      }),
    ).toEqual(['/authorization/client_secret'])
  })
})

describe('GET /contact', () => {
  test('looks a number up with a token, once', async () => {
    await put(SETTINGS)
    crm.asked.length = 0
    expect(await find('+4930123456')).toEqual(contact('N +4930123456'))
    expect(await find('030 123456')).toEqual(contact('N +4930123456'))
    expect(crm.asked).toEqual(['+4930123456'])
    expect(crm.tokens).toBe(1)
    expect(await find('+4930404')).toBeNull()
    expect(await find('+4930404')).toBeNull()
    const detail = async (number: string, value = 'true') =>
      (await ask(api, 'GET', `/contact?number=${encodeURIComponent(number)}&detail=${value}`, { token })).body.result
    expect(await detail('+4930123456')).toEqual({ contact: contact('N +4930123456'), state: 'found' })
    expect(await detail('+4930404')).toEqual({ contact: null, state: 'unknown' })
    expect(await detail('+4930404', 'false')).toBeNull()
    expect(crm.asked).toEqual(['+4930123456', '+4930404', '4930404'])
    expect((await ask(api, 'GET', '/contact', { token })).status).toBe(422)
  })

  test('uses the stored token in the next process, and the rotated refresh token after a 401', async () => {
    const next = await startService(allowing('loopback'))
    const ofNext = async (number: string) =>
      (await ask(next, 'GET', `/contact?number=${number}`, { token })).body.result
    await put({ ...SETTINGS, cache_minutes: 5 }, next)
    expect(await ofNext('030111111')).toEqual(contact('N 030111111'))
    expect(crm.tokens).toBe(1)
    crm.current = 'ended by the CRM'
    expect(await ofNext('030222222')).toEqual(contact('N 030222222'))
    expect(crm.current).toBe('access-2')
    const stored = await store.authorizations.authorizationGet({ accountId: 1, url: '' })
    expect(stored).toMatchObject({ header: 'Bearer access-2', refreshToken: 'refresh-2' })
    await next.stop()
  })

  test('is null when the CRM fails; a refused renewal is a problem without a secret in it', async () => {
    crm.isRefused = true
    await put({ ...SETTINGS, authorization: { ...SETTINGS.authorization, refresh_token: 'other-refresh' } })
    expect(await find('+4930222222')).toBeNull()
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/^status 400: invalid_grant: /)
    expect(problems[0]).not.toMatch(/the-client-secret|other-refresh/)
    crm.isRefused = false
  })
})

test('null ends it', async () => {
  expect((await put(null)).body).toMatchObject({ code: 200, result: null })
  expect(await find('+4930123456')).toBeNull()
  expect(await store.contacts.contactSettingsList()).toEqual([])
})
