import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { AuthService } from './service.ts'

const WITH_TOKEN = /^bearer +([^\s]+) *$/i

/**
 * The token of the header, and of the header alone. The bearer plugin wants the scheme's exact case, and would take a token
 * from the query where there is no such header: so it always gets one, in its own spelling, empty if there is no token. Both
 * hooks are global, as the plugin's is, since only then do they stay in this order in every room that uses them.
 */
const headerToken = new Elysia({ name: 'header-token' })
  .onTransform({ as: 'global' }, ({ headers }) => {
    headers.authorization = `Bearer ${WITH_TOKEN.exec(headers.authorization ?? '')?.[1] ?? ''}`
  })
  .use(bearer())

/** Gives the routes after it `{ user, accountId, session }` of the token that the request carries, or refuses it with 401. */
export function guard(auth: AuthService) {
  return new Elysia({ name: 'guard' }).use(headerToken).derive({ as: 'scoped' }, async ({ bearer }) => {
    const session = await auth.session(bearer ?? '')
    if (session === undefined)
      throw new Fault('unauthenticated', 'Log in first, and send the token as Authorization: Bearer.')
    return { session, user: session.user, accountId: session.user.accountId }
  })
}
