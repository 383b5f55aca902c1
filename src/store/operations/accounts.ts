import type { AuditFacts } from './audit.ts'

// Accounts with their users and tokens, and notes of operators' changes.

export type AccountRecord = { readonly id: number; readonly name: string }
export type UserRecord = {
  readonly id: number
  readonly accountId: number
  readonly type: number
  readonly name: string
  readonly email: string
  readonly createdUs: number
}

export type NewUser = {
  readonly account: string
  readonly type: number
  readonly name: string
  readonly email: string
  readonly passwordHash: string
  readonly atUs: number
}

/**
 * A change by an operator on the command line, to a user, webhooks or a PBX, which the service logs later. `by`: the
 * system user who ran the command.
 */
export type OperatorAct = {
  readonly event:
    | 'user_added'
    | 'admin_added'
    | 'user_made_admin'
    | 'admin_made_user'
    | 'user_removed'
    | 'user_password_set'
    | 'user_logged_out'
    | 'webhooks_replaced'
    | 'webhook_options_replaced'
    | 'secret_rotated'
    | 'pbx_set'
    | 'pbx_removed'
  /** The user who was changed; `null`: the account, or a PBX. */
  readonly email: string | null
  readonly account: string | null
  /** More fields of the log line, never a secret; `null`: none. */
  readonly facts: AuditFacts | null
  readonly by: string
  readonly atUs: number
}

/** A token to add for a user whose password was checked against `passwordHash`. */
export type NewTokenRecord = {
  readonly userId: number
  readonly passwordHash: string
  readonly tokenHash: string
  /** The program that logs in (its User-Agent). */
  readonly client?: string | null
  readonly atUs: number
}

/** A token with a name. `madeWith`: the hash of the token that asks for it. */
type NewNamedToken = {
  readonly userId: number
  readonly name: string
  /** Whether calls may be made with it. */
  readonly calls: boolean
  readonly tokenHash: string
  readonly madeWith: string
  readonly atUs: number
}

export type TokenRecord = {
  readonly hash: string
  readonly name: string | null
  readonly calls: boolean
  readonly client: string | null
  readonly createdUs: number
  readonly lastUsedUs: number | null
}

/** The user of a token. `name`: the name of an API token, `null` of a login; `calls`: calls may be made with it. */
export type UserOfToken = {
  readonly user: UserRecord
  readonly name: string | null
  readonly calls: boolean
  readonly lastUsedUs: number | null
}

export type PasswordChange = NewTokenRecord & { readonly newPasswordHash: string; readonly revokeOthers: boolean }

export type AccountStore = {
  /**
   * Creates a user in the account of this name, in any case; a new account is created. Returns the user's id and how
   * the account is spelt, or `undefined` if the e-mail address is taken.
   */
  userCreate(user: NewUser): Promise<{ id: number; account: string } | undefined>
  /** Returns all users with their accounts' names, in id order. */
  userList(): Promise<(UserRecord & { account: string })[]>
  /** Returns how many users there are. */
  userCount(): Promise<number>
  /** Returns whose token has this hash, and its facts, or `undefined`. */
  userGetByToken(tokenHash: string): Promise<UserOfToken | undefined>
  /** Returns a user with its password hash, or `undefined`. */
  userGetPassword(email: string): Promise<(UserRecord & { passwordHash: string }) | undefined>
  /** Sets the password of a user; its tokens stay. Returns false if there is no such user. */
  userSetPassword(change: { email: string; passwordHash: string }): Promise<boolean>
  /** Sets the type of a user; its tokens stay. Returns false if there is no such user. */
  userSetType(change: { email: string; type: number }): Promise<boolean>
  /** Sets the password and adds a token if the password has not changed since it was checked; else returns false. */
  userChangePasswordIfUnchanged(change: PasswordChange): Promise<boolean>
  /** Deletes a user and its tokens. Returns false if there is no such user. */
  userDelete(email: string): Promise<boolean>
  /** Adds a token if the user's password has not changed since it was checked; else returns false. */
  tokenAddIfPasswordUnchanged(token: NewTokenRecord): Promise<boolean>
  /** Adds a named token; returns false if the token that asks for it was revoked meanwhile. */
  tokenAddNamed(token: NewNamedToken): Promise<boolean>
  /** Returns the tokens of a user, the last used first, at most `limit`. */
  tokenList(userId: number, limit: number): Promise<TokenRecord[]>
  /** Notes when a token was used. */
  tokenSetUsed(used: { tokenHash: string; atUs: number }): Promise<void>
  /** Deletes the token of a user whose hash begins with `id`. Returns false if no token matches. */
  tokenDeleteOwn(own: { userId: number; id: string }): Promise<boolean>
  /** Deletes a token, if there is one with this hash. */
  tokenDelete(tokenHash: string): Promise<void>
  /** Deletes all tokens of a user. Returns how many, or `undefined` if there is no such user. */
  tokenDeleteOfUser(email: string): Promise<number | undefined>
  /** Notes an operator's change of a user (who may be deleted by now) or of webhooks. */
  operatorActAdd(act: OperatorAct): Promise<void>
  /** Returns the noted changes of operators, the oldest first, and deletes them: so each is logged once. */
  operatorActTake(): Promise<OperatorAct[]>
  /** Returns the id of an account, or `undefined`. */
  accountGetId(name: string): Promise<number | undefined>
  /** Returns all accounts, in id order. */
  accountList(): Promise<AccountRecord[]>
  /** Returns the name of an account, or `undefined`. */
  accountGetName(id: number): Promise<string | undefined>
}
