import { INVALID } from '../http/validation.ts'
import { accountKey } from '../lib/account-key.ts'
import { Fault, type FieldError } from '../lib/fault.ts'
import { comparedText } from '../lib/text.ts'
import { type NowUs, nowUs, rfc3339, SECOND } from '../lib/time.ts'
import { type ListedUser, NO_PASSWORD, USER_TYPES } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'
import type { TurnSource } from './fair-turns.ts'
import { hashOfCode, newCode } from './invitation.ts'
import { emailProblem, normalEmail, type TokenInfo } from './model.ts'
import type { Passwords } from './password.ts'
import {
  type Account,
  accountProblem,
  type NewUser,
  shownUser,
  type User,
  type UserChanges,
  type UserWithLink,
} from './people-model.ts'
import { tokenInfo } from './token-service.ts'

/** How long a link is valid: over a weekend. */
const LINK_US = 3 * 86_400 * SECOND
const MAX_TOKENS = 200
const DEFAULT_ACCOUNT = 'default'

export type People = ReturnType<typeof createPeople>

type Dependencies = {
  readonly store: Pick<Store, 'accounts' | 'pbxs'>
  readonly passwords: Passwords
  /** Returns the account to which all calls of a PBX belong, if there is one; a URL may name none. */
  readonly accountOfPbx: (url: string, byDefault: string) => string | undefined
  /** Called after users or their tokens changed, to empty the cache of sessions. */
  readonly onChanged: () => void
  /** Called after a user was added: perhaps with an account, whose calls are followed from now on. */
  readonly onAdded?: () => void
  readonly now?: NowUs
}

/** Who asks for a hash of a password, and the address that links begin with; `undefined`: no address is known. */
type Asking = { readonly source: TurnSource; readonly base: string | undefined }

/** Creates the service by which administrators manage accounts and users. */
export function createPeople({ store, passwords, accountOfPbx, onChanged, onAdded, now = nowUs }: Dependencies) {
  const { accounts, pbxs } = store

  /** @throws Fault 404 if there is no such user. */
  async function find(id: number): Promise<ListedUser> {
    const user = (await accounts.userList()).find((one) => one.id === id)
    if (user === undefined) throw unknown()
    return user
  }
  const shown = async (id: number): Promise<User> => shownUser(await find(id), now())

  return {
    /** Returns all accounts in order of name. */
    async accounts(): Promise<Account[]> {
      const owners = (await pbxs.pbxList()).map(({ url }) =>
        url === null ? undefined : accountOfPbx(url, DEFAULT_ACCOUNT),
      )
      const ofAccounts = Map.groupBy(owners, (name) => (name === undefined ? undefined : accountKey(name)))
      const listed = (await accounts.accountListWithCounts()).map(({ name, users, webhooks, createdUs }) => ({
        name,
        users,
        webhooks,
        pbxs: ofAccounts.get(accountKey(name))?.length ?? 0,
        created_at: rfc3339(createdUs),
      }))
      return listed.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    },

    /** Returns all users, or those of an account, in id order. */
    async users(account?: string): Promise<User[]> {
      const all = await accounts.userList()
      const wanted = account === undefined ? all : all.filter((one) => accountKey(one.account) === accountKey(account))
      return wanted.map((one) => shownUser(one, now()))
    },

    find,

    /**
     * Adds a user; without a password, with a link to choose one.
     * @throws Fault 409 if the e-mail address is taken; 422 without an address for the link.
     */
    async add(wanted: NewUser, { source, base }: Asking): Promise<UserWithLink> {
      const { name, type = 'USER', password } = wanted
      const email = normalEmail(wanted.email)
      const account = comparedText((wanted.account ?? DEFAULT_ACCOUNT).trim())
      const link = password === undefined ? newLink(base) : undefined
      const passwordHash = password === undefined ? NO_PASSWORD : await passwords.hash(password, source)
      const invitation = link && { codeHash: link.codeHash, untilUs: now() + LINK_US }
      const fresh = { account, type: USER_TYPES[type], name: name.trim(), email, passwordHash, invitation, atUs: now() }
      const made = await accounts.userCreate(fresh)
      if (made === undefined)
        throw new Fault('conflict', `${email} exists already: change that user, or give another address.`)
      onAdded?.()
      return { ...(await shown(made.id)), ...(link && { link: link.url }) }
    },

    /** Changes a user. @throws Fault 404; 409 if nobody else is an administrator; 422 for an unknown account. */
    async change(id: number, changes: UserChanges, source: TurnSource): Promise<User> {
      const { name, type, account, password } = changes
      const passwordHash = password === undefined ? undefined : await passwords.hash(password, source)
      const changed = await accounts.userUpdate({
        id,
        name: name?.trim(),
        type: type && USER_TYPES[type],
        account: account && comparedText(account.trim()),
        passwordHash,
      })
      if (changed === 'unknown') throw unknown()
      if (changed === 'last') throw last()
      if (changed === 'unknown_account') throw noAccount()
      onChanged()
      return await shown(id)
    },

    /** Removes a user and all its tokens. @throws Fault 404; 409 if nobody else is an administrator. */
    async remove(id: number): Promise<void> {
      const removed = await accounts.userDelete(id)
      if (removed === 'unknown') throw unknown()
      if (removed === 'last') throw last()
      onChanged()
    },

    /** Revokes all tokens of a user. @throws Fault 404. */
    async logOut(id: number): Promise<number> {
      const count = await accounts.tokenDeleteOfUser(id)
      if (count === undefined) throw unknown()
      onChanged()
      return count
    },

    /** Makes a link for a new password; an earlier one becomes void. @throws Fault 404; 422 without an address. */
    async link(id: number, base: string | undefined): Promise<UserWithLink> {
      const { url, codeHash } = newLink(base)
      if (!(await accounts.userInvite({ id, codeHash, untilUs: now() + LINK_US }))) throw unknown()
      return { ...(await shown(id)), link: url }
    },

    /** Returns the tokens of a user, most recently used first. @throws Fault 404. */
    async tokens(id: number): Promise<TokenInfo[]> {
      await find(id)
      return (await accounts.tokenList(id, MAX_TOKENS)).map((row) => tokenInfo(row, undefined))
    },

    /** Revokes one token of a user. @throws Fault 404. */
    async revoke(id: number, token: string): Promise<void> {
      if (!/^[0-9a-f]{16}$/.test(token) || !(await accounts.tokenDeleteOwn({ userId: id, id: token })))
        throw new Fault('not_found', 'The user has no token with this id: GET /user/{id}/token lists them.')
      onChanged()
    },
  }
}

const unknown = () => new Fault('not_found', 'There is no user with this id: GET /user lists them.')
const last = () =>
  new Fault('conflict', 'This is the last administrator: make another user an administrator first, then try again.')

const noAccount = () =>
  new Fault('invalid', INVALID, {
    errors: [
      { path: '/account', message: 'is no account: GET /account lists them, and a new one is made by its first user' },
    ],
  })

/** @throws Fault 422 where no address is known for the link. */
function newLink(base: string | undefined): { readonly url: string; readonly codeHash: string } {
  if (base === undefined)
    throw new Fault(
      'invalid',
      'A link needs the address of the service: give --public-url, or run this beside the service.',
      { errors: [{ path: '', message: 'no address is known for the link' }] },
    )
  const code = newCode()
  return { url: `${base.replace(/\/$/, '')}/#welcome=${code}`, codeHash: hashOfCode(code) }
}

/** Checks the rules for users that the schema cannot express: the e-mail address, and the name of the account. */
export function userRule(body: unknown): FieldError[] {
  if (typeof body !== 'object' || body === null) return []
  const text = (field: string): string | undefined => {
    const value: unknown = Reflect.get(body, field)
    return typeof value === 'string' ? value : undefined
  }
  const [email, account] = [text('email'), text('account')]
  const problems: readonly (readonly [string, string | undefined])[] = [
    ['/email', email === undefined ? undefined : emailProblem(email)],
    ['/account', account === undefined ? undefined : accountProblem(comparedText(account.trim()))],
  ]
  return problems.flatMap(([path, message]) => (message === undefined ? [] : { path, message }))
}
