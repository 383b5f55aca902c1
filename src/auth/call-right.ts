import { isAdmin } from './model.ts'
import type { Session } from './sessions.ts'

export const NO_CALLS =
  'You may not make calls here: with an API token, create one with "calls": true; else ask an administrator for one.'

/**
 * Returns whether a session may make calls and hang them up: an API token if it was made for that; a login unless the
 * operator reserves calls to administrators.
 */
export const mayCall = (
  { user, name, calls }: Pick<Session, 'user' | 'name' | 'calls'>,
  usersMayCall: boolean,
): boolean => (name === null ? usersMayCall || isAdmin(user) : calls)
