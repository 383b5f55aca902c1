import { and, asc, count, desc, eq, ne, sql } from 'drizzle-orm'
import type {
  AccountStore,
  NewNamedToken,
  NewToken,
  NewUser,
  OperatorAct,
  PasswordChange,
} from '../operations/accounts.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { accounts, operatorActs, tokens, users } from './engine/schema.ts'

const user = {
  id: users.id,
  accountId: users.accountId,
  type: users.type,
  name: users.name,
  email: users.email,
  createdUs: users.createdAt,
}

/** Makes a user, and its account if that is new. The result is `undefined` if the e-mail address is taken. */
export const createUser = mutation('accounts.userCreate', (tx: Tx, fresh: NewUser): { id: number } | undefined => {
  if (tx.select({ id: users.id }).from(users).where(eq(users.email, fresh.email)).get() !== undefined) return undefined
  tx.insert(accounts).values({ name: fresh.account }).onConflictDoNothing().run()
  const account = tx.select({ id: accounts.id }).from(accounts).where(eq(accounts.name, fresh.account)).get()
  if (account === undefined) throw new Error('the account was just made')
  const { type, name, email, passwordHash, atUs } = fresh
  const row = { accountId: account.id, type, name, email, passwordHash, createdAt: atUs }
  return tx.insert(users).values(row).returning({ id: users.id }).get()
})

/** Adds a token, but not if the user is gone or its password was changed since it was checked. */
export const addToken = mutation('accounts.tokenAddIfPasswordUnchanged', (tx: Tx, fresh: NewToken): boolean => {
  const known = and(eq(users.id, fresh.userId), eq(users.passwordHash, fresh.passwordHash))
  if (tx.select({ id: users.id }).from(users).where(known).get() === undefined) return false
  insertToken(tx, fresh)
  return true
})

function insertToken(tx: Tx, { tokenHash: hash, userId, client = null, atUs }: NewToken): void {
  tx.insert(tokens).values({ hash, userId, client, createdAt: atUs }).run()
}

/** Replaces the password that was checked and adds a token; false if it is not that password any more. */
export const changePassword = mutation(
  'accounts.userChangePasswordIfUnchanged',
  (tx: Tx, change: PasswordChange): boolean => {
    const known = and(eq(users.id, change.userId), eq(users.passwordHash, change.passwordHash))
    const changed = tx
      .update(users)
      .set({ passwordHash: change.newPasswordHash })
      .where(known)
      .returning({ id: users.id })
    if (changed.get() === undefined) return false
    insertToken(tx, change)
    if (change.revokeOthers)
      tx.delete(tokens)
        .where(and(eq(tokens.userId, change.userId), ne(tokens.hash, change.tokenHash)))
        .run()
    return true
  },
)

/** The operator's change: no old password. False if there is no such user. */
export const setPassword = mutation(
  'accounts.userSetPassword',
  (tx: Tx, set: { email: string; passwordHash: string }): boolean => {
    const { email, passwordHash } = set
    return (
      tx.update(users).set({ passwordHash }).where(eq(users.email, email)).returning({ id: users.id }).get() !==
      undefined
    )
  },
)

/** Changes the type of a user. False if there is no such user. */
export const setType = mutation('accounts.userSetType', (tx: Tx, set: { email: string; type: number }): boolean => {
  const changed = tx.update(users).set({ type: set.type }).where(eq(users.email, set.email))
  return changed.returning({ id: users.id }).get() !== undefined
})

export const removeUser = mutation('accounts.userDelete', (tx: Tx, email: string): boolean => {
  const found = tx.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (found === undefined) return false
  tx.delete(tokens).where(eq(tokens.userId, found.id)).run()
  tx.delete(users).where(eq(users.id, found.id)).run()
  return true
})

export const removeToken = mutation('accounts.tokenDelete', (tx: Tx, tokenHash: string): void => {
  tx.delete(tokens).where(eq(tokens.hash, tokenHash)).run()
})

/** Removes every token of a user. The result is how many, `undefined` if there is no such user. */
export const removeTokens = mutation('accounts.tokenDeleteOfUser', (tx: Tx, email: string): number | undefined => {
  const found = tx.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (found === undefined) return undefined
  return tx.delete(tokens).where(eq(tokens.userId, found.id)).returning({ hash: tokens.hash }).all().length
})

/** Adds a named token. False, and nothing is added, if the token that asks for it was revoked meanwhile. */
export const addNamedToken = mutation('accounts.tokenAddNamed', (tx: Tx, fresh: NewNamedToken): boolean => {
  const { userId, name, tokenHash: hash, madeWith, atUs } = fresh
  if (tx.select({ hash: tokens.hash }).from(tokens).where(eq(tokens.hash, madeWith)).get() === undefined) return false
  tx.insert(tokens).values({ hash, userId, name, createdAt: atUs }).run()
  return true
})

/** Removes the tokens of a user whose hash begins with `id`, which one does at most. False if there is none. */
export const removeOwnToken = mutation(
  'accounts.tokenDeleteOwn',
  (tx: Tx, { userId, id }: { userId: number; id: string }): boolean => {
    const own = and(eq(tokens.userId, userId), eq(sql`substr(${tokens.hash}, 1, ${id.length})`, id))
    return tx.delete(tokens).where(own).returning({ hash: tokens.hash }).all().length > 0
  },
)

/** Notes when a token was used. */
export const setTokenUsed = mutation(
  'accounts.tokenSetUsed',
  (tx: Tx, used: { tokenHash: string; atUs: number }): void => {
    tx.update(tokens).set({ lastUsedAt: used.atUs }).where(eq(tokens.hash, used.tokenHash)).run()
  },
)

export const addOperatorAct = mutation('accounts.operatorActAdd', (tx: Tx, { atUs: at, ...act }: OperatorAct): void => {
  tx.insert(operatorActs)
    .values({ ...act, at })
    .run()
})

export const takeOperatorActs = mutation('accounts.operatorActTake', (tx: Tx, _args: null): OperatorAct[] => {
  const acts = tx.delete(operatorActs).returning().all()
  return acts
    .toSorted((one, other) => one.id - other.id)
    .map(({ event, email, account, facts, by, at: atUs }) => ({ event, email, account, facts, by, atUs }))
})

/** Creates the account operations of the engine: accounts, users, tokens. */
export function createAccountStore(db: Database): AccountStore {
  const { read, commit } = db
  return {
    userCreate: (fresh) => commit(createUser, fresh),
    async userList() {
      const rows = read.select({ ...user, account: accounts.name }).from(users)
      return rows.innerJoin(accounts, eq(accounts.id, users.accountId)).orderBy(asc(users.id)).all()
    },
    userCount: async () => read.select({ count: count() }).from(users).get()?.count ?? 0,
    userGetByToken: async (tokenHash) =>
      read
        .select({ user, lastUsedUs: tokens.lastUsedAt })
        .from(tokens)
        .innerJoin(users, eq(users.id, tokens.userId))
        .where(eq(tokens.hash, tokenHash))
        .get(),
    userGetPassword: async (email) =>
      read
        .select({ ...user, passwordHash: users.passwordHash })
        .from(users)
        .where(eq(users.email, email))
        .get(),
    userSetPassword: (change) => commit(setPassword, change),
    userSetType: (change) => commit(setType, change),
    userChangePasswordIfUnchanged: (change) => commit(changePassword, change),
    userDelete: (email) => commit(removeUser, email),
    tokenAddIfPasswordUnchanged: (token) => commit(addToken, token),
    tokenAddNamed: (token) => commit(addNamedToken, token),
    tokenSetUsed: (used) => commit(setTokenUsed, used),
    async tokenList(userId, limit) {
      const { hash, name, client, createdAt: createdUs, lastUsedAt: lastUsedUs } = tokens
      return read
        .select({ hash, name, client, createdUs, lastUsedUs })
        .from(tokens)
        .where(eq(tokens.userId, userId))
        .orderBy(desc(sql`ifnull(${lastUsedUs}, ${createdUs})`))
        .limit(limit)
        .all()
    },
    tokenDeleteOwn: (own) => commit(removeOwnToken, own),
    tokenDelete: (tokenHash) => commit(removeToken, tokenHash),
    tokenDeleteOfUser: (email) => commit(removeTokens, email),
    operatorActAdd: (act) => commit(addOperatorAct, act),
    async operatorActTake() {
      // It is asked after every change by another process: only when there is something is anything written.
      const isAny = read.select({ id: operatorActs.id }).from(operatorActs).limit(1).get() !== undefined
      return isAny ? commit(takeOperatorActs, null) : []
    },
    accountGetId: async (name) =>
      read.select({ id: accounts.id }).from(accounts).where(eq(accounts.name, name)).get()?.id,
    accountList: async () =>
      read.select({ id: accounts.id, name: accounts.name }).from(accounts).orderBy(asc(accounts.id)).all(),
    accountGetName: async (id) =>
      read.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, id)).get()?.name,
  }
}
