import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createAuthService } from '../../src/auth/service.ts'
import { newToken, tokenHash } from '../../src/auth/token.ts'
import { tokenRoutes } from '../../src/auth/token-routes.ts'
import { createTokenService } from '../../src/auth/token-service.ts'
import { SECOND } from '../../src/lib/time.ts'
import { SILENT_AUDIT, startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { type Answer, ask } from '../help/client.ts'
import { type OpenStore, openStore } from '../help/store.ts'

let folder: ReturnType<typeof emptyFolder>
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>

beforeAll(async () => {
  folder = emptyFolder()
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) =>
    tokenRoutes(auth, createTokenService({ accounts: store.accounts, onRevoked: auth.forget }), SILENT_AUDIT),
  )
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

type Listed = { id: string; name: string | null; current: boolean; last_used_at: string | null }
const list = async (token: string) => (await ask(api, 'GET', '/auth/token', { token })).body.result as Listed[]
const create = (token: string, body: unknown) => ask(api, 'POST', '/auth/token', { token, body })
const revoke = (token: string, id: string) => ask(api, 'DELETE', `/auth/token/${id}`, { token })
const made = ({ body }: Answer) => body.result as { id: string; name: string; access_token: string }

describe('an API token', () => {
  test('has a name, works as a login does, and is listed without itself', async () => {
    const session = await api.logIn('made')
    const { id, name, access_token: token } = made(await create(session, { name: '  CRM sync ' }))
    expect([name, token]).toEqual(['CRM sync', expect.stringMatching(/^hks_[A-Za-z0-9_-]{43}$/)])
    const listed = await list(token)
    expect(listed.find((one) => one.current)).toMatchObject({ id, name: 'CRM sync', client: null })
    expect(listed).toHaveLength(2)
    expect(JSON.stringify(listed)).not.toContain(token.slice(4))
  })

  test('ends at once when it is revoked, and no other one does', async () => {
    const session = await api.logIn('revoked')
    const [one, other] = [made(await create(session, { name: 'one' })), made(await create(session, { name: 'other' }))]
    await list(one.access_token)
    expect((await revoke(session, one.id)).body).toMatchObject({ code: 200, result: [] })
    expect((await ask(api, 'GET', '/auth/token', { token: one.access_token })).status).toBe(401)
    expect((await list(other.access_token)).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['other', null]) as never,
    )
    expect((await revoke(session, one.id)).status).toBe(404)
  })

  test('can be seen and revoked by its user alone, by no other user of the account', async () => {
    const [mine, theirs] = [await api.logIn('mine'), await api.logIn('theirs')]
    const { id } = made(await create(theirs, { name: 'secret' }))
    expect(await list(mine)).toHaveLength(1)
    expect((await revoke(mine, id)).status).toBe(404)
    expect(await list(theirs)).toHaveLength(2)
  })

  test('may be the one of the request: that is logging out', async () => {
    const session = await api.logIn('self')
    const [own] = await list(session)
    expect((await revoke(session, own?.id ?? '')).status).toBe(200)
    expect((await ask(api, 'GET', '/auth/token', { token: session })).status).toBe(401)
  })

  test.each([
    ['no name', {}],
    ['an empty name', { name: '  ' }],
    ['a name that is too long', { name: 'x'.repeat(101) }],
    ['a name with a control character', { name: 'a\nb' }],
    ['a name that is a number', { name: 5 }],
  ])('with %s is refused', async (what, body) => {
    const session = await api.logIn(`refused-${what}`)
    const { status, body: answer } = await create(session, body)
    expect([status, answer.result]).toEqual([422, { errors: [expect.objectContaining({ path: '/name' })] }])
    expect(await list(session)).toHaveLength(1)
  })

  test.each(['x', '0123456789abcdef', '%25', '0123456789ABCDEF'])('with the id %s is unknown', async (id) =>
    expect((await revoke(await api.logIn(`unknown-${id}`), id)).status).toBe(404),
  )
})

test('a user can make only a limited number of tokens in a minute', async () => {
  const busy = await api.logIn('busy')
  let last = await ask(api, 'POST', '/auth/token', { token: busy, body: { name: 'x' } })
  let made = 0
  for (; last.status === 200 && made < 1_000; made += 1)
    last = await ask(api, 'POST', '/auth/token', { token: busy, body: { name: 'x' } })
  expect([last.status, made >= 20]).toEqual([429, true])
})

describe('the last use of a token', () => {
  test('is noted at its first use, and then every five minutes at most', async () => {
    let atUs = Date.UTC(2026, 10, 20) * 1_000
    const now = () => atUs
    const passwords = { hash: async () => 'hash', verify: async () => true }
    const auth = createAuthService({ accounts: store.accounts, now, passwords })
    const tokens = createTokenService({ accounts: store.accounts, now, onRevoked: auth.forget })
    const user = { account: 'used', type: 1, name: 'U', email: 'used@example.com', passwordHash: 'hash', atUs }
    await store.accounts.userCreate(user)
    const client = { address: '192.0.2.1', network: '192.0.2.1', program: 'Mozilla/5.0 (X11; Linux) Firefox/140' }
    const token = await auth.login({ email: 'used@example.com', password: 'x' }, client)
    const use = async () => {
      const session = await auth.session(token)
      if (session === undefined) throw new Error('the token is known')
      // A later commit of the same queue: the note before it is on disk then.
      await store.accounts.userCreate(user)
      return (await tokens.list(session))[0]
    }
    const first = await use()
    expect(first).toMatchObject({ client: client.program, last_used_at: '2026-11-20T00:00:00.000000Z', current: true })
    atUs += 299 * SECOND
    expect((await use())?.last_used_at).toBe('2026-11-20T00:00:00.000000Z')
    atUs += SECOND
    expect((await use())?.last_used_at).toBe('2026-11-20T00:05:00.000000Z')
    auth.forget()
    atUs += SECOND
    expect((await use())?.last_used_at).toBe('2026-11-20T00:05:00.000000Z')
  })
})

describe('a token for the pop page', () => {
  test('says so when it is created and listed, and has the form of every token', async () => {
    const session = await api.logIn('popping')
    const desk = { name: 'desk', calls: true, pop: true, extension: '101' }
    const { status, body } = await create(session, desk)
    expect([status, body.result]).toEqual([200, expect.objectContaining(desk)])
    expect(made({ body } as Answer).access_token).toMatch(/^hks_[A-Za-z0-9_-]{43}$/)
    expect((await create(session, { name: 'wall', pop: true })).body.result).toMatchObject({
      pop: true,
      extension: null,
    })
    const listed = (await list(session)).map((token) => ({ ...token }) as Record<string, unknown>)
    expect(listed.find(({ name }) => name === 'desk')).toMatchObject(desk)
    expect(listed.find(({ name }) => name === null)).toMatchObject({ pop: false, extension: null })
  })

  test.each([
    ['an extension without `pop`', { name: 'x', extension: '101' }, '/extension'],
    ['an extension with `pop: false`', { name: 'x', pop: false, extension: '101' }, '/extension'],
    ['an empty extension', { name: 'x', pop: true, extension: '' }, '/extension'],
    ['an extension with a space', { name: 'x', pop: true, extension: '101 102' }, '/extension'],
    ['an extension without end', { name: 'x', pop: true, extension: '1'.repeat(65) }, '/extension'],
    ['a word for `pop`', { name: 'x', pop: 'yes' }, '/pop'],
  ])('%s is refused', async (_, given, path) => {
    const { status, body } = await create(await api.logIn(`refused ${path} ${JSON.stringify(given).length}`), given)
    expect(status).toBe(422)
    expect(Object(body.result).errors).toEqual([expect.objectContaining({ path })])
  })

  test('neither lists nor creates nor revokes tokens', async () => {
    const session = await api.logIn('narrow')
    const { id, access_token: token } = made(await create(session, { name: 'desk', pop: true, calls: true }))
    const answers = [
      await ask(api, 'GET', '/auth/token', { token }),
      await create(token, { name: 'more' }),
      await create(token, { name: 'more', pop: true }),
      await revoke(token, id),
    ]
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    expect(answers[0]?.body.message).toContain('for the pop page alone')
    expect(await list(session)).toHaveLength(2)
    expect((await revoke(session, id)).status).toBe(200)
    expect((await ask(api, 'GET', '/auth/token', { token })).status).toBe(401)
  })

  test('is never found by a node of an earlier version, which would take it for a token with all rights', async () => {
    const session = await api.logIn('earlier')
    const { access_token: pop } = made(await create(session, { name: 'desk', pop: true }))
    const { access_token: full } = made(await create(session, { name: 'crm' }))
    // An earlier version looks for this hash, and knows no other right than that of calls.
    const asEarlierNode = (token: string) => store.accounts.userGetByToken(tokenHash(token) ?? '')
    expect(await asEarlierNode(pop)).toBeUndefined()
    expect(await asEarlierNode(full)).toMatchObject({ name: 'crm', pop: false })
    expect((await createAuthService(store).session(pop))?.pop).toBe(true)
  })

  test('is found with one read of the store, as any token, known or not', async () => {
    const session = await api.logIn('once')
    const { access_token: pop } = made(await create(session, { name: 'desk', pop: true }))
    let reads = 0
    const accounts: typeof store.accounts = {
      ...store.accounts,
      userGetByToken(...hashes) {
        reads += 1
        return store.accounts.userGetByToken(...hashes)
      },
    }
    const auth = createAuthService({ ...store, accounts })
    const found = []
    for (const token of [pop, session, newToken()]) found.push((await auth.session(token))?.pop)
    expect([found, reads]).toEqual([[true, false, undefined], 3])
  })
})
