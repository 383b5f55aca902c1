import { type AnyElysia, Elysia } from 'elysia'
import type { Audit } from '../../src/auth/audit.ts'
import { createClientOf } from '../../src/auth/client-address.ts'
import type { UserType } from '../../src/auth/model.ts'
import { createOperators } from '../../src/auth/operators.ts'
import { type AuthService, createAuthService } from '../../src/auth/service.ts'
import { newToken, tokenHash } from '../../src/auth/token.ts'
import { faults } from '../../src/http/fault-handler.ts'
import { openPort } from '../../src/http/server.ts'
import { createLog } from '../../src/lib/log.ts'
import { USER_TYPES } from '../../src/store/operations/accounts.ts'
import type { Store } from '../../src/store/store.ts'

export const SILENT_AUDIT: Audit = { clientOf: createClientOf([]), note: async () => {} }

/** Some routes on a port of their own, behind the same hooks as in the service. */
export async function startApi({ accounts }: Pick<Store, 'accounts'>, routes: (auth: AuthService) => AnyElysia) {
  const operators = createOperators()
  const auth = createAuthService({ accounts, operators })
  const api = startRoutes({ accounts }, auth, [routes(auth)])
  return {
    ...api,
    /** Asks as the operator of the machine does, by the control socket. */
    async asOperator(path: string, headers: Record<string, string> = {}): Promise<Response> {
      const request = new Request(`http://control${path}`, { headers })
      operators.admit(request)
      return await api.handle(request)
    },
  }
}

/** The same with a given service for users and tokens. */
export function startRoutes(
  { accounts }: Pick<Store, 'accounts'>,
  { isOperators }: AuthService,
  routes: readonly AnyElysia[],
) {
  const root: AnyElysia = new Elysia({ name: 'root', normalize: false, encodeSchema: false })
  root.use(faults({ log: createLog('silent'), routes: () => root.routes, isOperators }))
  for (const one of routes) root.use(one)
  const server = openPort({ host: '127.0.0.1', port: 0 })
  server.serve(root)
  return {
    url: server.url,
    /** Logs in a user of an account, and creates both if the account is new. @returns a token. */
    async logIn(account: string, type: UserType = 'USER'): Promise<string> {
      const email = `${type === 'USER' ? '' : 'admin.'}${account}@example.com`
      const number = USER_TYPES[type]
      const user = await accounts.userCreate({ account, type: number, name: account, email, passwordHash: '', atUs: 1 })
      if (user === undefined) throw new Error(`${email} is a user already`)
      const token = newToken()
      const hashes = { passwordHash: '', tokenHash: tokenHash(token) ?? '' }
      await accounts.tokenAddIfPasswordUnchanged({ userId: user.id, atUs: 1, ...hashes })
      return token
    },
    /** Requests that are not answered to their end. */
    pendingRequests: () => root.server?.pendingRequests ?? 0,
    handle: (request: Request) => root.handle(request),
    stop: () => server.stop(),
  }
}
