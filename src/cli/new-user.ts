import { accountProblem, emailProblem, type UserType } from '../auth/auth.ts'
import { nameProblem } from '../lib/name.ts'

/** A user to add, as the command line or a file names it. */
export type NamedUser = {
  readonly account: string
  readonly name: string
  readonly email: string
  readonly type: UserType
}

export const DEFAULT_ACCOUNT = 'default'
/** The types of users as they are typed. */
export const TYPES: Readonly<Record<string, UserType>> = { user: 'USER', admin: 'ADMIN' }

/** Returns the first fault of a new user, with the name of its field first; `undefined` if the user is valid. */
export function userProblem({ account, name, email }: NamedUser): string | undefined {
  const wrongEmail = emailProblem(email)
  if (wrongEmail !== undefined) return `email ${wrongEmail}`
  if (name.trim() === '') return "name is empty: give the user's name"
  const wrong = nameProblem(name)
  if (wrong !== undefined) return `name ${wrong}`
  if (accountProblem(account) !== undefined)
    return `account is ${JSON.stringify(account)}: use at most 64 letters, digits, dots, dashes and spaces`
  return undefined
}
