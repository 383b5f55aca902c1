import { and, asc, count, desc, eq, ne, sql } from 'drizzle-orm'
import type { Database } from '../db/database.ts'
import { mutation, type Tx } from '../db/mutation.ts'
import { accounts, tokens, users } from '../db/schema.ts'
import type { User } from './model.ts'

const user = {
  id: users.id,
  accountId: users.accountId,
  type: users.type,
  name: users.name,
  email: users.email,
  createdUs: users.createdAt,
}

type NewUser = { account: string; type: number; name: string; email: string; passwordHash: string; atUs: number }

/** Makes a user, and its account if that is new. The result is `undefined` if the e-mail address is taken. */
export const createUser = mutation('auth.createUser', (tx: Tx, fresh: NewUser): { id: number } | undefined => {
  if (tx.select({ id: users.id }).from(users).where(eq(users.email, fresh.email)).get() !== undefined) return undefined
  tx.insert(accounts).values({ name: fresh.account }).onConflictDoNothing().run()
  const account = tx.select({ id: accounts.id }).from(accounts).where(eq(accounts.name, fresh.account)).get()
  if (account === undefined) throw new Error('the account was just made')
  const { type, name, email, passwordHash, atUs } = fresh
  const row = { accountId: account.id, type, name, email, passwordHash, createdAt: atUs }
  return tx.insert(users).values(row).returning({ id: users.id }).get()
})

type NewToken = { userId: number; passwordHash: string; tokenHash: string; client?: string | null; atUs: number }

/** Adds a token, but not if the user is gone or its password was changed since it was checked. */
export const addToken = mutation('auth.addToken', (tx: Tx, fresh: NewToken): boolean => {
  const known = and(eq(users.id, fresh.userId), eq(users.passwordHash, fresh.passwordHash))
  if (tx.select({ id: users.id }).from(users).where(known).get() === undefined) return false
  insertToken(tx, fresh)
  return true
})

function insertToken(tx: Tx, { tokenHash: hash, userId, client = null, atUs }: NewToken): void {
  tx.insert(tokens).values({ hash, userId, client, createdAt: atUs }).run()
}

type Change = NewToken & { newPasswordHash: string; revokeOthers: boolean }

/** Replaces the password that was checked and adds a token; false if it is not that password any more. */
export const changePassword = mutation('auth.changePassword', (tx: Tx, change: Change): boolean => {
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
})

/** The operator's change: no old password. False if there is no such user. */
export const setPassword = mutation(
  'auth.setPassword',
  (tx: Tx, set: { email: string; passwordHash: string }): boolean => {
    const { email, passwordHash } = set
    return (
      tx.update(users).set({ passwordHash }).where(eq(users.email, email)).returning({ id: users.id }).get() !==
      undefined
    )
  },
)

export const removeUser = mutation('auth.removeUser', (tx: Tx, email: string): boolean => {
  const found = tx.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (found === undefined) return false
  tx.delete(tokens).where(eq(tokens.userId, found.id)).run()
  tx.delete(users).where(eq(users.id, found.id)).run()
  return true
})

export const removeToken = mutation('auth.removeToken', (tx: Tx, tokenHash: string): void => {
  tx.delete(tokens).where(eq(tokens.hash, tokenHash)).run()
})

type NewNamedToken = { userId: number; name: string; tokenHash: string; madeWith: string; atUs: number }

/** Adds a named token. False, and nothing is added, if the token that asks for it was revoked meanwhile. */
export const addNamedToken = mutation('auth.addNamedToken', (tx: Tx, fresh: NewNamedToken): boolean => {
  const { userId, name, tokenHash: hash, madeWith, atUs } = fresh
  if (tx.select({ hash: tokens.hash }).from(tokens).where(eq(tokens.hash, madeWith)).get() === undefined) return false
  tx.insert(tokens).values({ hash, userId, name, createdAt: atUs }).run()
  return true
})

/** Removes the tokens of a user whose hash begins with `id`, which one does at most. False if there is none. */
export const removeOwnToken = mutation(
  'auth.removeOwnToken',
  (tx: Tx, { userId, id }: { userId: number; id: string }): boolean => {
    const own = and(eq(tokens.userId, userId), eq(sql`substr(${tokens.hash}, 1, ${id.length})`, id))
    return tx.delete(tokens).where(own).returning({ hash: tokens.hash }).all().length > 0
  },
)

/** Notes when a token was used. */
export const setTokenUsed = mutation('auth.setTokenUsed', (tx: Tx, used: { tokenHash: string; atUs: number }): void => {
  tx.update(tokens).set({ lastUsedAt: used.atUs }).where(eq(tokens.hash, used.tokenHash)).run()
})

export type TokenRow = {
  hash: string
  name: string | null
  client: string | null
  createdUs: number
  lastUsedUs: number | null
}

/** Returns the tokens of a user, those that were used last first, at most `limit`. */
export async function listTokens(db: Database, userId: number, limit: number): Promise<TokenRow[]> {
  const { hash, name, client, createdAt: createdUs, lastUsedAt: lastUsedUs } = tokens
  return db.read
    .select({ hash, name, client, createdUs, lastUsedUs })
    .from(tokens)
    .where(eq(tokens.userId, userId))
    .orderBy(desc(sql`ifnull(${lastUsedUs}, ${createdUs})`))
    .limit(limit)
    .all()
}

/** Removes every token of a user. The result is how many, `undefined` if there is no such user. */
export const removeTokens = mutation('auth.removeTokens', (tx: Tx, email: string): number | undefined => {
  const found = tx.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (found === undefined) return undefined
  return tx.delete(tokens).where(eq(tokens.userId, found.id)).returning({ hash: tokens.hash }).all().length
})

/** Returns the user of a token, and when the token was last used. */
export async function findUserByToken(
  db: Database,
  tokenHash: string,
): Promise<{ user: User; lastUsedUs: number | null } | undefined> {
  return db.read
    .select({ user, lastUsedUs: tokens.lastUsedAt })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.userId))
    .where(eq(tokens.hash, tokenHash))
    .get()
}

export async function findPasswordHash(
  db: Database,
  email: string,
): Promise<{ id: number; passwordHash: string } | undefined> {
  return db.read
    .select({ id: users.id, passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.email, email))
    .get()
}

export async function countUsers(db: Database): Promise<number> {
  return db.read.select({ count: count() }).from(users).get()?.count ?? 0
}

export async function listUsers(db: Database): Promise<(User & { account: string })[]> {
  const rows = db.read.select({ ...user, account: accounts.name }).from(users)
  return rows.innerJoin(accounts, eq(accounts.id, users.accountId)).orderBy(asc(users.id)).all()
}

export async function findAccountId(db: Database, name: string): Promise<number | undefined> {
  return db.read.select({ id: accounts.id }).from(accounts).where(eq(accounts.name, name)).get()?.id
}
