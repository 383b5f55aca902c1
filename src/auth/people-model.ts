import { Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { MAX_NAME_CHARACTERS, nameSchema } from '../lib/name.ts'
import { rfc3339 } from '../lib/time.ts'
import { type ListedUser, USER_TYPES } from '../store/operations/accounts.ts'
import { isNewPassword, MAX_EMAIL_CHARACTERS, MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARACTERS } from './model.ts'

// Accounts and users, as administrators manage them.

/** Printable, and short enough for a metric's label. */
const ACCOUNT_NAME = /^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,63}$/u

/** Returns why a text cannot be the name of an account; `undefined` if it can. */
export const accountProblem = (name: string): string | undefined =>
  ACCOUNT_NAME.test(name) ? undefined : 'must have at most 64 letters, digits, dots, dashes and spaces'

const time = (description: string) => t.String({ format: 'date-time', default: undefined, description })
const timeOrNull = (description: string) => t.Union([time(''), t.Null()], { description })
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** The body is checked by a rule, so that the message names the rule of names. */
const accountName = t.String({ description: 'The name of the account, in any case', form: { maxLength: 64 } })
const type = t.UnionEnum(['USER', 'ADMIN'], {
  default: undefined,
  description: '`ADMIN`: a person who runs the service, and may manage users and PBXs',
})
const password = t.String({
  description: `${MIN_PASSWORD_CHARACTERS} characters at least, ${MAX_PASSWORD_BYTES} bytes at most`,
  form: isNewPassword,
})
const name = nameSchema(`The name of the user, ${MAX_NAME_CHARACTERS} characters at most`)

/** An account, with the numbers of its users, webhooks and PBXs. */
export const Account = t.Object({
  name: t.String({ description: 'The name of the account' }),
  users: count('The number of its users'),
  webhooks: count('The number of webhooks in its list'),
  pbxs: count('The number of PBXs whose calls belong to it alone'),
  created_at: time('When the account was created'),
})
export type Account = Static<typeof Account>

const FIELDS = {
  id: Type.Integer({ minimum: 1, description: 'The id of the user' }),
  name: t.String({ description: 'The name of the user' }),
  email: t.String({ description: 'The e-mail address, in lower case' }),
  type,
  account: t.String({ description: 'The name of the account' }),
  created_at: time('When the user was created'),
  last_login_at: timeOrNull('When the user last logged in; `null`: not since this is noted'),
  invited_until: timeOrNull('When the link expires with which the user may choose a password; `null` without a link'),
}

/** A user, as administrators see it. */
export const User = t.Object(FIELDS)
export type User = Static<typeof User>

/** A user, with the new link. */
export const UserWithLink = t.Object({
  ...FIELDS,
  link: t.Optional(
    t.String({ description: 'The link with which the user chooses a password: once, within 3 days. It is shown once' }),
  ),
})
export type UserWithLink = Static<typeof UserWithLink>

export const NewUser = t.Object(
  {
    account: t.Optional(accountName),
    name,
    email: t.String({ description: 'The e-mail address, in any case', form: { maxLength: MAX_EMAIL_CHARACTERS } }),
    type: t.Optional(type),
    password: t.Optional(password),
  },
  { additionalProperties: false },
)
export type NewUser = Static<typeof NewUser>

export const UserChanges = t.Object(
  {
    name: t.Optional(name),
    type: t.Optional(type),
    account: t.Optional(accountName),
    password: t.Optional(t.String({ description: 'By the control socket alone', form: isNewPassword })),
  },
  { additionalProperties: false },
)
export type UserChanges = Static<typeof UserChanges>

export const Welcome = t.Object(
  {
    code: t.String({ maxLength: 100, description: 'The code of the link, which follows `#welcome=`' }),
    password,
    password_confirmation: t.String({ description: 'Must equal `password`', form: isNewPassword }),
  },
  { additionalProperties: false },
)
export type Welcome = Static<typeof Welcome>

/** The end of all tokens of a user. */
export const LoggedOut = t.Object({ revoked: count('The number of tokens that were revoked') })
export type LoggedOut = Static<typeof LoggedOut>

/** Returns a user as the API shows him, without an expired link. */
export function shownUser(user: ListedUser, nowUs: number): User {
  const { id, name, email, type, account, createdUs, lastLoginUs, invitedUntilUs } = user
  return {
    id,
    name,
    email,
    // A type that a later version has stored has the rights of a user here.
    type: type === USER_TYPES.ADMIN ? 'ADMIN' : 'USER',
    account,
    created_at: rfc3339(createdUs),
    last_login_at: lastLoginUs === null ? null : rfc3339(lastLoginUs),
    invited_until: invitedUntilUs === null || invitedUntilUs <= nowUs ? null : rfc3339(invitedUntilUs),
  }
}
