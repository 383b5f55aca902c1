// Accounts with their users and tokens, and notes of operators' changes.

/** The types of users, with their number in the store and in the API. An `ADMIN` is a person who runs the service. */
export const USER_TYPES = { USER: 1, ADMIN: 2 } as const

export type AccountRecord = { readonly id: number; readonly name: string }
/** An account with the numbers of its users and listed webhooks. */
export type AccountWithCounts = AccountRecord & {
  readonly users: number
  readonly webhooks: number
  readonly createdUs: number
}
export type UserRecord = {
  readonly id: number
  readonly accountId: number
  readonly type: number
  readonly name: string
  readonly email: string
  readonly createdUs: number
}

/** A user with the name of its account. `invitedUntilUs`: when the link expires with which it may choose a password. */
export type ListedUser = UserRecord & {
  readonly account: string
  readonly lastLoginUs: number | null
  readonly invitedUntilUs: number | null
}

/** A link with which a user chooses a password once. Only the hash of its code is stored. */
type Invitation = { readonly codeHash: string; readonly untilUs: number }

/** The hash of a user without a password: no password matches it. */
export const NO_PASSWORD = ''

export type NewUser = {
  readonly account: string
  readonly type: number
  readonly name: string
  readonly email: string
  /** `NO_PASSWORD`: the user chooses one with the invitation. */
  readonly passwordHash: string
  readonly invitation?: Invitation | undefined
  readonly atUs: number
}

/** The fields of a user to change. Of a user with another account, the API tokens are deleted. */
export type UserChange = {
  readonly id: number
  readonly name?: string | undefined
  readonly type?: number | undefined
  readonly account?: string | undefined
  readonly passwordHash?: string | undefined
}

/** The password of a user whose link has this code, and the token of the first log-in with it. */
type Welcome = {
  readonly codeHash: string
  readonly passwordHash: string
  readonly tokenHash: string
  readonly client: string | null
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

/** The rights of an API token: the rights of its user without calls, or the reading of the pop page alone. */
export type TokenRights = {
  /** Whether the token may make calls. */
  readonly calls: boolean
  /** Whether the token is for the pop page: it reads calls and contacts alone. */
  readonly pop: boolean
  /** The extension whose calls alone a token for the pop page reads; `null`: all calls of the account. */
  readonly extension: string | null
}

/** A token with a name. `madeWith`: the hash of the token that asks for it. */
type NewNamedToken = TokenRights & {
  readonly userId: number
  readonly name: string
  readonly tokenHash: string
  readonly madeWith: string
  readonly atUs: number
}

export type TokenRecord = TokenRights & {
  readonly hash: string
  readonly name: string | null
  readonly client: string | null
  readonly createdUs: number
  readonly lastUsedUs: number | null
}

/** The user and the rights of a token. `name`: the name of an API token, `null` for a login. */
export type UserOfToken = TokenRights & {
  readonly user: UserRecord
  readonly tokenHash: string
  readonly name: string | null
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
  userList(): Promise<ListedUser[]>
  /** Returns how many users there are. */
  userCount(): Promise<number>
  /** Returns whose token has one of these hashes, and its facts, or `undefined`. */
  userGetByToken(...tokenHashes: string[]): Promise<UserOfToken | undefined>
  /** Returns a user with its password hash, or `undefined`. */
  userGetPassword(email: string): Promise<(UserRecord & { passwordHash: string }) | undefined>
  /**
   * Changes a user; a new password ends the invitation. `last`: nobody else is an administrator with a password, so
   * that this one stays. `unknown_account`: there is no account of this name, in any case. Then nothing is changed.
   */
  userUpdate(change: UserChange): Promise<'updated' | 'unknown' | 'unknown_account' | 'last'>
  /** Replaces the invitation of a user. Returns false if there is no such user. */
  userInvite(invited: Invitation & { id: number }): Promise<boolean>
  /** Returns the user whose invitation has this code and has not expired, or `undefined`. */
  userGetInvited(invited: { codeHash: string; atUs: number }): Promise<UserRecord | undefined>
  /** Ends an invitation with a password and a first token. Returns the user; `undefined` if it ended or expired. */
  userWelcome(welcome: Welcome): Promise<UserRecord | undefined>
  /** Sets the password and adds a token if the password has not changed since it was checked; else returns false. */
  userChangePasswordIfUnchanged(change: PasswordChange): Promise<boolean>
  /** Deletes a user and its tokens; its account stays. `last`: as for `userUpdate`. */
  userDelete(id: number): Promise<'deleted' | 'unknown' | 'last'>
  /** Adds the token of a log-in if the user's password has not changed since it was checked; else returns false. */
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
  tokenDeleteOfUser(id: number): Promise<number | undefined>
  /** Returns the id of an account, or `undefined`. */
  accountGetId(name: string): Promise<number | undefined>
  /** Returns all accounts, in id order. */
  accountList(): Promise<AccountRecord[]>
  /** Returns all accounts with their numbers, in id order. */
  accountListWithCounts(): Promise<AccountWithCounts[]>
  /** Returns the name of an account, or `undefined`. */
  accountGetName(id: number): Promise<string | undefined>
}
