import { type NowUs, nowUs } from '../lib/time.ts'
import { wrongUsage } from '../lib/usage.ts'
import { USER_TYPES } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'
import { emailProblem, normalEmail } from './model.ts'
import { createPasswords, passwordProblem } from './password.ts'

/**
 * Adds the first user to a store without users, for containers. It is an `ADMIN`, because nobody else could be one.
 * @throws CommanderError (exit code 2) when e-mail or password is wrong.
 */
export async function ensureFirstUser(
  accounts: Store['accounts'],
  first: { email: string; password: string },
  now: NowUs = nowUs,
): Promise<void> {
  const problem = passwordProblem(first.password)
  if (problem !== undefined) throw wrongUsage(`HOOKSWITCH_USER_PASSWORD ${problem}`)
  const problemOfEmail = emailProblem(first.email)
  if (problemOfEmail !== undefined) throw wrongUsage(`HOOKSWITCH_USER_EMAIL ${problemOfEmail}`)
  if ((await accounts.userCount()) > 0) return
  const email = normalEmail(first.email)
  const name = email.split('@', 1)[0] ?? email
  const passwordHash = await createPasswords().hash(first.password)
  await accounts.userCreate({ account: 'default', type: USER_TYPES.ADMIN, name, email, passwordHash, atUs: now() })
}
