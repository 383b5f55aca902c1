import { Elysia, t } from 'elysia'
import { type Audit, type AuthService, guard } from '../auth/auth.ts'
import { accepts } from '../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import { asks } from '../http/query.ts'
import { createQuota } from '../http/rate-limit.ts'
import { type NowUs, SECOND, steadyUs } from '../lib/time.ts'
import type { AllowList } from '../outbound/address-guard.ts'
import { itemRule, Rotation, UrlOnly, urlRule, Webhook, WebhookList, WebhookSecret } from './model.ts'
import type { WebhookService } from './service.ts'

const about = { tags: ['Webhooks'], security: [{ bearer: [] }] }

type WebhookRoutesOptions = {
  readonly auth: AuthService
  readonly webhooks: WebhookService
  readonly allow: AllowList
  readonly audit: Audit
  readonly now?: NowUs
}

/** The query of a removal: the URL. */
const removal = asks(UrlOnly)

/** The limit of changes per account, so that a script in a loop does not keep the store busy. */
const CHANGES_A_MINUTE = 60

/** Creates the routes for webhook lists and their secrets. */
export function webhookRoutes({ auth, webhooks, allow, audit, now = steadyUs }: WebhookRoutesOptions) {
  const quota = createQuota({ limit: CHANGES_A_MINUTE, windowUs: 60 * SECOND, now })
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
        detail: {
          summary: 'The list of webhooks; its ETag goes into If-Match',
          description: 'The whole list in its order. A URL that is in it twice gets each event twice.',
          ...about,
        },
      },
    )
    .put(
      '/integration/webhook',
      async ({ accountId, user, body, request, server, set }) => {
        quota.take(accountId)
        const { list, etag, change } = await webhooks.replace(accountId, body, request.headers.get('if-match'))
        await audit.note('webhooks_replaced', { user, client: audit.clientOf(request, server) }, change)
        set.headers.etag = etag
        return success(list, 'The webhooks were replaced.')
      },
      {
        ...takes(WebhookList, urlRule(allow)),
        response: responses(WebhookList, 'unauthenticated', ...BODY_FAULTS, 'precondition_failed'),
        detail: {
          summary: 'Replace the whole list; [] deletes all',
          description:
            'All or nothing. Pending deliveries of a removed URL are cancelled; its secret and options are kept for a year.',
          ...about,
          parameters: [
            {
              in: 'header',
              name: 'If-Match',
              required: false,
              description: 'Replaces the list only if it still has this ETag',
              schema: { type: 'string' },
            },
          ],
        },
      },
    )
    .post(
      '/integration/webhook/item',
      async ({ accountId, user, body, request, server, set }) => {
        quota.take(accountId)
        const { etag, change } = await webhooks.append(accountId, body)
        await audit.note('webhooks_replaced', { user, client: audit.clientOf(request, server) }, change)
        set.headers.etag = etag
        return success(body, 'The webhook was appended to the list.')
      },
      {
        ...takes(Webhook, itemRule(allow)),
        response: responses(Webhook, 'unauthenticated', ...BODY_FAULTS, 'conflict'),
        detail: {
          summary: 'Append one webhook to the list; changes by others at the same time are kept',
          description: '409 if the URL is in the list, 422 if the list is full. The ETag is for the list.',
          ...about,
        },
      },
    )
    .delete(
      '/integration/webhook/item',
      async ({ accountId, user, query, request, server, set }) => {
        quota.take(accountId)
        const { etag, change } = await webhooks.remove(accountId, query.url)
        await audit.note('webhooks_replaced', { user, client: audit.clientOf(request, server) }, change)
        set.headers.etag = etag
        return success([], 'The webhook was removed from the list.')
      },
      {
        ...removal,
        parse: takesNothing.parse,
        transform: [takesNothing.transform, removal.transform],
        response: responses(Nothing, 'unauthenticated', 'not_found', ...READ_FAULTS, 'invalid'),
        detail: {
          summary: 'Remove one URL from the list; changes by others at the same time are kept',
          description: '404 if the URL is not in the list. Removes every entry with the URL.',
          ...about,
        },
      },
    )
    .get(
      '/integration/webhook/secret',
      async ({ accountId }) => success(await webhooks.secrets(accountId), 'These are the signing secrets.'),
      {
        response: responses(t.Array(WebhookSecret), 'unauthenticated'),
        detail: {
          summary: 'The signing secret of each URL of the list',
          description:
            'Each URL has a secret of its own. Receivers verify requests with it, using any library for Standard Webhooks.',
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/secret/rotate',
      async ({ accountId, user, body: { url, force }, request, server }) => {
        quota.take(accountId)
        const secret = await webhooks.rotate(accountId, url, force)
        await audit.note(
          'secret_rotated',
          { user, client: audit.clientOf(request, server) },
          { host: new URL(url).host },
        )
        return success(secret, 'The secret was replaced.')
      },
      {
        ...takes(Rotation),
        response: responses(WebhookSecret, 'unauthenticated', ...BODY_FAULTS, 'conflict'),
        detail: {
          summary: 'Make a new secret for a URL; the previous one also signs for 24 hours',
          description:
            'Requests have two signatures for 24 hours, so that the receiver can change over. Another rotation within that time answers 409, unless it is forced.',
          ...about,
        },
      },
    )
}
