import { expect, test } from 'bun:test'
import { Elysia, t } from 'elysia'
import { adminGuard } from '../../src/auth/guard.ts'
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
