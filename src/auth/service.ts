import { Fault } from '../lib/fault.ts'
import { type NowUs, nowUs, SECOND } from '../lib/time.ts'
import type { UserRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { Actor, Audit } from './audit.ts'
import type { Client } from './client-address.ts'
import { type AttemptLimits, createAttemptLimits } from './login-limits.ts'
import { type ChangePassword, type Login, normalEmail } from './model.ts'
import { createPasswords, type Passwords } from './password.ts'
import { hashOf, newToken, tokenHash } from './token.ts'

/** Whose token a request carries. */
export type Session = { readonly user: UserRecord; readonly tokenHash: string; lastUsedUs: number | null }

export type AuthService = ReturnType<typeof createAuthService>

const PAIR_LIMIT = 10
const ADDRESS_LIMIT = 100
/** More sessions than a customer has systems; beyond it the table is asked again. */
const MAX_SESSIONS = 10_000
/** The last use of a token is for people: it must not cost every request a write. */
const NOTE_USE_EVERY_US = 300 * SECOND

type Dependencies = {
  accounts: Store['accounts']
  passwords?: Passwords
  limits?: AttemptLimits
  now?: NowUs
  /** Told of what users do to get in and out. */
  note?: Audit['note']
}

/** Who may: logging in and out, and whose a token is. */
export function createAuthService({
  accounts,
  passwords = createPasswords(),
  limits = createAttemptLimits(),
  now = nowUs,
  note = () => {},
}: Dependencies) {
  const sessions = new Map<string, Session>()
  /** Counts what made the sessions stale, so that a look-up which was under way meanwhile is not kept. */
  let generation = 0

  function forget(): void {
    generation += 1
    sessions.clear()
  }

  async function lookUp(hash: string): Promise<Session | undefined> {
    const before = generation
    const found = await accounts.userGetByToken(hash)
    if (found === undefined) return undefined
    const session = { ...found, tokenHash: hash }
    if (before === generation && sessions.size < MAX_SESSIONS) sessions.set(hash, session)
    noteUse(session)
    return session
  }

  function noteUse(session: Session): void {
    const { lastUsedUs, tokenHash: hash } = session
    const atUs = now()
    // A clock that was set back is ahead of nothing: its time is noted at once.
    if (lastUsedUs !== null && Math.abs(atUs - lastUsedUs) < NOTE_USE_EVERY_US) return
    session.lastUsedUs = atUs
    // While the store cannot be written the request itself goes on.
    accounts.tokenSetUsed({ tokenHash: hash, atUs }).catch(() => {})
  }

  return {
    /** The session of a token, at once if it is known. */
    session(token: string): Session | undefined | Promise<Session | undefined> {
      const hash = tokenHash(token)
      if (hash === undefined) return undefined
      const known = sessions.get(hash)
      if (known === undefined) return lookUp(hash)
      noteUse(known)
      return known
    },

    /** Drops what is known of tokens: another process changed the store. */
    forget,

    /** @returns a new token. @throws Fault 401, the same for an unknown e-mail address and a wrong password; 429. */
    async login({ email, password }: Login, client: Client): Promise<string> {
      const wanted = normalEmail(email)
      const keys = [
        { key: `login ${client.network}`, limit: ADDRESS_LIMIT },
        { key: `login ${client.network} ${wanted}`, limit: PAIR_LIMIT },
      ]
      let user: Actor['user']
      const checked = limits.attempt(keys, async () => {
        const found = await accounts.userGetPassword(wanted)
        user = found
        const right = await passwords.verify(password, found?.passwordHash)
        if (found === undefined || !right) return undefined
        const fresh = newToken()
        const { id: userId, passwordHash } = found
        const args = { userId, passwordHash, tokenHash: hashOf(fresh), client: client.program, atUs: now() }
        return (await accounts.tokenAddIfPasswordUnchanged(args)) ? fresh : undefined
      })
      const token = await checked.catch((error) => {
        if (error instanceof Fault && error.code === 'too_many_requests') note('login_refused', { client })
        throw error
      })
      note(token === undefined ? 'login_failed' : 'logged_in', { user, client })
      if (token === undefined) throw new Fault('unauthenticated', 'The e-mail address or the password is wrong.')
      return token
    },

    /** @returns a new token. @throws Fault 422 when `old_password` is wrong; 429 when it was too often. */
    async changePassword({ user }: Session, change: ChangePassword, client: Client): Promise<string> {
      const token = await limits.attempt([{ key: `change ${user.id}`, limit: PAIR_LIMIT }], async () => {
        const found = await accounts.userGetPassword(user.email)
        if (!(await passwords.verify(change.old_password, found?.passwordHash)) || found === undefined) return undefined
        const fresh = newToken()
        const changed = await accounts.userChangePasswordIfUnchanged({
          userId: user.id,
          passwordHash: found.passwordHash,
          newPasswordHash: await passwords.hash(change.password),
          tokenHash: hashOf(fresh),
          client: client.program,
          revokeOthers: change.revoke_other_tokens ?? false,
          atUs: now(),
        })
        return changed ? fresh : undefined
      })
      note(token === undefined ? 'password_change_failed' : 'password_changed', { user, client })
      if (token === undefined)
        throw new Fault('invalid', 'The old password is wrong.', {
          errors: [{ path: '/old_password', message: 'is wrong' }],
        })
      forget()
      return token
    },

    async logout({ user, tokenHash: hash }: Session, client: Client): Promise<void> {
      await accounts.tokenDelete(hash)
      forget()
      note('logged_out', { user, client })
    },
  }
}
