import { Elysia } from 'elysia'
import { accepts } from '../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import type { Audit } from './audit.ts'
import { ownGuard } from './guard.ts'
import { AuthUser, authUser, ChangePassword, Login, TokenResult } from './model.ts'
import { loginRule, passwordRule } from './password.ts'
import { Welcome } from './people-model.ts'
import type { AuthService } from './service.ts'

const tags = ['Authentication']

/** Creates the routes for login, logout, password change and the present user. */
export function authRoutes(auth: AuthService, clientOf: Audit['clientOf']) {
  const open = new Elysia({ name: 'login', normalize: false, encodeSchema: false }).use(accepts).post(
    '/auth/login',
    async ({ body, request, server }) => {
      const token = await auth.login(body, clientOf(request, server))
      return success({ access_token: token }, 'The user was authenticated.')
    },
    {
      ...takes(Login, loginRule),
      response: responses(TokenResult, 'unauthenticated', ...BODY_FAULTS),
      detail: {
        summary: 'Log in',
        description:
          'Returns a token, which is valid until it is revoked. After 10 wrong passwords for an address within 5 minutes: 429 with Retry-After.',
        tags,
      },
    },
  )

  open.post(
    '/auth/welcome',
    async ({ body, request, server }) => {
      const token = await auth.welcome(body, clientOf(request, server))
      return success({ access_token: token }, 'The password was chosen.')
    },
    {
      ...takes(Welcome, passwordRule),
      response: responses(TokenResult, 'unauthenticated', ...BODY_FAULTS),
      detail: {
        summary: 'Choose a password with a link',
        description:
          'Returns a token, as a log-in. The code is in the link after `#welcome=`, and is used once. After 10 wrong codes within 5 minutes: 429 with Retry-After.',
        tags,
      },
    },
  )

  const guarded = new Elysia({ name: 'auth', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(ownGuard(auth))
    .get('/auth/me', ({ user }) => success(authUser(user), 'The user of this token.'), {
      response: responses(AuthUser, 'unauthenticated'),
      detail: { summary: 'Who am I?', description: 'The user whose token this is.', tags, security: [{ bearer: [] }] },
    })
    .post(
      '/auth/change-password',
      async ({ body, session, request, server }) => {
        const token = await auth.changePassword(session, body, clientOf(request, server))
        return success({ access_token: token }, 'The password was changed.')
      },
      {
        ...takes(ChangePassword, passwordRule),
        response: responses(TokenResult, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Change the password',
          description:
            'Returns a new token. The other tokens stay valid, unless `revoke_other_tokens` is true: then the token of this request ends too.',
          tags,
          security: [{ bearer: [] }],
        },
      },
    )
    .post(
      '/auth/logout',
      async ({ session, request, server }) => {
        await auth.logout(session, clientOf(request, server))
        return success([], 'Logged out.')
      },
      {
        ...takesNothing,
        response: responses(Nothing, 'unauthenticated', ...READ_FAULTS),
        detail: {
          summary: 'Log out: revoke the token of this request',
          description: 'Ends the token of this request. Other tokens of the user stay valid.',
          tags,
          security: [{ bearer: [] }],
        },
      },
    )

  return new Elysia({ name: 'auth-routes' }).use(open).use(guarded)
}
