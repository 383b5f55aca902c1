import { Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { rfc3339 } from '../lib/time.ts'
import type { UserRecord } from '../store/operations/accounts.ts'

/** The types of users, with their number in the store and in the API. An `ADMIN` is a person who runs the service. */
export const USER_TYPES = { USER: 1, ADMIN: 2 } as const
export type UserType = keyof typeof USER_TYPES

/** Returns the name of a user type; `UNKNOWN` for a number that a later version has stored. */
export const userTypeName = (number: number): string =>
  Object.entries(USER_TYPES).find(([, one]) => one === number)?.[0] ?? 'UNKNOWN'

/** Returns whether a user runs the service, and may change what belongs to all accounts. */
export const isAdmin = ({ type }: Pick<UserRecord, 'type'>): boolean => type === USER_TYPES.ADMIN

/** The longest e-mail address that RFC 5321 allows. */
export const MAX_EMAIL_CHARACTERS = 254
export const MAX_PASSWORD_BYTES = 1_024

/** A password to check: no user has a longer one. */
const presentedPassword = t.String({
  maxLength: MAX_PASSWORD_BYTES,
  description: `${MAX_PASSWORD_BYTES} bytes at most`,
})

export const Login = t.Object({ email: t.String({ maxLength: MAX_EMAIL_CHARACTERS }), password: presentedPassword })
export type Login = Static<typeof Login>

export const ChangePassword = t.Object({
  old_password: presentedPassword,
  password: t.String({ description: `6 characters at least, ${MAX_PASSWORD_BYTES} bytes at most` }),
  password_confirmation: t.String({ description: 'must equal password' }),
  revoke_other_tokens: t.Optional(
    t.Boolean({ description: 'true revokes all other tokens of the user, including the token of this request' }),
  ),
})
export type ChangePassword = Static<typeof ChangePassword>

const time = t.String({ format: 'date-time' })
const textOrNull = (description: string) => t.Union([t.String(), t.Null()], { description })

export const MAX_TOKEN_NAME_CHARACTERS = 100

/** The request for a new API token. */
export const NewToken = t.Object({
  name: t.String({ description: `what the token is for, ${MAX_TOKEN_NAME_CHARACTERS} characters at most` }),
})
export type NewToken = Static<typeof NewToken>

export const NamedToken = t.Object({ id: t.String(), name: t.String(), access_token: t.String() })
export type NamedToken = Static<typeof NamedToken>

/** One token of a user: a session from a login, or an API token. The token itself cannot be read again. */
export const TokenInfo = t.Object({
  id: t.String(),
  name: textOrNull('the name of an API token; null for a login'),
  client: textOrNull('the User-Agent of the login'),
  created_at: time,
  last_used_at: t.Union([time, t.Null()], { description: 'accurate to 5 minutes; null if never used' }),
  current: t.Boolean({ description: 'the token of this request' }),
})
export type TokenInfo = Static<typeof TokenInfo>

export const TokenResult = t.Object({ access_token: t.String() })

export const UserTypeResource = t.Object({
  number: Type.Integer({ description: `one of ${Object.values(USER_TYPES).join(', ')}` }),
  name: t.String({ description: '`USER`, or `ADMIN`: a person who runs the service, and may manage its PBXs' }),
})

export const AuthUser = t.Object({
  id: Type.Integer(),
  name: t.String(),
  email: t.String(),
  type: UserTypeResource,
  created_at: t.String({ format: 'date-time' }),
})
export type AuthUser = Static<typeof AuthUser>

/** Returns a user as the API shows it. */
export function authUser({ id, name, email, type, createdUs }: UserRecord): AuthUser {
  return { id, name, email, type: { number: type, name: userTypeName(type) }, created_at: rfc3339(createdUs) }
}

/** Normalizes an e-mail address: the form in which addresses are stored and compared. */
export const normalEmail = (email: string) => email.trim().toLowerCase()
