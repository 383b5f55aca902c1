import { Elysia, t } from 'elysia'
import { accepts } from '../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import { createQuota } from '../http/rate-limit.ts'
import { SECOND, steadyUs } from '../lib/time.ts'
import type { Audit } from './audit.ts'
import { ownGuard } from './guard.ts'
import { NamedToken, NewToken, TOKEN_ID, TokenInfo } from './model.ts'
import type { AuthService } from './service.ts'
import { type TokenService, tokenRule } from './token-service.ts'

const about = { tags: ['Authentication'], security: [{ bearer: [] }] }
const Params = t.Object({ id: t.String({ description: 'The id of the token', form: TOKEN_ID }) })
/** API tokens that a user may create in a minute: they are stored until they are revoked. */
const MADE_A_MINUTE = 20

/** Creates the routes by which users list, create and revoke their own tokens. */
export function tokenRoutes(auth: AuthService, tokens: TokenService, audit: Audit) {
  const quota = createQuota({ limit: MADE_A_MINUTE, windowUs: 60 * SECOND, now: steadyUs })
  return new Elysia({ name: 'tokens', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(ownGuard(auth))
    .get('/auth/token', async ({ session }) => success(await tokens.list(session), 'Your sessions and API tokens.'), {
      response: responses(t.Array(TokenInfo), 'unauthenticated'),
      detail: {
        summary: 'Your sessions and API tokens',
        description: 'The 200 most recently used. The tokens themselves cannot be read.',
        ...about,
      },
    })
    .post(
      '/auth/token',
      async ({ session, body, request, server }) => {
        quota.take(session.user.id)
        const token = await tokens.create(session, body)
        await audit.note(
          'token_made',
          { user: session.user, client: audit.clientOf(request, server) },
          { token: token.id },
        )
        return success(token, 'The API token was created. It cannot be shown again.')
      },
      {
        ...takes(NewToken, tokenRule),
        response: responses(NamedToken, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Create an API token',
          description:
            'For a program. It has the same rights as you, but makes calls only with `"calls": true`, and is valid until it is ' +
            'revoked. With `"pop": true` it is for the pop page (`/pop`), and every other request with it is 403.',
          ...about,
        },
      },
    )
    .delete(
      '/auth/token/:id',
      async ({ session, params, request, server }) => {
        await tokens.revoke(session, params.id)
        const client = audit.clientOf(request, server)
        await audit.note('token_revoked', { user: session.user, client }, { token: params.id })
        return success([], 'The token was revoked.')
      },
      {
        ...takesNothing,
        params: Params,
        response: responses(Nothing, 'unauthenticated', 'not_found', ...READ_FAULTS),
        detail: {
          summary: 'Revoke one of your sessions or API tokens',
          description: 'Ends a token at once, for example of a lost device. `GET /auth/token` lists the ids.',
          ...about,
        },
      },
    )
}
