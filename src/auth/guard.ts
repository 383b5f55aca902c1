import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { AuthService, Session } from './service.ts'

const WITH_TOKEN = /^bearer +([^\s]+) *$/i

/**
 * Gives the routes after it `{ user, accountId, session }` of the token that the request carries, or refuses it with 401.
 * The bearer plugin wants the scheme's exact case and would take a token from the query as well: it always gets a header, in
 * its own spelling, empty if there is none.
 */
export function guard(auth: AuthService) {
  return new Elysia({ name: 'guard' })
    .onTransform({ as: 'scoped' }, ({ headers }) => {
      headers.authorization = `Bearer ${WITH_TOKEN.exec(headers.authorization ?? '')?.[1] ?? ''}`
    })
    .use(bearer())
    .derive({ as: 'scoped' }, ({ bearer }) => {
      const session = auth.session(bearer ?? '')
      return session instanceof Promise ? session.then(granted) : granted(session)
    })
}

function granted(session: Session | undefined) {
  if (session === undefined)
    throw new Fault('unauthenticated', 'Log in first, and send the token as Authorization: Bearer.')
  return { session, user: session.user, accountId: session.user.accountId }
}
