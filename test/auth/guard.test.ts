import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type AnyElysia, Elysia, t } from 'elysia'
import { adminGuard, guard, operatorGuard, ownGuard, popGuard, scopeGuard } from '../../src/auth/guard.ts'
import { createTokenService } from '../../src/auth/token-service.ts'
import { takes } from '../../src/http/body.ts'
import { success } from '../../src/http/envelope.ts'
import { startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { ask } from '../help/client.ts'
import { openStore } from '../help/store.ts'

test('a route for administrators is 403 for other users, for any request, and the answer explains what to do', async () => {
  using folder = emptyFolder()
  const store = openStore(`${folder.path}/hookswitch.db`)
  const api = await startApi(store, (auth) =>
    new Elysia({ name: 'admins' })
      .use(adminGuard(auth))
      .post('/only', ({ user, accountId }) => success({ email: user.email, accountId }, 'Done.'), takes(t.Object({}))),
  )
  const post = (token: string | undefined, body: object) => ask(api, 'POST', '/only', { body, ...(token && { token }) })
  const [user, admin] = [await api.logIn('acme'), await api.logIn('acme', 'ADMIN')]
  expect((await post(undefined, {})).status).toBe(401)
  const refused = await post(user, [])
  expect(refused).toMatchObject({ status: 403, body: { status: 'error', code: 403, result: [] } })
  expect(refused.body.message).toMatch(/administrator.*Ask the operator.*hookswitch user type admin/)
  expect((await post(admin, {})).body.result).toEqual({ email: 'admin.acme@example.com', accountId: 2 })
  expect((await post(admin, [])).status).toBe(422)
  await api.stop()
  await store.stop()
})

test('a token for the pop page gets nowhere but where a route lets it in, and these routes are few', async () => {
  using folder = emptyFolder()
  const store = openStore(`${folder.path}/hookswitch.db`)
  const one = (plugin: AnyElysia, path: string) =>
    new Elysia({ name: path }).use(plugin).get(path, () => success([], ''))
  const api = await startApi(store, (auth) =>
    new Elysia()
      .use(one(guard(auth), '/guard'))
      .use(one(scopeGuard(auth), '/scope'))
      .use(one(ownGuard(auth), '/own'))
      .use(one(adminGuard(auth), '/admin'))
      .use(one(operatorGuard(auth), '/operator'))
      .use(one(popGuard(auth), '/pop')),
  )
  const session = await api.logIn('acme', 'ADMIN')
  const tokens = createTokenService({ accounts: store.accounts, onRevoked: () => {} })
  const [made] = await store.accounts.tokenList(1, 1)
  const full = (await store.accounts.userGetByToken(made?.hash ?? '')) ?? expect.unreachable()
  const rights = { name: 'desk', pop: true, calls: true, extension: '101' }
  const { access_token: token } = await tokens.create({ ...full, tokenHash: made?.hash ?? '' }, rights)
  const statuses = async (of: string) =>
    Promise.all(
      ['/guard', '/scope', '/own', '/admin', '/operator', '/pop'].map(
        async (path) => (await ask(api, 'GET', path, { token: of })).status,
      ),
    )
  expect(await statuses(session)).toEqual([200, 200, 200, 200, 404, 200])
  expect(await statuses(token)).toEqual([403, 403, 403, 403, 404, 200])
  await api.stop()
  await store.stop()
  const src = resolve(import.meta.dir, '../../src')
  const users = [...new Bun.Glob('**/*.ts').scanSync(src)].filter(
    (path) => !path.startsWith('auth/') && /\bpop(Scope)?Guard\b/.test(readFileSync(join(src, path), 'utf8')),
  )
  expect(users.toSorted()).toEqual([
    'calls/api/routes.ts',
    'contacts/routes.ts',
    'pbx/originate/routes.ts',
    'web/server/event-stream.ts',
  ])
})
