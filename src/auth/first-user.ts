import { type NowUs, nowUs } from '../lib/time.ts'
import { wrongUsage } from '../lib/usage.ts'
import type { Store } from '../store/store.ts'
import { DEFAULT_USER_TYPE, normalEmail } from './model.ts'
import { createPasswords, passwordProblem } from './password.ts'

/** Makes the first user of a store that has none, for containers; a store that has one is left alone. @throws CommanderError */
export async function ensureFirstUser(
  accounts: Store['accounts'],
  first: { email: string; password: string },
  now: NowUs = nowUs,
): Promise<void> {
  const problem = passwordProblem(first.password)
  if (problem !== undefined) throw wrongUsage(`HOOKSWITCH_USER_PASSWORD ${problem}`)
  if (!first.email.includes('@')) throw wrongUsage('HOOKSWITCH_USER_EMAIL is no e-mail address')
  if ((await accounts.userCount()) > 0) return
  const email = normalEmail(first.email)
  const name = email.split('@', 1)[0] ?? email
  const passwordHash = await createPasswords().hash(first.password)
  await accounts.userCreate({ account: 'default', type: DEFAULT_USER_TYPE, name, email, passwordHash, atUs: now() })
}
