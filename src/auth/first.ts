import { wrongUsage } from '../config.ts'
import type { Database } from '../db/database.ts'
import { type NowUs, nowUs } from '../lib/time.ts'
import { DEFAULT_USER_TYPE, normalEmail } from './model.ts'
import { createPasswords, passwordProblem } from './password.ts'
import { countUsers, createUser } from './store.ts'

/** Makes the first user of a store that has none, for containers; a store that has one is left alone. @throws CommanderError */
export async function ensureFirstUser(
  db: Database,
  first: { email: string; password: string },
  now: NowUs = nowUs,
): Promise<void> {
  const problem = passwordProblem(first.password)
  if (problem !== undefined) throw wrongUsage(`HOOKSWITCH_USER_PASSWORD ${problem}`)
  if (!first.email.includes('@')) throw wrongUsage('HOOKSWITCH_USER_EMAIL is no e-mail address')
  if ((await countUsers(db)) > 0) return
  const email = normalEmail(first.email)
  const name = email.split('@', 1)[0] ?? email
  const passwordHash = await createPasswords().hash(first.password)
  await db.commit(createUser, { account: 'default', type: DEFAULT_USER_TYPE, name, email, passwordHash, atUs: now() })
}
