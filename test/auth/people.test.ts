import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAudit } from '../../src/auth/audit.ts'
import { createOperators, OPERATOR_HEADER } from '../../src/auth/operators.ts'
import { createPasswords } from '../../src/auth/password.ts'
import { createPeople } from '../../src/auth/people.ts'
import { peopleRoutes } from '../../src/auth/people-routes.ts'
import { authRoutes } from '../../src/auth/routes.ts'
import { createAuthService } from '../../src/auth/service.ts'
import { tokenRoutes } from '../../src/auth/token-routes.ts'
import { createTokenService } from '../../src/auth/token-service.ts'
import { SECOND } from '../../src/lib/time.ts'
import { accountOfPbx } from '../../src/pbx/source/pbx-url.ts'
import { startRoutes } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { ask } from '../help/client.ts'
import { openStore } from '../help/store.ts'

const folder = emptyFolder()
const store = openStore(`${folder.path}/hookswitch.db`)
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const DAY = 86_400 * SECOND
let nowUs = 1_795_213_000 * SECOND
const now = () => nowUs

const operators = createOperators()
const audit = createAudit({ accounts: store.accounts, trail: store.audit, log: SILENT, trustProxies: [], operators })
const passwords = createPasswords()
const auth = createAuthService({ accounts: store.accounts, passwords, note: audit.note, operators, now })
const people = createPeople({ store, passwords, accountOfPbx, onChanged: auth.forget, now })
const tokens = createTokenService({ accounts: store.accounts, onRevoked: auth.forget })
const api = startRoutes(store, auth, [
  authRoutes(auth, audit.clientOf),
  tokenRoutes(auth, tokens, audit),
  peopleRoutes({ auth, people, audit, linkBase: (request) => new URL(request.url).origin }),
])
let admin = ''
let user = ''
beforeAll(async () => {
  admin = await api.logIn('default', 'ADMIN')
  user = await api.logIn('acme')
  const [own] = await store.accounts.userList()
  await store.accounts.userUpdate({ id: own?.id ?? 0, passwordHash: await passwords.hash('mine') })
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

const as = (token: string) => (method: string, path: string, body?: unknown) =>
  ask(api, method, path, { token, ...(body === undefined ? {} : { body }) })
const byAdmin = (method: string, path: string, body?: unknown) => as(admin)(method, path, body)
const added = async (given: object) => {
  const { status, body } = await byAdmin('POST', '/user', { name: 'N', password: 'long enough', ...given })
  if (status !== 200) throw new Error(body.message)
  return body.result as { id: number; account: string; link?: string; invited_until: string | null }
}
const logIn = async (email: string, password: string) =>
  (await ask(api, 'POST', '/auth/login', { body: { email, password } })).status
const welcome = (code: string, password = 'chosen one', confirmation = password) =>
  ask(api, 'POST', '/auth/welcome', { body: { code, password, password_confirmation: confirmation } })
const codeOf = (link: string | undefined) =>
  /^http:\/\/127\.0\.0\.1:\d+\/#welcome=([\w-]{43})$/.exec(link ?? '')?.[1] ?? ''

describe('accounts and users', () => {
  test.each([
    ['GET', '/account'],
    ['GET', '/user'],
    ['POST', '/user'],
    ['PATCH', '/user/1'],
    ['DELETE', '/user/1'],
    ['POST', '/user/1/logout'],
    ['POST', '/user/1/link'],
    ['GET', '/user/1/token'],
    ['DELETE', '/user/1/token/0123456789abcdef'],
  ])('%s %s is for administrators alone', async (method, path) => {
    expect((await ask(api, method, path)).status).toBe(401)
    expect((await as(user)(method, path)).status).toBe(403)
  })

  test('a user is added to an account in any case, and can log in', async () => {
    const one = await added({ email: ' Ben@Acme.example ', account: 'ACME' })
    expect(one).toEqual({
      id: one.id,
      name: 'N',
      email: 'ben@acme.example',
      type: 'USER',
      account: 'acme',
      created_at: expect.stringMatching(/Z$/),
      last_login_at: null,
      invited_until: null,
    } as never)
    expect(await logIn('ben@acme.example', 'long enough')).toBe(200)
    const { body } = await byAdmin('GET', '/user?account=Acme')
    expect(body.result).toMatchObject([
      { email: 'acme@example.com' },
      { id: one.id, last_login_at: expect.any(String) },
    ])
    const again = await byAdmin('POST', '/user', { name: 'N', email: 'ben@acme.example', password: 'long enough' })
    expect(again).toMatchObject({ status: 409, body: { message: expect.stringContaining('ben@acme.example') } })
  })

  test('accounts are listed by name, with the numbers of what they have', async () => {
    await store.pbxs.pbxSet({ ...PBX, name: 'one', url: 'ami://u:s@h' })
    await store.pbxs.pbxSet({ ...PBX, name: 'two', url: 'ami://u:s@h?account=Acme' })
    await store.pbxs.pbxSet({ ...PBX, name: 'all', url: 'esl://:s@h?tenants=domain&account=acme' })
    expect((await byAdmin('GET', '/account')).body.result).toEqual([
      { name: 'acme', users: 2, webhooks: 0, pbxs: 1, created_at: expect.any(String) },
      { name: 'default', users: 1, webhooks: 0, pbxs: 1, created_at: expect.any(String) },
    ])
  })

  test.each([
    [{ email: 'nobody', name: 'N' }, '/email'],
    [{ email: 'x@example.com', name: ' ' }, '/name'],
    [{ email: 'x@example.com', name: 'N', account: '#' }, '/account'],
    [{ email: 'x@example.com', name: 'N', type: 'BOSS' }, '/type'],
    [{ email: 'x@example.com', name: 'N', password: 'short' }, '/password'],
    [{ email: 'x@example.com', name: 'N', phone: '1' }, '/phone'],
    [{ name: 'N' }, '/email'],
  ])('%j is refused at %s', async (body, path) => {
    const answer = await byAdmin('POST', '/user', body)
    expect(answer).toMatchObject({ status: 422, body: { result: { errors: [{ path }] } } })
  })

  test('name, type and account change; API tokens end with the account, sessions do not', async () => {
    const { id } = await added({ email: 'cem@example.com' })
    const { body } = await ask(api, 'POST', '/auth/login', {
      body: { email: 'cem@example.com', password: 'long enough' },
    })
    const session = Object(body.result).access_token
    const named = await as(session)('POST', '/auth/token', { name: 'script' })
    const script = Object(named.body.result).access_token
    const changed = await byAdmin('PATCH', `/user/${id}`, { name: 'Cem', type: 'ADMIN', account: 'acme' })
    expect(changed).toMatchObject({ status: 200, body: { result: { name: 'Cem', type: 'ADMIN', account: 'acme' } } })
    expect((await as(session)('GET', '/user')).status).toBe(200)
    expect((await as(script)('GET', '/auth/me')).status).toBe(401)
    await byAdmin('PATCH', `/user/${id}`, { type: 'USER' })
    expect((await as(session)('GET', '/user')).status).toBe(403)
    expect((await byAdmin('PATCH', '/user/999', { name: 'X' })).status).toBe(404)
    for (const wrong of ['x', `0${id}`, `+${id}`, `${id}.0`]) {
      expect([wrong, (await byAdmin('PATCH', `/user/${wrong}`, { name: 'X' })).status]).toEqual([wrong, 404])
      expect([wrong, (await byAdmin('GET', `/user/${wrong}/token`)).status]).toEqual([wrong, 404])
    }
    const elsewhere = await byAdmin('PATCH', `/user/${id}`, { name: 'Y', account: 'acmee' })
    expect(elsewhere).toMatchObject({ status: 422, body: { result: { errors: [{ path: '/account' }] } } })
    expect((await byAdmin('GET', '/account')).body.result).not.toContainEqual(
      expect.objectContaining({ name: 'acmee' }),
    )
    expect((await byAdmin('GET', '/user')).body.result).toContainEqual(expect.objectContaining({ id, name: 'Cem' }))
    const password = await byAdmin('PATCH', `/user/${id}`, { password: 'known to others' })
    expect(password).toMatchObject({ status: 422, body: { result: { errors: [{ path: '/password' }] } } })
  })

  test('the last administrator stays', async () => {
    const [own] = (await store.accounts.userList()).filter(({ email }) => email === 'admin.default@example.com')
    expect((await byAdmin('PATCH', `/user/${own?.id}`, { type: 'USER' })).status).toBe(409)
    expect((await byAdmin('DELETE', `/user/${own?.id}`)).status).toBe(409)
  })

  test('tokens of a user are listed and revoked, one or all', async () => {
    const { id } = await added({ email: 'dora@example.com' })
    for (let at = 0; at < 3; at += 1) await logIn('dora@example.com', 'long enough')
    const list = async () =>
      (await byAdmin('GET', `/user/${id}/token`)).body.result as { id: string; current: boolean }[]
    const [first, ...others] = await list()
    expect([others.length, first?.current]).toEqual([2, false])
    expect((await byAdmin('DELETE', `/user/${id}/token/${first?.id}`)).status).toBe(200)
    expect((await byAdmin('DELETE', `/user/${id}/token/${first?.id}`)).status).toBe(404)
    expect((await byAdmin('POST', `/user/${id}/logout`)).body.result).toEqual({ revoked: 2 } as never)
    expect(await list()).toEqual([])
    const [entry] = await store.audit.auditList({ action: 'token_revoked', limit: 1 })
    expect(entry).toMatchObject({ subject: 'dora@example.com', user: 'admin.default@example.com' })
  })

  test('a user is removed with its tokens, and an account stays without users', async () => {
    const { id } = await added({ email: 'eve@example.com', account: 'alone' })
    expect((await byAdmin('DELETE', `/user/${id}`)).status).toBe(200)
    expect((await byAdmin('DELETE', `/user/${id}`)).status).toBe(404)
    expect((await byAdmin('GET', '/account')).body.result).toContainEqual(
      expect.objectContaining({ name: 'alone', users: 0 }) as never,
    )
  })
})

const PBX = {
  origin: 'store' as const,
  version: 'v',
  endsCalls: false,
  recordings: null,
  seenVersion: null,
}

describe('a link', () => {
  const invited = async (email: string) => {
    const { status, body } = await byAdmin('POST', '/user', { name: 'N', email })
    if (status !== 200) throw new Error(body.message)
    return body.result as { id: number; link: string; invited_until: string }
  }

  test('lets a user without a password choose one, once', async () => {
    const { link, invited_until: until } = await invited('fay@example.com')
    expect(Date.parse(until) - nowUs / 1_000).toBe(3 * 86_400_000)
    expect(await logIn('fay@example.com', '')).toBe(401)
    expect((await welcome(codeOf(link), 'short')).body.result).toMatchObject({ errors: [{ path: '/password' }] })
    const different = await welcome(codeOf(link), 'chosen one', 'another one')
    expect(different.body.result).toMatchObject({ errors: [{ path: '/password_confirmation' }] })
    const { status, body } = await welcome(codeOf(link))
    expect([status, Object(body.result).access_token]).toEqual([200, expect.stringMatching(/^hks_/)])
    expect((await as(Object(body.result).access_token)('GET', '/auth/me')).status).toBe(200)
    expect(await logIn('fay@example.com', 'chosen one')).toBe(200)
    expect((await welcome(codeOf(link))).status).toBe(401)
  })

  test('expires after three days, and a second one makes the first void; tokens and the old password stay', async () => {
    const { id } = await added({ email: 'gil@example.com' })
    const { body } = await ask(api, 'POST', '/auth/login', {
      body: { email: 'gil@example.com', password: 'long enough' },
    })
    const linkOf = async () => Object((await byAdmin('POST', `/user/${id}/link`)).body.result).link
    const [first, second] = [await linkOf(), await linkOf()]
    expect((await welcome(codeOf(first))).status).toBe(401)
    nowUs += 3 * DAY
    expect((await welcome(codeOf(second))).status).toBe(401)
    expect((await byAdmin('GET', '/user')).body.result).toContainEqual(
      expect.objectContaining({ id, invited_until: null }) as never,
    )
    expect(await logIn('gil@example.com', 'long enough')).toBe(200)
    const third = await linkOf()
    expect((await welcome(codeOf(third))).status).toBe(200)
    expect(await logIn('gil@example.com', 'long enough')).toBe(401)
    expect((await as(Object(body.result).access_token)('GET', '/auth/me')).status).toBe(200)
    expect((await byAdmin('POST', '/user/999/link')).status).toBe(404)
  })

  test('cannot be guessed: ten wrong codes of an address in five minutes, then 429', async () => {
    const { link } = await invited('hal@example.com')
    for (let at = 0; at < 10; at += 1) expect((await welcome('x'.repeat(43))).status).toBe(401)
    const refused = await welcome(codeOf(link))
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
  })
})

describe('the operator of the machine', () => {
  const asOperator = (method: string, path: string, body?: object) => {
    const headers = { [OPERATOR_HEADER]: encodeURIComponent('Jürgen'), 'content-type': 'application/json' }
    const request = new Request(`http://control${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    operators.admit(request)
    return api.handle(request)
  }

  test('has the rights of an administrator without a token, sets passwords, and is in the trail by name', async () => {
    const { id } = await added({ email: 'ian@example.com' })
    expect((await asOperator('PATCH', `/user/${id}`, { password: 'set by hand' })).status).toBe(200)
    expect(await logIn('ian@example.com', 'set by hand')).toBe(200)
    const [entry] = await store.audit.auditList({ action: 'user_password_set', limit: 1 })
    expect(entry).toMatchObject({ by: 'command line (Jürgen)', user: null, address: null, subject: 'ian@example.com' })
  })

  test.each([
    ['GET', '/auth/me'],
    ['GET', '/auth/token'],
    ['POST', '/auth/logout'],
    ['POST', '/auth/change-password'],
  ])('%s %s does not exist for him: he is no user', async (method, path) => {
    expect((await asOperator(method, path)).status).toBe(404)
  })

  test('is nobody who only says so', async () => {
    const headers = { [OPERATOR_HEADER]: 'root', host: 'control' }
    expect((await ask(api, 'GET', '/user', { headers })).status).toBe(401)
  })
})
