import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { NO_SUCH_PATH } from '../http/fault-handler.ts'
import { Fault } from '../lib/fault.ts'
import { isAdmin } from './model.ts'
import type { AuthService } from './service.ts'
import type { Session } from './sessions.ts'

const ADMINS_ONLY =
  'Only an administrator may do this. Ask the operator of this service to make you one: hookswitch user type admin --email …'
const POP_ONLY =
  'This token is for the pop page alone: it may read GET /stream, GET /call?number= and GET /contact, and make calls if it was created with "calls": true.'
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

/** A request with its token and its query, from which the operator's choice of an account is taken. */
type Asked = { readonly request: Request; readonly token: string | undefined; readonly query: Record<string, unknown> }

const DEFAULT_ACCOUNT = 'default'
/** The value of the operator's query for every account. */
const ALL = '*'

/**
 * Creates the plugin that authenticates requests about an account: it adds `{ user, accountId, session }` for the
 * routes after it, or answers 401. The operator of the machine chooses an account with `?account=`; an unknown one is
 * 404.
 */
export const guard = (auth: AuthService) => authenticated('guard', auth, (asked) => accountSession(auth, asked))

/** Returns the session of a request about an account. @throws Fault as `requireSession`; 404 as `guard`. */
export async function accountSession(auth: AuthService, { request, token, query }: Asked): Promise<Session> {
  return auth.isOperators(request) ? auth.operatorSession(chosenAccount(query)) : requireSession(auth, token)
}

/**
 * Creates the plugin for routes that the operator of the machine may ask for every account, with `?account=*`: it adds
 * the same as `guard`, and `scope`, the account or `null` for all of them.
 */
export const scopeGuard = (auth: AuthService) => scoped('scope-guard', auth, requireSession)

/**
 * Creates the plugin for the few routes that a token for the pop page may use: it adds the same as `guard`. Each of
 * these routes filters its calls by `session.extension`. Any other plugin answers 403 to such a token.
 */
export const popGuard = (auth: AuthService) =>
  authenticated('pop-guard', auth, async ({ request, token, query }) =>
    auth.isOperators(request) ? auth.operatorSession(chosenAccount(query)) : anySession(auth, token),
  )

/** Creates the plugin that is `scopeGuard` and `popGuard` in one. */
export const popScopeGuard = (auth: AuthService) => scoped('pop-scope-guard', auth, anySession)

function scoped(name: string, auth: AuthService, sessionOf: typeof anySession) {
  return new Elysia({ name }).use(headerToken).derive({ as: 'scoped' }, async ({ bearer, request, query }) => {
    const isOperators = auth.isOperators(request)
    const isAll = isOperators && query.account === ALL
    if (isAll) delete query.account
    const session = isOperators
      ? await auth.operatorSession(isAll ? undefined : chosenAccount(query))
      : await sessionOf(auth, bearer)
    const { accountId } = session.user
    return { session, user: session.user, accountId, scope: isAll ? null : accountId }
  })
}

/** Creates the plugin for routes about the user of the token. The operator is no user: 404. */
export const ownGuard = (auth: AuthService) =>
  authenticated('own-guard', auth, async ({ request, token }) => {
    if (auth.isOperators(request))
      throw new Fault('not_found', 'By the control socket there is no such path: it has no user.')
    return await requireSession(auth, token)
  })

/**
 * Creates the plugin for routes that only an `ADMIN` or the operator of the machine may use: it adds the same as
 * `guard`, or answers 401, or 403 to other users.
 */
export const adminGuard = (auth: AuthService) =>
  authenticated('admin-guard', auth, async ({ request, token, query }) => {
    if (auth.isOperators(request) && query.account === ALL) throw oneAccountOnly()
    if (auth.isOperators(request)) return auth.operatorSession()
    const session = await requireSession(auth, token)
    if (!isAdmin(session.user)) throw new Fault('forbidden', ADMINS_ONLY)
    return session
  })

/** Creates the plugin for routes of the operator of the machine alone: for anybody else there is no such path. */
export const operatorGuard = (auth: AuthService) =>
  authenticated('operator-guard', auth, async ({ request, query }) => {
    if (!auth.isOperators(request)) throw new Fault('not_found', NO_SUCH_PATH)
    return await auth.operatorSession(query.account === undefined ? undefined : chosenAccount(query))
  })

function authenticated(name: string, auth: AuthService, sessionOf: (asked: Asked) => Promise<Session>) {
  return new Elysia({ name }).use(headerToken).derive({ as: 'scoped' }, async ({ bearer, request, query }) => {
    const session = await sessionOf({ request, token: bearer, query })
    const { user } = session
    return { session, user, accountId: user.accountId, bearer: auth.tokenOf(request, bearer) }
  })
}

/** Takes the account from the operator's query: the routes do not know this parameter. */
function chosenAccount(query: Record<string, unknown>): string {
  const { account = DEFAULT_ACCOUNT } = query
  delete query.account
  if (account === ALL) throw oneAccountOnly()
  return String(account)
}

const oneAccountOnly = () => new Fault('not_found', 'There is no such path for all accounts: name one with ?account=.')

/** Returns the account of a scope. @throws Fault 404 for all accounts. */
export function ofOneAccount(scope: number | null): number {
  if (scope === null) throw oneAccountOnly()
  return scope
}

/**
 * Returns the session of a token with the rights of its user. @throws Fault `unauthenticated` for an unknown token,
 * `forbidden` for a token for the pop page.
 */
export async function requireSession(auth: AuthService, token: string | undefined): Promise<Session> {
  const session = await anySession(auth, token)
  if (session.pop) throw new Fault('forbidden', POP_ONLY)
  return session
}

/** Returns the session of any token. @throws Fault `unauthenticated` for an unknown token. */
async function anySession(auth: AuthService, token: string | undefined): Promise<Session> {
  const session = await auth.session(token ?? '')
  if (session === undefined)
    throw new Fault('unauthenticated', 'Log in first, and send the token as Authorization: Bearer.')
  return session
}
