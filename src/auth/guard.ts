import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import { isAdmin } from './model.ts'
import type { AuthService } from './service.ts'
import type { Session } from './sessions.ts'

const ADMINS_ONLY =
  'Only an administrator may do this. Ask the operator of this service to make you one: hookswitch user type admin --email …'
const WITH_TOKEN = /^bearer +([^\s]+) *$/i

/**
 * Reads the token from the header only. The bearer plugin requires the exact case of the scheme, and without such a
 * header would accept a token from the query: so it always gets a header in its own spelling, empty if there is no
 * token. Both hooks are global, like the plugin's, because only then do they run in this order in every plugin that
 * uses them.
 */
export const headerToken = new Elysia({ name: 'header-token' })
  .onTransform({ as: 'global' }, ({ headers }) => {
    headers.authorization = `Bearer ${WITH_TOKEN.exec(headers.authorization ?? '')?.[1] ?? ''}`
  })
  .use(bearer())

/**
 * Creates the plugin that authenticates requests: it adds `{ user, accountId, session }` for the routes after it, or
 * answers 401.
 */
export const guard = (auth: AuthService) => authenticated('guard', (token) => requireSession(auth, token))

/**
 * Creates the plugin for routes that only an `ADMIN` may use: it adds the same as `guard`, or answers 401, or 403 to
 * other users.
 */
export const adminGuard = (auth: AuthService) =>
  authenticated('admin-guard', async (token) => {
    const session = await requireSession(auth, token)
    if (!isAdmin(session.user)) throw new Fault('forbidden', ADMINS_ONLY)
    return session
  })

function authenticated(name: string, sessionOf: (token: string | undefined) => Promise<Session>) {
  return new Elysia({ name }).use(headerToken).derive({ as: 'scoped' }, async ({ bearer }) => {
    const session = await sessionOf(bearer)
    return { session, user: session.user, accountId: session.user.accountId }
  })
}

/** Returns the session of a token. @throws Fault `unauthenticated` if it has none. */
export async function requireSession(auth: AuthService, token: string | undefined): Promise<Session> {
  const session = await auth.session(token ?? '')
  if (session === undefined)
    throw new Fault('unauthenticated', 'Log in first, and send the token as Authorization: Bearer.')
  return session
}
