import { and, asc, count, eq, ne } from 'drizzle-orm'
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

type NewToken = { userId: number; passwordHash: string; tokenHash: string; atUs: number }

/** Adds a token, but not if the user is gone or its password was changed since it was checked. */
export const addToken = mutation('auth.addToken', (tx: Tx, fresh: NewToken): boolean => {
  const known = and(eq(users.id, fresh.userId), eq(users.passwordHash, fresh.passwordHash))
  if (tx.select({ id: users.id }).from(users).where(known).get() === undefined) return false
  tx.insert(tokens).values({ hash: fresh.tokenHash, userId: fresh.userId, createdAt: fresh.atUs }).run()
  return true
})

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
  tx.insert(tokens).values({ hash: change.tokenHash, userId: change.userId, createdAt: change.atUs }).run()
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

/** Removes every token of a user. The result is how many, `undefined` if there is no such user. */
export const removeTokens = mutation('auth.removeTokens', (tx: Tx, email: string): number | undefined => {
  const found = tx.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (found === undefined) return undefined
  return tx.delete(tokens).where(eq(tokens.userId, found.id)).returning({ hash: tokens.hash }).all().length
})

export async function findUserByToken(db: Database, tokenHash: string): Promise<User | undefined> {
  return db.read
    .select(user)
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
