import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { guard } from '../../auth/guard.ts'
import type { AuthService } from '../../auth/service.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, takes, takesNothing, takesOptional } from '../../http/body.ts'
import { responses, success } from '../../http/envelope.ts'
import { MAX_PAGE_SIZE, PAGE_SIZE } from '../../http/paging.ts'
import { asks } from '../../http/query.ts'
import { UrlOnly } from '../../webhooks/model.ts'
import { Delivery, DeliveryDetail, DeliveryFilter, DeliveryPage, Queued, Tested } from './model.ts'
import type { DeliveryService } from './service.ts'

const about = { tags: ['Deliveries'], security: [{ bearer: [] }] }

const Query = t.Composite([
  DeliveryFilter,
  t.Object({
    limit: t.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE, default: PAGE_SIZE })),
    cursor: t.Optional(t.String({ description: 'next_cursor of the page before' })),
  }),
])

/** A test request waits for others, then takes up to 10 s itself: with a margin. */
const TEST_WITHIN_S = 30

/** Sends the test request to a URL of an account. */
export type SendTest = (accountId: number, url: string) => Promise<typeof Tested.static>

const DetailQuery = t.Object({
  probes: t.Optional(
    t.UnionEnum(['true', 'false'], {
      default: undefined,
      description: 'true: each attempt has `probe`, whether it was a probe of a webhook that is down',
    }),
  ),
})

/** Returns the routes of the log of deliveries, of retries by hand, and of test requests. */
export function deliveryRoutes(auth: AuthService, deliveries: DeliveryService, sendTest: SendTest) {
  return new Elysia({ name: 'deliveries', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/integration/delivery',
      async ({ accountId, query: { limit, cursor, ...filter } }) =>
        success(await deliveries.list(accountId, filter, limit, cursor), 'The deliveries of the log.'),
      {
        ...asks(Query),
        response: responses(DeliveryPage, 'unauthenticated', 'invalid'),
        detail: { summary: 'List deliveries, newest first', ...about },
      },
    )
    .get(
      '/integration/delivery/:id',
      async ({ accountId, params, query }) =>
        success(
          await deliveries.show(accountId, params.id, { probes: query.probes === 'true' }),
          'The delivery, with its attempts.',
        ),
      {
        ...asks(DetailQuery),
        response: responses(DeliveryDetail, 'unauthenticated', 'not_found', 'invalid'),
        detail: { summary: 'Get a delivery with its body and attempts', ...about },
      },
    )
    .post(
      '/integration/delivery/:id/retry',
      async ({ accountId, params }) =>
        success(await deliveries.retry(accountId, params.id), 'The delivery is being sent again.'),
      {
        ...takesNothing,
        response: responses(Delivery, 'unauthenticated', ...BODY_FAULTS, 'not_found'),
        detail: { summary: 'Send a delivery again, at once and on a new schedule', ...about },
      },
    )
    .post(
      '/integration/delivery/retry',
      async ({ accountId, body }) =>
        success(
          { queued: await deliveries.retryAll(accountId, body) },
          'The matching deliveries are being sent again.',
        ),
      {
        ...takesOptional(DeliveryFilter),
        response: responses(Queued, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Send matching deliveries again, failed ones by default',
          requestBody: { required: false, content: {} },
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/test',
      async ({ accountId, body, request, server }) => {
        // The server's idle timeout would cut off the answer to one that hangs.
        server?.timeout(request, TEST_WITHIN_S)
        return success(await sendTest(accountId, body.url), 'The test request was sent.')
      },
      {
        ...takes(UrlOnly),
        response: responses(Tested, 'unauthenticated', ...BODY_FAULTS),
        detail: { summary: 'Send one signed test request to a URL of the list', ...about },
      },
    )
}
