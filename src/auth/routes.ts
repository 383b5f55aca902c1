import { Elysia } from 'elysia'
import { accepts } from '../http/accepts.ts'
import { takes, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import { createClientAddress } from './client.ts'
import { guard } from './guard.ts'
import { AuthUser, authUser, ChangePassword, Login, TokenResult } from './model.ts'
import { loginRule, passwordRule } from './password.ts'
import type { AuthService } from './service.ts'

const BODY_FAULTS = ['malformed', 'too_large', 'unsupported_media_type', 'invalid', 'too_many_requests'] as const
const tags = ['Authentication']

export function authRoutes(auth: AuthService, trustProxies: readonly string[]) {
  const clientAddress = createClientAddress(trustProxies)

  const open = new Elysia({ name: 'login', normalize: false, encodeSchema: false }).use(accepts).post(
    '/auth/login',
    async ({ body, request, server }) => {
      const socket = server?.requestIP(request)?.address ?? 'unknown'
      const address = clientAddress(socket, request.headers.get('x-forwarded-for'))
      const token = await auth.login(body, { address, program: programOf(request) })
      return success({ access_token: token }, 'The user was authenticated.')
    },
    {
      ...takes(Login, loginRule),
      response: responses(TokenResult, 'unauthenticated', ...BODY_FAULTS),
      detail: { summary: 'Log in', tags },
    },
  )

  const guarded = new Elysia({ name: 'auth', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get('/auth/me', ({ user }) => success(authUser(user), 'This is the user of the token.'), {
      response: responses(AuthUser, 'unauthenticated'),
      detail: { summary: 'Who am I?', tags, security: [{ bearer: [] }] },
    })
    .post(
      '/auth/change-password',
      async ({ body, session, request }) => {
        const token = await auth.changePassword(session, body, programOf(request))
        return success({ access_token: token }, 'The password was changed.')
      },
      {
        ...takes(ChangePassword, passwordRule),
        response: responses(TokenResult, 'unauthenticated', ...BODY_FAULTS),
        detail: { summary: 'Change the password', tags, security: [{ bearer: [] }] },
      },
    )
    .post(
      '/auth/logout',
      async ({ session }) => {
        await auth.logout(session)
        return success([], 'The user was logged out.')
      },
      {
        ...takesNothing,
        response: responses(Nothing, 'unauthenticated', 'malformed', 'too_large', 'unsupported_media_type'),
        detail: { summary: 'Log out: the token of this request is revoked', tags, security: [{ bearer: [] }] },
      },
    )

  return new Elysia({ name: 'auth-routes' }).use(open).use(guarded)
}

const MAX_PROGRAM_CHARACTERS = 200

/** Returns the program that sends a request, as far as it says so. */
function programOf(request: Request): string | null {
  return request.headers.get('user-agent')?.slice(0, MAX_PROGRAM_CHARACTERS) ?? null
}
