import { Database as Sqlite } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createPasswords } from '../../src/auth/password.ts'
import { createAuthService } from '../../src/auth/service.ts'
import { userWithEmail } from '../../src/auth/user-email.ts'
import { USER_TYPES } from '../../src/store/operations/accounts.ts'
import { emptyFolder } from '../help/app.ts'
import { openStore } from '../help/store.ts'

// Two spellings of one address that look the same, and a third with two accents, of which one stands apart.
const [COMPOSED, DECOMPOSED] = ['jos\u00e9@example.com', 'jose\u0301@example.com']
const [BOTH, FIRST, SECOND] = ['\u00e9l\u00e9@a.example', 'e\u0301l\u00e9@a.example', '\u00e9le\u0301@a.example']

test.each<[string, readonly string[], string, string | undefined]>([
  ['the only user, by the same spelling', [DECOMPOSED], DECOMPOSED, DECOMPOSED],
  ['the only user, by the other spelling', [DECOMPOSED], COMPOSED, DECOMPOSED],
  ['the only user, by the other spelling', [COMPOSED], DECOMPOSED, COMPOSED],
  ['the only user, in any case and with space', [DECOMPOSED], ` ${COMPOSED.toUpperCase()} `, DECOMPOSED],
  ['of two users, the one whose spelling it is', [DECOMPOSED, COMPOSED], COMPOSED, COMPOSED],
  ['of two users, the one whose spelling it is', [COMPOSED, DECOMPOSED], DECOMPOSED, DECOMPOSED],
  ['none of two whose spelling it is not', [FIRST, SECOND], BOTH, 'several'],
  ['nobody without the accent', [COMPOSED, DECOMPOSED], 'jose@example.com', undefined],
])('an address finds %s', (_, emails, given, found) => {
  const users = emails.map((email) => ({ email }))
  const wanted = found === undefined || found === 'several' ? found : { user: { email: found } }
  expect(userWithEmail(users, given)).toEqual(wanted)
})

test('users of an earlier version log in by either spelling, and two of them stay two', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const store = openStore(path)
  const { accounts } = store
  const passwords = createPasswords()
  const add = async (email: string, stored: string, password: string) => {
    const passwordHash = await passwords.hash(password)
    await accounts.userCreate({ account: 'default', type: USER_TYPES.USER, name: 'A', email, passwordHash, atUs: 1 })
    // As an earlier version stored it, which a new one refuses beside the other spelling.
    new Sqlite(path).run('UPDATE users SET email = ? WHERE email = ?', [stored, email])
  }
  await add('one@example.com', DECOMPOSED, 'the password of one')
  const auth = createAuthService({ accounts, passwords })
  const client = { address: '127.0.0.1', network: '127.0.0.1', program: null }
  const logIn = async (email: string, password: string) => {
    const token = await auth.login({ email, password }, client).catch((error) => String(error.code))
    return token.startsWith('hks_') ? 'in' : token
  }
  for (const email of [COMPOSED, DECOMPOSED, COMPOSED.toUpperCase()])
    expect([email, await logIn(email, 'the password of one')]).toEqual([email, 'in'])
  expect(await logIn(COMPOSED, 'another password')).toBe('unauthenticated')

  await add('two@example.com', COMPOSED, 'the password of two')
  expect(await logIn(COMPOSED, 'the password of two')).toBe('in')
  expect(await logIn(COMPOSED, 'the password of one')).toBe('unauthenticated')
  expect(await logIn(DECOMPOSED, 'the password of one')).toBe('in')
  expect((await accounts.userList()).map(({ email }) => email)).toEqual([DECOMPOSED, COMPOSED])
  await store.stop()
})
