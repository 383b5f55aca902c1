import { Fault } from '../lib/fault.ts'
import { type NowUs, nowUs } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import type { Actor, Audit } from './audit.ts'
import type { RequestClient } from './client-address.ts'
import { createLoginLimits, type LoginLimits } from './login-limits.ts'
import { type ChangePassword, type Login, normalEmail } from './model.ts'
import { createPasswords, type Passwords } from './password.ts'
import { createRevocations } from './revocations.ts'
import { createSessions, type Session } from './sessions.ts'
import { hashOf, newToken } from './token.ts'
import { typedEmail, userWithEmail } from './user-email.ts'

export type AuthService = ReturnType<typeof createAuthService>

/** Failed logins in 5 minutes, from one network to one user, and from one network to all. */
const PAIR_LIMIT = 10
const ADDRESS_LIMIT = 100

type Dependencies = {
  accounts: Store['accounts']
  passwords?: Passwords
  limits?: LoginLimits
  now?: NowUs
  /** Logs security events. */
  note?: Audit['note']
}

/** Creates the service for login, logout, password changes and the users of tokens. */
export function createAuthService({
  accounts,
  passwords = createPasswords(),
  limits = createLoginLimits(),
  now = nowUs,
  note = async () => {},
}: Dependencies) {
  const sessions = createSessions(accounts, now)
  const revocations = createRevocations(sessions.get)
  const forget = (): void => {
    sessions.forget()
    revocations.check()
  }
  return {
    session: sessions.get,
    forget,
    onRevoked: revocations.watch,

    /**
     * Logs a user in.
     * @returns a new token.
     * @throws Fault 401, the same for an unknown user and a wrong password; 429.
     */
    async login({ email, password }: Login, client: RequestClient): Promise<string> {
      const wanted = normalEmail(email)
      const keys = [
        { key: `login ${client.network}`, limit: ADDRESS_LIMIT },
        { key: `login ${client.network} ${wanted}`, limit: PAIR_LIMIT },
      ]
      let user: Actor['user']
      const checked = limits.attempt(keys, async () => {
        const found = await passwordOf(accounts, email)
        user = found
        const right = await passwords.verify(password, found?.passwordHash, { network: client.network, user: wanted })
        if (found === undefined || !right) return undefined
        const fresh = newToken()
        const { id: userId, passwordHash } = found
        const args = { userId, passwordHash, tokenHash: hashOf(fresh), client: client.program, atUs: now() }
        return (await accounts.tokenAddIfPasswordUnchanged(args)) ? fresh : undefined
      })
      const token = await checked.catch((error) => {
        if (error instanceof Fault && error.code === 'too_many_requests') void note('login_refused', { client })
        throw error
      })
      void note(token === undefined ? 'login_failed' : 'logged_in', { user, client })
      if (token === undefined) throw new Fault('unauthenticated', 'The e-mail address or the password is wrong.')
      return token
    },

    /**
     * Changes a password.
     * @returns a new token.
     * @throws Fault 422 when `old_password` is wrong; 429 after too many failures.
     */
    async changePassword({ user }: Session, change: ChangePassword, client: RequestClient): Promise<string> {
      const token = await limits.attempt([{ key: `change ${user.id}`, limit: PAIR_LIMIT }], () =>
        replacePassword({ accounts, passwords, now }, user, change, client),
      )
      await note(token === undefined ? 'password_change_failed' : 'password_changed', { user, client })
      if (token === undefined)
        throw new Fault('invalid', 'The old password is wrong.', {
          errors: [{ path: '/old_password', message: 'is not your present password' }],
        })
      forget()
      return token
    },

    /** Revokes the token of a session. */
    async logout({ user, tokenHash: hash }: Session, client: RequestClient): Promise<void> {
      await accounts.tokenDelete(hash)
      forget()
      void note('logged_out', { user, client })
    },
  }
}

const ASCII = /^[ -~]*$/

/** Returns the user whom an address means, with the hash of the password. */
async function passwordOf(accounts: Store['accounts'], email: string) {
  const exact = await accounts.userGetPassword(typedEmail(email))
  // All users are read only for an address that has several spellings.
  if (exact !== undefined || ASCII.test(typedEmail(email))) return exact
  const found = userWithEmail(await accounts.userList(), email)
  return typeof found === 'object' ? await accounts.userGetPassword(found.user.email) : undefined
}

/**
 * Replaces the password of a user if the old one is right. Returns a new token, `undefined` if the old password is
 * wrong.
 */
async function replacePassword(
  { accounts, passwords, now }: Pick<Required<Dependencies>, 'accounts' | 'passwords' | 'now'>,
  user: Session['user'],
  change: ChangePassword,
  client: RequestClient,
): Promise<string | undefined> {
  const found = await accounts.userGetPassword(user.email)
  const source = { network: client.network, user: user.email }
  if (!(await passwords.verify(change.old_password, found?.passwordHash, source)) || found === undefined)
    return undefined
  const fresh = newToken()
  const changed = await accounts.userChangePasswordIfUnchanged({
    userId: user.id,
    passwordHash: found.passwordHash,
    newPasswordHash: await passwords.hash(change.password, source),
    tokenHash: hashOf(fresh),
    client: client.program,
    revokeOthers: change.revoke_other_tokens ?? false,
    atUs: now(),
  })
  return changed ? fresh : undefined
}
