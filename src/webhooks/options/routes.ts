import { Elysia, t } from 'elysia'
import { type Audit, type AuthService, guard } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, takes } from '../../http/body.ts'
import { responses, success } from '../../http/envelope.ts'
import { createQuota } from '../../http/rate-limit.ts'
import { type NowUs, SECOND, steadyUs } from '../../lib/time.ts'
import { NewWebhookOptions, Preview, PreviewRequest, WebhookOptions } from './model.ts'
import { optionsChange } from './options-change.ts'
import { bodyErrors, optionsRule } from './rules.ts'
import type { OptionsService } from './service.ts'

const about = { tags: ['Webhooks'], security: [{ bearer: [] }] }

/** Replacements of options, and previews, per account and minute. */
const REPLACED_A_MINUTE = 120
const PREVIEWS_A_MINUTE = 60

type Options = {
  readonly auth: AuthService
  readonly options: OptionsService
  readonly audit: Audit
  /** Returns what the owner of a URL has to know about its options, as a part of a sentence. */
  readonly warningOf: (options: WebhookOptions) => string | undefined
  readonly now?: NowUs
}

/** Creates the routes for the options of URLs: `/integration/webhook/options`. */
export function optionsRoutes({ auth, options, audit, warningOf, now = steadyUs }: Options) {
  const quota = createQuota({ limit: REPLACED_A_MINUTE, windowUs: 60 * SECOND, now })
  const previews = createQuota({ limit: PREVIEWS_A_MINUTE, windowUs: 60 * SECOND, now, what: 'previews' })
  return new Elysia({ name: 'webhook-options', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/integration/webhook/options',
      async ({ accountId }) => success(await options.list(accountId), 'These are the options of the webhooks.'),
      {
        response: responses(t.Array(WebhookOptions), 'unauthenticated'),
        detail: {
          summary: 'The options of each URL, in the order of the list',
          description: 'Values of headers are secrets: they are read as `null`.',
          ...about,
        },
      },
    )
    .put(
      '/integration/webhook/options',
      async ({ accountId, user, body, request, server }) => {
        quota.take(accountId)
        const before = (await options.list(accountId)).find(({ url }) => url === body.url)
        const { options: replaced, switchedOn } = await options.replace(accountId, body)
        const what = { ...optionsChange(before, replaced), paused: String(replaced.paused) }
        await audit.note('webhook_options_replaced', { user, client: audit.clientOf(request, server) }, what)
        const further =
          switchedOn.length === 0 ? '' : ` Switched on, since the flow needs them: ${switchedOn.join(', ')}.`
        const warning = warningOf(replaced)
        const note = warning === undefined ? '' : ` Note: ${warning}.`
        return success(replaced, `The options were replaced.${further}${note}`)
      },
      {
        ...takes(NewWebhookOptions, optionsRule),
        response: responses(WebhookOptions, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Replace the options of one URL of the list; an absent field gets its default',
          description:
            'They apply to new requests; `filter` and `events` apply to new events. A template is rendered with a sample of every kind of event.',
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/preview',
      async ({ accountId, body }) => {
        previews.take(accountId)
        return success(await options.preview(accountId, body), 'This is the request that a receiver would get.')
      },
      {
        ...takes(PreviewRequest, (body) =>
          bodyErrors(typeof body === 'object' && body !== null && 'body' in body ? body.body : undefined),
        ),
        response: responses(Preview, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'The request that a receiver would get with this body; nothing is stored or sent',
          description: 'Renders a body with a sample event. At most 60 a minute.',
          ...about,
        },
      },
    )
}
