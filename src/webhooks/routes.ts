import { Elysia, t } from 'elysia'
import { guard } from '../auth/guard.ts'
import type { AuthService } from '../auth/service.ts'
import { accepts } from '../http/accepts.ts'
import { takes } from '../http/body.ts'
import { responses, success } from '../http/envelope.ts'
import type { AllowList } from '../lib/net.ts'
import { Rotation, urlRule, WebhookList, WebhookSecret } from './model.ts'
import type { WebhookService } from './service.ts'

const BODY_FAULTS = ['unauthenticated', 'malformed', 'too_large', 'unsupported_media_type', 'invalid'] as const
const about = { tags: ['Webhooks'], security: [{ bearer: [] }] }

export function webhookRoutes(auth: AuthService, webhooks: WebhookService, allow: AllowList) {
  return new Elysia({ name: 'webhooks', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/integration/webhook',
      async ({ accountId, set }) => {
        const { list, etag } = await webhooks.list(accountId)
        set.headers.etag = etag
        return success(list, 'These are the webhooks.')
      },
      {
        response: responses(WebhookList, 'unauthenticated'),
        detail: { summary: 'The list of webhooks; its ETag goes into If-Match', ...about },
      },
    )
    .put(
      '/integration/webhook',
      async ({ accountId, body, request, set }) => {
        const { list, etag } = await webhooks.replace(accountId, body, request.headers.get('if-match'))
        set.headers.etag = etag
        return success(list, 'The webhooks were replaced.')
      },
      {
        ...takes(WebhookList, urlRule(allow)),
        response: responses(WebhookList, ...BODY_FAULTS, 'precondition_failed'),
        detail: {
          summary: 'Replace the whole list; [] deletes all',
          ...about,
          parameters: [
            {
              in: 'header',
              name: 'If-Match',
              required: false,
              description: 'replace the list only if it is still the one with this ETag',
              schema: { type: 'string' },
            },
          ],
        },
      },
    )
    .get(
      '/integration/webhook/secret',
      async ({ accountId }) => success(await webhooks.secrets(accountId), 'These are the signing secrets.'),
      {
        response: responses(t.Array(WebhookSecret), 'unauthenticated'),
        detail: { summary: 'The signing secret of each URL of the list', ...about },
      },
    )
    .post(
      '/integration/webhook/secret/rotate',
      async ({ accountId, body: { url, force } }) =>
        success(await webhooks.rotate(accountId, url, force), 'The secret was replaced.'),
      {
        ...takes(Rotation),
        response: responses(WebhookSecret, ...BODY_FAULTS, 'conflict'),
        detail: { summary: 'A new secret for a URL; the one before signs too for 24 hours', ...about },
      },
    )
}
