import type {
  AccountRecord,
  AccountStore,
  NewToken,
  NewUser,
  OperatorAct,
  PasswordChange,
  TokenRecord,
  UserRecord,
} from '../operations/accounts.ts'
import type { Query } from './engine/client.ts'
import type { Database } from './engine/database.ts'

const USER = `u.id::float8 AS id, u.account_id::float8 AS "accountId", u.type, u.name, u.email, u.created_at::float8 AS "createdUs"`

async function createUser(query: Query, fresh: NewUser): Promise<{ id: number } | undefined> {
  const { account, type, name, email, passwordHash, atUs } = fresh
  const taken = await query('SELECT 1 AS one FROM users WHERE email = $1', [email])
  if (taken.length > 0) return undefined
  await query('INSERT INTO accounts (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = $1)', [
    account,
  ])
  const [made] = await query<{ id: number }>(
    `INSERT INTO users (account_id, type, name, email, password_hash, created_at)
     SELECT id, $2::int, $3, $4, $5, $6::bigint FROM accounts WHERE name = $1 RETURNING id::float8 AS id`,
    [account, type, name, email, passwordHash, atUs],
  )
  return made
}

/**
 * Adds a token unless the user is gone or its password was changed: the row stays as it is until the transaction ends.
 */
async function isPassword(query: Query, userId: number, passwordHash: string): Promise<boolean> {
  const found = await query('SELECT 1 AS one FROM users WHERE id = $1::bigint AND password_hash = $2 FOR UPDATE', [
    userId,
    passwordHash,
  ])
  return found.length > 0
}

async function addToken(query: Query, fresh: NewToken): Promise<boolean> {
  if (!(await isPassword(query, fresh.userId, fresh.passwordHash))) return false
  await query('INSERT INTO tokens (hash, user_id, client, created_at) VALUES ($1, $2::bigint, $3, $4::bigint)', [
    ...[fresh.tokenHash, fresh.userId, fresh.client ?? null, fresh.atUs],
  ])
  return true
}

async function changePassword(query: Query, change: PasswordChange): Promise<boolean> {
  if (!(await addToken(query, change))) return false
  await query('UPDATE users SET password_hash = $2 WHERE id = $1::bigint', [change.userId, change.newPasswordHash])
  if (change.revokeOthers)
    await query('DELETE FROM tokens WHERE user_id = $1::bigint AND hash <> $2', [change.userId, change.tokenHash])
  return true
}

async function removeTokens(query: Query, email: string): Promise<number | undefined> {
  const [user] = await query<{ id: number }>('SELECT id::float8 AS id FROM users WHERE email = $1 FOR UPDATE', [email])
  if (user === undefined) return undefined
  const gone = await query('DELETE FROM tokens WHERE user_id = $1::bigint RETURNING 1 AS one', [user.id])
  return gone.length
}

async function takeOperatorActs(query: Query): Promise<OperatorAct[]> {
  const acts = await query<Omit<OperatorAct, 'facts'> & { id: number; facts: string | null }>(
    'DELETE FROM operator_acts RETURNING id::float8 AS id, event, email, account, facts, by, at::float8 AS "atUs"',
  )
  return acts
    .toSorted((one, other) => one.id - other.id)
    .map(({ id: _, facts, ...act }) => ({ ...act, facts: facts === null ? null : JSON.parse(facts) }))
}

/** Runs one statement that returns a row for each that it touched. Returns whether there was one. */
const touches = async (query: Query, ...statement: Parameters<Query>): Promise<boolean> =>
  (await query(...statement)).length > 0

/** Creates the account operations of the engine: accounts, users, tokens. */
export function createAccountStore({ read, change, transaction }: Database): AccountStore {
  return {
    userCreate: (fresh) => change((query) => createUser(query, fresh)),
    userList: () =>
      read<UserRecord & { account: string }>(
        `SELECT ${USER}, a.name AS account FROM users u JOIN accounts a ON a.id = u.account_id ORDER BY u.id`,
      ),
    userCount: async () =>
      (await read<{ count: number }>('SELECT count(*)::float8 AS count FROM users'))[0]?.count ?? 0,
    async userGetByToken(tokenHash) {
      const [row] = await read<UserRecord & { lastUsedUs: number | null }>(
        `SELECT ${USER}, t.last_used_at::float8 AS "lastUsedUs" FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1`,
        [tokenHash],
      )
      if (row === undefined) return undefined
      const { lastUsedUs, ...user } = row
      return { user, lastUsedUs }
    },
    async userGetPassword(email) {
      const [row] = await read<UserRecord & { passwordHash: string }>(
        `SELECT ${USER}, u.password_hash AS "passwordHash" FROM users u WHERE u.email = $1`,
        [email],
      )
      return row
    },
    userSetPassword: ({ email, passwordHash }) =>
      change((query) =>
        touches(query, 'UPDATE users SET password_hash = $2 WHERE email = $1 RETURNING 1 AS one', [
          email,
          passwordHash,
        ]),
      ),
    userSetType: ({ email, type }) =>
      change((query) =>
        touches(query, 'UPDATE users SET type = $2::int WHERE email = $1 RETURNING 1 AS one', [email, type]),
      ),
    userChangePasswordIfUnchanged: (asked) => change((query) => changePassword(query, asked)),
    userDelete: (email) =>
      change((query) => touches(query, 'DELETE FROM users WHERE email = $1 RETURNING 1 AS one', [email])),
    ...tokenOperations({ read, change, transaction }),
    operatorActAdd: ({ event, email, account, facts, by, atUs }) =>
      change(async (query) => {
        await query(
          'INSERT INTO operator_acts (at, event, email, account, by, facts) VALUES ($1::bigint, $2, $3, $4, $5, $6)',
          [atUs, event, email, account, by, facts === null ? null : JSON.stringify(facts)],
        )
      }),
    async operatorActTake() {
      // It is asked after every change by another process: only when there is something is anything written.
      const some = await read('SELECT 1 AS one FROM operator_acts LIMIT 1')
      return some.length > 0 ? transaction(takeOperatorActs) : []
    },
    accountGetId: async (name) =>
      (await read<{ id: number }>('SELECT id::float8 AS id FROM accounts WHERE name = $1', [name]))[0]?.id,
    accountList: () => read<AccountRecord>('SELECT id::float8 AS id, name FROM accounts ORDER BY id'),
    accountGetName: async (id) =>
      (await read<{ name: string }>('SELECT name FROM accounts WHERE id = $1::bigint', [id]))[0]?.name,
  }
}

type TokenOperations = Pick<AccountStore, Extract<keyof AccountStore, `token${string}`>>

function tokenOperations({
  read,
  change,
  transaction,
}: Pick<Database, 'read' | 'change' | 'transaction'>): TokenOperations {
  return {
    tokenAddIfPasswordUnchanged: (token) => change((query) => addToken(query, token)),
    tokenAddNamed: ({ userId, name, tokenHash, madeWith, atUs }) =>
      change((query) =>
        touches(
          query,
          `INSERT INTO tokens (hash, user_id, name, created_at) SELECT $1, $2::bigint, $3, $4::bigint
           WHERE EXISTS (SELECT 1 FROM tokens WHERE hash = $5 FOR SHARE) RETURNING 1 AS one`,
          [tokenHash, userId, name, atUs, madeWith],
        ),
      ),
    tokenList: (userId, limit) =>
      read<TokenRecord>(
        `SELECT hash, name, client, created_at::float8 AS "createdUs", last_used_at::float8 AS "lastUsedUs" FROM tokens
         WHERE user_id = $1::bigint ORDER BY coalesce(last_used_at, created_at) DESC LIMIT $2::int`,
        [userId, limit],
      ),
    tokenSetUsed: ({ tokenHash, atUs }) =>
      transaction(async (query) => {
        await query('UPDATE tokens SET last_used_at = $2::bigint WHERE hash = $1', [tokenHash, atUs])
      }),
    tokenDeleteOwn: ({ userId, id }) =>
      change((query) =>
        touches(query, 'DELETE FROM tokens WHERE user_id = $1::bigint AND starts_with(hash, $2) RETURNING 1 AS one', [
          userId,
          id,
        ]),
      ),
    tokenDelete: (tokenHash) =>
      change(async (query) => {
        await query('DELETE FROM tokens WHERE hash = $1', [tokenHash])
      }),
    tokenDeleteOfUser: (email) => change((query) => removeTokens(query, email)),
  }
}
