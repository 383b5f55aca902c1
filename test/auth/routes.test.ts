import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { type Answer, addUser, ask, logIn, newToken, PASSWORD } from '../help/client.ts'
import { until } from '../help/receiver.ts'

const folder = emptyFolder()
let app: RunningApp

beforeAll(async () => {
  app = await startServe({ cwd: folder.path, args: ['--trust-proxy', '127.0.0.1'] })
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

const me = (token: string, headers = {}) => ask(app, 'GET', '/auth/me', { token, headers })
const change = (token: string, body: object) => ask(app, 'POST', '/auth/change-password', { token, body })
const errorsOf = ({ body }: Answer) => (body.result as { errors: { path: string; message: string }[] }).errors
const tokenOf = ({ body }: Answer) => (body.result as { access_token: string }).access_token

describe('a token', () => {
  test('is opaque, names its user, and is stored nowhere', async () => {
    const token = await newToken(app, 'me@example.com')
    expect(token).toMatch(/^hks_[A-Za-z0-9_-]{43}$/)
    expect((await me(token)).body.result).toEqual({
      id: expect.any(Number),
      name: 'A. Tester',
      email: 'me@example.com',
      type: { number: 1, name: 'USER' },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    })
    const names = readdirSync(`${folder.path}/data`).filter((name) => !name.endsWith('.sock'))
    const files = names.map((name) => readFileSync(`${folder.path}/data/${name}`, 'latin1'))
    expect(files.some((content) => content.includes(token) || content.includes(PASSWORD))).toBe(false)
    expect(app.output()).not.toContain(token)
  })

  test('comes with a message that the user was authenticated', async () => {
    const { body } = await ask(app, 'POST', '/auth/login', { body: { email: 'me@example.com', password: PASSWORD } })
    expect(body).toMatchObject({ code: 200, message: expect.stringMatching(/user was authenticated/) })
  })

  test('is given to a user of an earlier version, whose address was stored with its accent apart', async () => {
    await newToken(app, 'jos\u00e9@example.com')
    using db = new Database(`${folder.path}/data/hookswitch.db`)
    db.run('UPDATE users SET email = ? WHERE email = ?', ['jose\u0301@example.com', 'jos\u00e9@example.com'])
    for (const email of ['jos\u00e9@example.com', 'jose\u0301@example.com'])
      expect((await me(await logIn(app, email))).body.result).toMatchObject({ email: 'jose\u0301@example.com' })
  })

  test('is read from the header alone, whose scheme has no case', async () => {
    const token = await logIn(app, 'me@example.com')
    const withScheme = (authorization: string) => ask(app, 'GET', '/auth/me', { headers: { authorization } })
    expect((await withScheme(`bearer ${token}`)).status).toBe(200)
    expect((await withScheme(`BEARER  ${token}`)).status).toBe(200)
    expect((await withScheme(token)).status).toBe(401)
    expect((await ask(app, 'GET', `/auth/me?access_token=${token}`)).status).toBe(401)
  })

  test('ends by logging out, and no other one does', async () => {
    const [first, second] = [await logIn(app, 'me@example.com'), await logIn(app, 'me@example.com')]
    await me(first)
    const answer = await ask(app, 'POST', '/auth/logout', { token: first })
    expect(answer.body.result).toEqual([])
    expect((await me(first)).status).toBe(401)
    expect((await ask(app, 'POST', '/auth/logout', { token: first })).status).toBe(401)
    expect((await me(second)).status).toBe(200)
  })
})

test('an administrator is added as one, or made one, and is one at once', async () => {
  const typeOf = async (token: string) => (await me(token)).body.result
  const user = (line: string) => run(['user', ...line.split(' ')], { cwd: folder.path, stdin: PASSWORD })
  expect((await user('add --admin --email admin@example.com --name Admin')).code).toBe(0)
  const admin = await logIn(app, 'admin@example.com')
  expect(await typeOf(admin)).toMatchObject({ type: { number: 2, name: 'ADMIN' } })
  const token = await newToken(app, 'promoted@example.com')
  expect(await typeOf(token)).toMatchObject({ type: { number: 1, name: 'USER' } })
  expect((await user('type admin --email promoted@example.com')).code).toBe(0)
  await until('the service sees it', async () => Bun.deepMatch({ type: { name: 'ADMIN' } }, await typeOf(token)))
  expect(JSON.parse((await user('list --json')).stdout)).toContainEqual(
    expect.objectContaining({ email: 'promoted@example.com', type: 'ADMIN' }),
  )
  expect(await user('type user --email nobody@example.com')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no user nobody@'),
  })
  expect(await user('type owner --email admin@example.com')).toMatchObject({ code: 2 })
})

describe('a changed password', () => {
  const wanted = { old_password: PASSWORD, password: 'new one', password_confirmation: 'new one' }

  test('gives a new token, leaves the others, and is the one to log in with', async () => {
    const token = await newToken(app, 'change@example.com')
    const fresh = tokenOf(await change(token, wanted))
    expect((await me(fresh)).status).toBe(200)
    expect((await me(token)).status).toBe(200)
    expect(logIn(app, 'change@example.com')).rejects.toThrow(/wrong/)
    await logIn(app, 'change@example.com', 'new one')
  })

  test('makes the other tokens inactive when that is asked for', async () => {
    const token = await newToken(app, 'revoke@example.com')
    const other = await logIn(app, 'revoke@example.com')
    const fresh = tokenOf(await change(token, { ...wanted, revoke_other_tokens: true }))
    expect([(await me(fresh)).status, (await me(other)).status, (await me(token)).status]).toEqual([200, 401, 401])
  })

  test.each<[string, object, string[]]>([
    ['a wrong old password', { old_password: 'wrong' }, ['/old_password']],
    ['an old password of 1,026 bytes', { old_password: 'é'.repeat(513) }, ['/old_password']],
    ['another confirmation', { password_confirmation: 'New one' }, ['/password_confirmation']],
    [
      'five characters, of two code units each',
      { password: '😀😀😀😀😀', password_confirmation: '😀😀😀😀😀' },
      ['/password'],
    ],
    ['1,025 bytes', { password: 'x'.repeat(1_025), password_confirmation: 'x'.repeat(1_025) }, ['/password']],
    [
      'all at once',
      { old_password: 5, password: 'short', password_confirmation: 'x' },
      ['/old_password', '/password', '/password_confirmation'],
    ],
    ['a switch that is none', { revoke_other_tokens: 'yes' }, ['/revoke_other_tokens']],
  ])('is refused with %s', async (_, wrong, paths) => {
    const token = await logIn(app, 'me@example.com')
    const answer = await change(token, { ...wanted, ...wrong })
    expect(answer.status).toBe(422)
    expect(errorsOf(answer).map(({ path }) => path)).toEqual(paths)
  })

  test('may have 1,024 bytes and six characters of any script', async () => {
    const token = await newToken(app, 'long@example.com')
    for (const [old, password] of [
      [PASSWORD, '密碼密碼密碼'],
      ['密碼密碼密碼', 'é'.repeat(512)],
    ] as const)
      expect((await change(token, { old_password: old, password, password_confirmation: password })).status).toBe(200)
    await logIn(app, 'long@example.com', 'é'.repeat(512))
  })
})

test.each<[string, object, string]>([
  ['an e-mail address of 255 characters', { email: `${'a'.repeat(245)}@b.example` }, '/email'],
  ['an e-mail address of 16 KiB less what is around it', { email: 'a'.repeat(16_000) }, '/email'],
  ['a password of 1,025 characters', { password: 'x'.repeat(1_025) }, '/password'],
  ['a password of 1,026 bytes', { password: 'é'.repeat(513) }, '/password'],
])('nobody logs in with %s', async (_, wrong, path) => {
  const body = { email: 'me@example.com', password: PASSWORD, ...wrong }
  const answer = await ask(app, 'POST', '/auth/login', { body })
  expect([answer.status, errorsOf(answer).map((error) => error.path)]).toEqual([422, [path]])
  const unit = path === '/password' ? '1024 bytes' : '254 characters'
  expect(errorsOf(answer)[0]).toMatchObject({ message: `may have ${unit} at most` })
})

test('failures are counted for each address, behind the proxy that is trusted', async () => {
  await addUser(folder.path, 'counted@example.com')
  const attempt = (address: string, password: string) =>
    ask(app, 'POST', '/auth/login', {
      body: { email: 'counted@example.com', password },
      headers: { 'x-forwarded-for': `203.0.113.9, ${address}` },
    })
  for (let n = 0; n < 10; n += 1) expect((await attempt('2001:db8::1', 'wrong')).status).toBe(401)
  // The same /64 is the same customer.
  expect((await attempt('2001:db8::ffff', PASSWORD)).status).toBe(429)
  expect((await attempt('2001:db8:0:1::1', PASSWORD)).status).toBe(200)
  expect((await attempt('198.51.100.7', PASSWORD)).status).toBe(200)
})
