import { Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { described, named } from '../lib/api-schema.ts'
import { MAX_NAME_CHARACTERS, nameSchema } from '../lib/name.ts'
import { comparedText, textProblem } from '../lib/text.ts'
import { rfc3339 } from '../lib/time.ts'
import { USER_TYPES, type UserRecord } from '../store/operations/accounts.ts'

export type UserType = keyof typeof USER_TYPES
/** The account id of the operator of the machine, where no account is meant. */
export const NO_ACCOUNT = 0

/** Returns the name of a user type; `UNKNOWN` for a number that a later version has stored. */
const userTypeName = (number: number): string =>
  Object.entries(USER_TYPES).find(([, one]) => one === number)?.[0] ?? 'UNKNOWN'

/** Returns whether a user runs the service, and may change what belongs to all accounts. */
export const isAdmin = ({ type }: Pick<UserRecord, 'type'>): boolean => type === USER_TYPES.ADMIN

/** The longest e-mail address that RFC 5321 allows. */
export const MAX_EMAIL_CHARACTERS = 254
export const MAX_PASSWORD_BYTES = 1_024
export const MIN_PASSWORD_CHARACTERS = 6

const isPassword = { maxLength: MAX_PASSWORD_BYTES, format: 'password' }
/** The length is counted in code points, which schemas do not count. */
export const isNewPassword = { ...isPassword, minLength: MIN_PASSWORD_CHARACTERS }
/** A password to check: no user has a longer one. Its bytes are counted, which schemas do not count. */
const presentedPassword = t.String({
  description: `${MAX_PASSWORD_BYTES} bytes at most`,
  form: isPassword,
})

export const Login = named(
  'Login',
  t.Object({
    email: t.String({
      description: 'The e-mail address of the user, without regard to case',
      maxLength: MAX_EMAIL_CHARACTERS,
    }),
    password: presentedPassword,
  }),
)
export type Login = Static<typeof Login>

export const ChangePassword = named(
  'PasswordChange',
  t.Object({
    old_password: presentedPassword,
    password: t.String({
      description: `${MIN_PASSWORD_CHARACTERS} characters at least, ${MAX_PASSWORD_BYTES} bytes at most`,
      form: isNewPassword,
    }),
    password_confirmation: t.String({ description: 'Must equal `password`', form: isNewPassword }),
    revoke_other_tokens: t.Optional(
      t.Boolean({ description: '`true` revokes all other tokens of the user, including the token of this request' }),
    ),
  }),
)
export type ChangePassword = Static<typeof ChangePassword>

const textOrNull = (description: string) => t.Union([t.String(), t.Null()], { description })

/** The form of the id of a token. */
export const TOKEN_ID = { pattern: '^[0-9a-f]+$', maxLength: 64 }
const ACCESS_TOKEN = { pattern: '^hks_[A-Za-z0-9_-]{43}$' }

/** The request for a new API token. */
export const NewToken = named(
  'NewToken',
  t.Object({
    name: nameSchema(`What the token is for, ${MAX_NAME_CHARACTERS} characters at most`),
    calls: t.Optional(t.Boolean({ description: 'Whether calls may be made and hung up with it; `false` if absent' })),
    pop: t.Optional(
      t.Boolean({
        description:
          '`true`: for the pop page, which others may see: it reads `GET /stream` (calls alone), `GET /call?number=` (the last ' +
          'three) and `GET /contact`, and nothing else; `false` if absent',
      }),
    ),
    extension: t.Optional(
      t.String({
        description: 'With `pop`: it reads calls of this extension alone, and makes calls from it alone',
        minLength: 1,
        maxLength: 64,
      }),
    ),
  }),
)
export type NewToken = Static<typeof NewToken>

export const NamedToken = named(
  'NamedToken',
  t.Object({
    id: t.String({ description: 'The id of the token, for revoking it', form: TOKEN_ID }),
    name: nameSchema('What it is for'),
    calls: t.Boolean({ description: 'Whether calls may be made and hung up with it' }),
    pop: t.Boolean({ description: 'Whether it is for the pop page: it reads calls and contacts, and nothing else' }),
    extension: textOrNull('The extension whose calls alone a token for the pop page reads; `null`: all calls'),
    access_token: t.String({ description: 'The token itself, which cannot be read again', form: ACCESS_TOKEN }),
  }),
)
export type NamedToken = Static<typeof NamedToken>

/** One token of a user: a session from a login, or an API token. The token itself cannot be read again. */
export const TokenInfo = named(
  'Token',
  t.Object({
    id: t.String({ description: 'The id of the token, for revoking it', form: TOKEN_ID }),
    name: textOrNull('The name of an API token; `null` for a login'),
    calls: t.Boolean({ description: 'Whether calls may be made and hung up with this API token; `false` for a login' }),
    pop: t.Boolean({ description: 'Whether it is for the pop page: it reads calls and contacts, and nothing else' }),
    extension: textOrNull('The extension whose calls alone a token for the pop page reads; `null`: all calls'),
    client: textOrNull('The User-Agent of the login'),
    created_at: t.String({ format: 'date-time', description: 'When it was created' }),
    last_used_at: t.Union([t.String({ format: 'date-time' }), t.Null()], {
      description: 'When it was last used, accurate to 5 minutes; `null` if never',
    }),
    current: t.Boolean({ description: 'Whether it is the token of this request' }),
  }),
)
export type TokenInfo = Static<typeof TokenInfo>

export const TokenResult = named(
  'AccessToken',
  t.Object({
    access_token: t.String({ description: 'Goes into the header `Authorization: Bearer …`', form: ACCESS_TOKEN }),
  }),
)

const UserTypeResource = named(
  'UserType',
  t.Object({
    number: Type.Integer({
      description: `One of ${Object.values(USER_TYPES).join(', ')}`,
      form: { enum: Object.values(USER_TYPES) },
    }),
    name: t.String({
      description: '`USER`, or `ADMIN`: a person who runs the service, and may manage its PBXs',
      form: { enum: Object.keys(USER_TYPES) },
    }),
  }),
)

export const AuthUser = named(
  'User',
  t.Object({
    id: Type.Integer({ description: 'The id of the user', form: { minimum: 1 } }),
    name: t.String({ description: 'The name of the user' }),
    email: t.String({
      description: 'The e-mail address, in lower case',
      form: { maxLength: MAX_EMAIL_CHARACTERS, format: 'email' },
    }),
    type: described(UserTypeResource, 'The type of the user: `1` is `USER`; `2` is `ADMIN`, who manages all PBXs'),
    created_at: t.String({ format: 'date-time', description: 'When the user was created' }),
  }),
)
export type AuthUser = Static<typeof AuthUser>

export function authUser({ id, name, email, type, createdUs }: UserRecord): AuthUser {
  return { id, name, email, type: { number: type, name: userTypeName(type) }, created_at: rfc3339(createdUs) }
}

const EMAIL = /^[^\s@]+@[^\s@]+$/

/** Returns why a text cannot be the e-mail address of a user, to follow its name; `undefined` if it can. */
export function emailProblem(email: string): string | undefined {
  const problem = textProblem(email.trim())
  if (problem !== undefined) return problem
  if (EMAIL.test(normalEmail(email)) && email.length <= MAX_EMAIL_CHARACTERS) return undefined
  return `is ${JSON.stringify(email)}: give an address like anna@example.com`
}

/** Normalizes an e-mail address: the form in which addresses are stored and compared. */
export const normalEmail = (email: string) => comparedText(email.trim()).toLowerCase()
