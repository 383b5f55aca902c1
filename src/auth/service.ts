import { Fault } from '../lib/fault.ts'
import { type NowUs, nowUs } from '../lib/time.ts'
import { spellingOf } from '../store/account-spelling.ts'
import { USER_TYPES } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'
import type { Actor, Audit } from './audit.ts'
import type { RequestClient } from './client-address.ts'
import { hashOfCode, isCode } from './invitation.ts'
import { createLoginLimits, type LoginLimits } from './login-limits.ts'
import { type ChangePassword, type Login, NO_ACCOUNT, normalEmail } from './model.ts'
import type { Operators } from './operators.ts'
import { createPasswords, type Passwords } from './password.ts'
import type { Welcome } from './people-model.ts'
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
  /** Knows the requests of the operator of the machine; by default no request is the operator's. */
  operators?: Pick<Operators, 'nameOf'> | undefined
}

/** Creates the service for login, logout, password changes and the users of tokens. */
export function createAuthService({
  accounts,
  passwords = createPasswords(),
  limits = createLoginLimits(),
  now = nowUs,
  note = async () => {},
  operators,
}: Dependencies) {
  const sessions = createSessions(accounts, now)
  // It stays in this process: the operator's requests have no token, but what watches tokens has to know them.
  const operatorsToken = newToken()
  const isValid = async (token: string): Promise<boolean> =>
    token === operatorsToken || (await sessions.get(token)) !== undefined
  const revocations = createRevocations(isValid)
  const forget = (): void => {
    sessions.forget()
    revocations.check()
  }
  return {
    session: sessions.get,
    forget,
    onRevoked: revocations.watch,
    /** Returns whether a token is valid; the operator's token, which `tokenOf` returns, always is. */
    isValid,
    tokenOf: (request: Request, token: string | undefined): string =>
      operators?.nameOf(request) === undefined ? (token ?? '') : operatorsToken,

    isOperators: (request: Request): boolean => operators?.nameOf(request) !== undefined,
    /**
     * Returns the operator's session, with the rights of an administrator, in an account or in none.
     * @throws Fault 404 for an unknown account.
     */
    async operatorSession(account?: string): Promise<Session> {
      const accountId = account === undefined ? NO_ACCOUNT : await accountIdOf(accounts, account)
      const user = { id: 0, accountId, type: USER_TYPES.ADMIN, name: 'command line', email: '', createdUs: 0 }
      return { user, name: null, calls: true, pop: false, extension: null, tokenHash: '', lastUsedUs: null }
    },

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

    /**
     * Chooses the password of the user to whom a link was given, and logs the user in.
     * @returns a new token.
     * @throws Fault 401, the same for a code that is wrong, used or expired; 429 after too many wrong codes.
     */
    async welcome({ code, password }: Welcome, client: RequestClient): Promise<string> {
      const codeHash = isCode(code) ? hashOfCode(code) : ''
      const token = await limits.attempt([{ key: `welcome ${client.network}`, limit: PAIR_LIMIT }], async () => {
        const invited = await accounts.userGetInvited({ codeHash, atUs: now() })
        if (invited === undefined) return undefined
        const passwordHash = await passwords.hash(password, { network: client.network, user: invited.email })
        const fresh = newToken()
        const chosen = { codeHash, passwordHash, tokenHash: hashOf(fresh), client: client.program, atUs: now() }
        const user = await accounts.userWelcome(chosen)
        if (user !== undefined) await note('user_welcomed', { user, client })
        return user && fresh
      })
      if (token === undefined)
        throw new Fault('unauthenticated', 'The link is wrong, was used, or has expired. Ask for a new one.')
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

/** Returns the id of an account, whatever the spelling of its name. @throws Fault 404 for an unknown account. */
async function accountIdOf(accounts: Store['accounts'], name: string): Promise<number> {
  const accountId = await accounts.accountGetId(spellingOf(name, await accounts.accountList()))
  if (accountId === undefined) throw new Fault('not_found', `There is no account ${name}.`)
  return accountId
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
