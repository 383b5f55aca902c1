import { isAdmin } from './model.ts'
import type { Session } from './sessions.ts'

export const NO_CALLS =
  'You may not make calls here: with an API token, create one with "calls": true; else ask an administrator for one.'

/**
 * Returns whether a session may make calls and hang them up: an administrator's always, another user's unless the
 * operator reserves calls to administrators. An API token must have been made for it, too.
 */
export const mayCall = (
  { user, name, calls }: { readonly user: Pick<Session['user'], 'type'> } & Pick<Session, 'name' | 'calls'>,
  usersMayCall: boolean,
): boolean => (usersMayCall || isAdmin(user)) && (name === null || calls)
