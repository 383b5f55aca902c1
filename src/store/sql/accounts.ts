import { sql } from 'drizzle-orm'
import { comparedText } from '../../lib/text.ts'
import { spellingOf } from '../account-spelling.ts'
import type {
  AccountRecord,
  AccountStore,
  NewTokenRecord,
  NewUser,
  OperatorAct,
  PasswordChange,
  TokenRecord,
  UserOfToken,
  UserRecord,
} from '../operations/accounts.ts'
import { addToAudit } from './audit.ts'
import { type Declarations, read, write } from './operation.ts'
import { all, count, exists, first, forShare, forUpdate, run, type Work } from './statement.ts'

const USER = sql`u.id, u.account_id AS "accountId", u.type, u.name, u.email, u.created_at AS "createdUs"`
const ALL_ACCOUNTS = sql`SELECT id, name FROM accounts ORDER BY id`

const ASCII = /^[ -~]*$/

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
  atUs,
}: NewUser): Work<{ id: number; account: string } | undefined> {
  // One at a time: of two spellings of a new account the second has to find the first.
  yield* run(sql`SELECT 1 FROM public_ids ${forUpdate}`)
  if (yield* isTaken(email)) return undefined
  const account = spellingOf(wanted, yield* all<AccountRecord>(ALL_ACCOUNTS))
  yield* run(sql`
    INSERT INTO accounts (name) SELECT ${account} WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = ${account})`)
  const created = yield* first<{ id: number }>(sql`
    INSERT INTO users (account_id, type, name, email, password_hash, created_at)
    SELECT id, ${type}, ${name}, ${email}, ${passwordHash}, ${atUs} FROM accounts WHERE name = ${account} RETURNING id`)
  return created && { id: created.id, account }
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

function* changePassword(change: PasswordChange): Work<boolean> {
  const { userId, newPasswordHash, revokeOthers, tokenHash } = change
  if (!(yield* addToken(change))) return false
  yield* run(sql`UPDATE users SET password_hash = ${newPasswordHash} WHERE id = ${userId}`)
  if (revokeOthers) yield* run(sql`DELETE FROM tokens WHERE user_id = ${userId} AND hash <> ${tokenHash}`)
  return true
}

function* deleteTokensOfUser(email: string): Work<number | undefined> {
  const user = yield* first<{ id: number }>(sql`SELECT id FROM users WHERE email = ${email} ${forUpdate}`)
  if (user === undefined) return undefined
  return yield* count(sql`DELETE FROM tokens WHERE user_id = ${user.id} RETURNING 1`)
}

function* getByToken(tokenHash: string): Work<UserOfToken | undefined> {
  // SQLite has no booleans.
  type Found = UserRecord & { lastUsedUs: number | null; tokenName: string | null; calls: number | boolean }
  const row = yield* first<Found>(sql`
    SELECT ${USER}, t.last_used_at AS "lastUsedUs", t.name AS "tokenName", t.calls
    FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = ${tokenHash}`)
  if (row === undefined) return undefined
  const { lastUsedUs, tokenName, calls, ...user } = row
  return { user, name: tokenName, calls: Boolean(calls), lastUsedUs }
}

function* listTokens(userId: number, limit: number): Work<TokenRecord[]> {
  const rows = yield* all<Omit<TokenRecord, 'calls'> & { calls: number | boolean }>(sql`
    SELECT hash, name, calls, client, created_at AS "createdUs", last_used_at AS "lastUsedUs" FROM tokens
    WHERE user_id = ${userId} ORDER BY coalesce(last_used_at, created_at) DESC LIMIT ${limit}`)
  return rows.map((row) => ({ ...row, calls: Boolean(row.calls) }))
}

function* takeOperatorActs(): Work<OperatorAct[]> {
  const acts = yield* all<Omit<OperatorAct, 'facts'> & { id: number; facts: string | null }>(sql`
    DELETE FROM operator_acts RETURNING id, event, email, account, facts, by, at AS "atUs"`)
  return acts
    .toSorted((one, other) => one.id - other.id)
    .map(({ id: _, facts, ...act }) => ({ ...act, facts: facts === null ? null : JSON.parse(facts) }))
}

function* addOperatorAct({ atUs, event, email, account, by, facts }: OperatorAct): Work<void> {
  yield* run(addToAudit({ atUs, action: event, account, user: null, by, address: null, subject: email, facts }))
  yield* run(sql`
    INSERT INTO operator_acts (at, event, email, account, by, facts)
    VALUES (${atUs}, ${event}, ${email}, ${account}, ${by}, ${facts === null ? null : JSON.stringify(facts)})`)
}

/** The operations on accounts, users and tokens. */
export const ACCOUNTS: Declarations<AccountStore> = {
  userCreate: write(createUser),
  userList: read(() =>
    all<UserRecord & { account: string }>(
      sql`SELECT ${USER}, a.name AS account FROM users u JOIN accounts a ON a.id = u.account_id ORDER BY u.id`,
    ),
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
  userSetPassword: write(({ email, passwordHash }) =>
    exists(sql`UPDATE users SET password_hash = ${passwordHash} WHERE email = ${email} RETURNING 1`),
  ),
  userSetType: write(({ email, type }) =>
    exists(sql`UPDATE users SET type = ${type} WHERE email = ${email} RETURNING 1`),
  ),
  userChangePasswordIfUnchanged: write(changePassword),
  // The tokens of a user go with it: they refer to it.
  userDelete: write((email) => exists(sql`DELETE FROM users WHERE email = ${email} RETURNING 1`)),
  tokenAddIfPasswordUnchanged: write(addToken),
  tokenAddNamed: write(({ userId, name, calls, tokenHash, madeWith, atUs }) =>
    exists(sql`
      INSERT INTO tokens (hash, user_id, name, calls, created_at)
      SELECT ${tokenHash}, ${userId}, ${name}, ${calls}, ${atUs}
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
  operatorActAdd: write(addOperatorAct),
  // It runs after every change by another process, nearly always in vain.
  operatorActTake: write(takeOperatorActs, {
    isQuiet: true,
    onlyIf: { work: () => exists(sql`SELECT 1 FROM operator_acts LIMIT 1`), otherwise: [] },
  }),
  accountGetId: read(function* (name) {
    return (yield* first<{ id: number }>(sql`SELECT id FROM accounts WHERE name = ${name}`))?.id
  }),
  accountList: read(() => all<AccountRecord>(ALL_ACCOUNTS)),
  accountGetName: read(function* (id) {
    return (yield* first<{ name: string }>(sql`SELECT name FROM accounts WHERE id = ${id}`))?.name
  }),
}
