import { normalEmail } from './model.ts'

// An earlier version stored addresses as they were typed: an accent may stand apart from its letter there. Such users
// keep their address, and either spelling finds them; where both spellings have a user, each finds its own.

/** The user with an address: its stored spelling; `several` have it in other spellings; `undefined`: no user. */
type Found<User> = { readonly user: User } | 'several' | undefined

/** Returns the address as it was typed, without space and in lower case: the first spelling to look for. */
export const typedEmail = (email: string): string => email.trim().toLowerCase()

/** Returns the user whom people mean by an address: the same spelling first, then the normal one, then any other. */
export function userWithEmail<User extends { readonly email: string }>(
  users: readonly User[],
  email: string,
): Found<User> {
  const normal = normalEmail(email)
  const same = users.filter((one) => normalEmail(one.email) === normal)
  for (const spelling of [typedEmail(email), normal]) {
    const user = same.find((one) => one.email === spelling)
    if (user !== undefined) return { user }
  }
  const [user, other] = same
  if (other !== undefined) return 'several'
  return user && { user }
}
