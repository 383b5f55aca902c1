import { type SQL, sql } from 'drizzle-orm'
import { comparedText } from '../../lib/text.ts'
import { spellingOf } from '../account-spelling.ts'
import {
  type AccountRecord,
  type AccountStore,
  type AccountWithCounts,
  type ListedUser,
  type NewTokenRecord,
  type NewUser,
  NO_PASSWORD,
  type PasswordChange,
  type TokenRecord,
  type TokenRights,
  USER_TYPES,
  type UserChange,
  type UserOfToken,
  type UserRecord,
} from '../operations/accounts.ts'
import { type Declarations, read, write } from './operation.ts'
import {
  all,
  among,
  count,
  exists,
  first,
  forShare,
  forUpdate,
  forUpdateOf,
  run,
  texts,
  type Work,
} from './statement.ts'

const USER = sql`u.id, u.account_id AS "accountId", u.type, u.name, u.email, u.created_at AS "createdUs"`
const ALL_ACCOUNTS = sql`SELECT id, name FROM accounts ORDER BY id`

const ASCII = /^[ -~]*$/
const { ADMIN } = USER_TYPES

/** An earlier version stored addresses as they were typed: an accent may stand apart from its letter. */
function* isTaken(email: string): Work<boolean> {
  if (ASCII.test(email)) return yield* exists(sql`SELECT 1 FROM users WHERE email = ${email}`)
  const users = yield* all<{ email: string }>(sql`SELECT email FROM users`)
  return users.some((one) => comparedText(one.email) === comparedText(email))
}

function* createUser({
  account: wanted,
  type,
  name,
  email,
  passwordHash,
  invitation,
  atUs,
}: NewUser): Work<{ id: number; account: string } | undefined> {
  yield* run(ONE_AT_A_TIME)
  if (yield* isTaken(email)) return undefined
  const account = yield* ensureAccount(wanted, atUs)
  const created = yield* first<{ id: number }>(sql`
    INSERT INTO users (account_id, type, name, email, password_hash, created_at, invitation, invited_until)
    SELECT id, ${type}, ${name}, ${email}, ${passwordHash}, ${atUs}, ${invitation?.codeHash ?? null},
      ${invitation?.untilUs ?? null}
    FROM accounts WHERE name = ${account} RETURNING id`)
  return created && { id: created.id, account }
}

/**
 * Of two spellings of a new account the second has to find the first, and of two administrators who demote each other
 * the second has to find one administrator.
 */
const ONE_AT_A_TIME = sql`SELECT 1 FROM public_ids ${forUpdate}`

/** Returns how an account is spelt; a new one is created. */
function* ensureAccount(wanted: string, atUs: number): Work<string> {
  const account = spellingOf(wanted, yield* all<AccountRecord>(ALL_ACCOUNTS))
  yield* run(sql`
    INSERT INTO accounts (name, created_at)
    SELECT ${account}, ${atUs} WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = ${account})`)
  return account
}

/** Returns the id of the account of this name, in any case. */
function* findAccount(wanted: string): Work<number | undefined> {
  const accounts = yield* all<AccountRecord>(ALL_ACCOUNTS)
  const account = spellingOf(wanted, accounts)
  return accounts.find(({ name }) => name === account)?.id
}

/** Returns whether no other user is an administrator who can log in. */
function* isLastAdmin({ type, passwordHash, id }: UserRecord & { passwordHash: string }): Work<boolean> {
  if (type !== ADMIN || passwordHash === NO_PASSWORD) return false
  return !(yield* exists(sql`
    SELECT 1 FROM users WHERE type = ${ADMIN} AND password_hash <> ${NO_PASSWORD} AND id <> ${id} LIMIT 1`))
}

const userOf = (id: number): Work<(UserRecord & { passwordHash: string }) | undefined> =>
  first(sql`SELECT ${USER}, u.password_hash AS "passwordHash" FROM users u WHERE u.id = ${id}`)

function* updateUser(change: UserChange): Work<'updated' | 'unknown' | 'unknown_account' | 'last'> {
  const { id, name, type, account, passwordHash } = change
  yield* run(ONE_AT_A_TIME)
  const before = yield* userOf(id)
  if (before === undefined) return 'unknown'
  if (type !== undefined && type !== ADMIN && (yield* isLastAdmin(before))) return 'last'
  const next = account === undefined ? undefined : yield* findAccount(account)
  if (account !== undefined && next === undefined) return 'unknown_account'
  if (name !== undefined) yield* run(sql`UPDATE users SET name = ${name} WHERE id = ${id}`)
  if (type !== undefined) yield* run(sql`UPDATE users SET type = ${type} WHERE id = ${id}`)
  if (passwordHash !== undefined)
    yield* run(sql`
      UPDATE users SET password_hash = ${passwordHash}, invitation = NULL, invited_until = NULL WHERE id = ${id}`)
  if (next !== undefined) yield* moveUser(id, next)
  return 'updated'
}

/** A session goes with its user; an API token was made for a program of the account. */
function* moveUser(id: number, accountId: number): Work<void> {
  const hasMoved = yield* exists(sql`
    UPDATE users SET account_id = ${accountId} WHERE id = ${id} AND account_id <> ${accountId} RETURNING 1`)
  if (hasMoved) yield* run(sql`DELETE FROM tokens WHERE user_id = ${id} AND name IS NOT NULL`)
}

function* deleteUser(id: number): Work<'deleted' | 'unknown' | 'last'> {
  yield* run(ONE_AT_A_TIME)
  const before = yield* userOf(id)
  if (before === undefined) return 'unknown'
  if (yield* isLastAdmin(before)) return 'last'
  // The tokens of a user go with it: they refer to it.
  yield* run(sql`DELETE FROM users WHERE id = ${id}`)
  return 'deleted'
}

type Code = { readonly codeHash: string; readonly atUs: number }

const hasInvitation = ({ codeHash, atUs }: Code): SQL => sql`invitation = ${codeHash} AND invited_until > ${atUs}`

function* welcome(given: Parameters<AccountStore['userWelcome']>[0]): Work<UserRecord | undefined> {
  const { passwordHash, tokenHash, client, atUs } = given
  const user = yield* first<UserRecord>(
    sql`SELECT ${USER} FROM users u WHERE ${hasInvitation(given)} ${forUpdateOf('u')}`,
  )
  if (user === undefined) return undefined
  yield* run(sql`
    UPDATE users SET password_hash = ${passwordHash}, invitation = NULL, invited_until = NULL, last_login_at = ${atUs}
    WHERE id = ${user.id}`)
  yield* run(sql`
    INSERT INTO tokens (hash, user_id, client, created_at) VALUES (${tokenHash}, ${user.id}, ${client}, ${atUs})`)
  return user
}

/** The user's row stays as it is until the transaction ends. */
const isPassword = (userId: number, passwordHash: string): Work<boolean> =>
  exists(sql`SELECT 1 FROM users WHERE id = ${userId} AND password_hash = ${passwordHash} ${forUpdate}`)

function* addToken({ userId, passwordHash, tokenHash, client = null, atUs }: NewTokenRecord): Work<boolean> {
  if (!(yield* isPassword(userId, passwordHash))) return false
  yield* run(sql`
    INSERT INTO tokens (hash, user_id, client, created_at) VALUES (${tokenHash}, ${userId}, ${client}, ${atUs})`)
  return true
}

function* logIn(token: NewTokenRecord): Work<boolean> {
  const isAdded = yield* addToken(token)
  if (isAdded) yield* run(sql`UPDATE users SET last_login_at = ${token.atUs} WHERE id = ${token.userId}`)
  return isAdded
}

function* changePassword(change: PasswordChange): Work<boolean> {
  const { userId, newPasswordHash, revokeOthers, tokenHash } = change
  if (!(yield* addToken(change))) return false
  yield* run(sql`UPDATE users SET password_hash = ${newPasswordHash} WHERE id = ${userId}`)
  if (revokeOthers) yield* run(sql`DELETE FROM tokens WHERE user_id = ${userId} AND hash <> ${tokenHash}`)
  return true
}

function* deleteTokensOfUser(id: number): Work<number | undefined> {
  if (!(yield* exists(sql`SELECT 1 FROM users WHERE id = ${id} ${forUpdate}`))) return undefined
  return yield* count(sql`DELETE FROM tokens WHERE user_id = ${id} RETURNING 1`)
}

/** SQLite has no booleans. */
type StoredRights = Pick<TokenRights, 'extension'> & { calls: number | boolean; pop: number | boolean }

type TokenFacts = { tokenHash: string; lastUsedUs: number | null; tokenName: string | null }

function* getByToken(...tokenHashes: string[]): Work<UserOfToken | undefined> {
  const row = yield* first<UserRecord & StoredRights & TokenFacts>(sql`
    SELECT ${USER}, t.hash AS "tokenHash", t.last_used_at AS "lastUsedUs", t.name AS "tokenName", t.calls, t.pop,
      t.extension
    FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash ${among(texts(tokenHashes))}`)
  if (row === undefined) return undefined
  const { tokenHash, lastUsedUs, tokenName, calls, pop, extension, ...user } = row
  return { user, tokenHash, name: tokenName, calls: Boolean(calls), pop: Boolean(pop), extension, lastUsedUs }
}

function* listTokens(userId: number, limit: number): Work<TokenRecord[]> {
  const rows = yield* all<Omit<TokenRecord, keyof TokenRights> & StoredRights>(sql`
    SELECT hash, name, calls, pop, extension, client, created_at AS "createdUs", last_used_at AS "lastUsedUs" FROM tokens
    WHERE user_id = ${userId} ORDER BY coalesce(last_used_at, created_at) DESC LIMIT ${limit}`)
  return rows.map((row) => ({ ...row, calls: Boolean(row.calls), pop: Boolean(row.pop) }))
}

/** The operations on accounts, users and tokens. */
export const ACCOUNTS: Declarations<AccountStore> = {
  userCreate: write(createUser),
  userList: read(() =>
    all<ListedUser>(sql`
      SELECT ${USER}, a.name AS account, u.last_login_at AS "lastLoginUs", u.invited_until AS "invitedUntilUs"
      FROM users u JOIN accounts a ON a.id = u.account_id ORDER BY u.id`),
  ),
  userCount: read(function* () {
    return (yield* first<{ count: number }>(sql`SELECT count(*) AS count FROM users`))?.count ?? 0
  }),
  userGetByToken: read(getByToken),
  userGetPassword: read((email) =>
    first<UserRecord & { passwordHash: string }>(
      sql`SELECT ${USER}, u.password_hash AS "passwordHash" FROM users u WHERE u.email = ${email}`,
    ),
  ),
  userUpdate: write(updateUser),
  userInvite: write(({ id, codeHash, untilUs }) =>
    exists(sql`UPDATE users SET invitation = ${codeHash}, invited_until = ${untilUs} WHERE id = ${id} RETURNING 1`),
  ),
  userGetInvited: read((code) => first<UserRecord>(sql`SELECT ${USER} FROM users u WHERE ${hasInvitation(code)}`)),
  userWelcome: write(welcome),
  userChangePasswordIfUnchanged: write(changePassword),
  userDelete: write(deleteUser),
  tokenAddIfPasswordUnchanged: write(logIn),
  tokenAddNamed: write(({ userId, name, calls, pop, extension, tokenHash, madeWith, atUs }) =>
    exists(sql`
      INSERT INTO tokens (hash, user_id, name, calls, pop, extension, created_at)
      SELECT ${tokenHash}, ${userId}, ${name}, ${calls}, ${pop}, ${extension}, ${atUs}
      WHERE EXISTS (SELECT 1 FROM tokens WHERE hash = ${madeWith} ${forShare}) RETURNING 1`),
  ),
  tokenList: read(listTokens),
  tokenSetUsed: write(
    ({ tokenHash, atUs }) => run(sql`UPDATE tokens SET last_used_at = ${atUs} WHERE hash = ${tokenHash}`),
    { isQuiet: true },
  ),
  tokenDeleteOwn: write(({ userId, id }) =>
    exists(sql`DELETE FROM tokens WHERE user_id = ${userId} AND substr(hash, 1, length(${id})) = ${id} RETURNING 1`),
  ),
  tokenDelete: write((tokenHash) => run(sql`DELETE FROM tokens WHERE hash = ${tokenHash}`)),
  tokenDeleteOfUser: write(deleteTokensOfUser),
  accountGetId: read(function* (name) {
    return (yield* first<{ id: number }>(sql`SELECT id FROM accounts WHERE name = ${name}`))?.id
  }),
  accountList: read(() => all<AccountRecord>(ALL_ACCOUNTS)),
  accountListWithCounts: read(() =>
    all<AccountWithCounts>(sql`
      SELECT a.id, a.name, (SELECT count(*) FROM users u WHERE u.account_id = a.id) AS users,
        (SELECT count(*) FROM webhooks w WHERE w.account_id = a.id AND w.position IS NOT NULL) AS webhooks,
        coalesce(a.created_at, (SELECT min(u.created_at) FROM users u WHERE u.account_id = a.id), 0) AS "createdUs"
      FROM accounts a ORDER BY a.id`),
  ),
  accountGetName: read(function* (id) {
    return (yield* first<{ name: string }>(sql`SELECT name FROM accounts WHERE id = ${id}`))?.name
  }),
}
