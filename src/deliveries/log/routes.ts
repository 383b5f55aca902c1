import { Elysia, t } from 'elysia'
import { type AuthService, ofOneAccount, scopeGuard } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, takes, takesNothing, takesOptional } from '../../http/body.ts'
import { responses, success, successOf } from '../../http/envelope.ts'
import { PageCursor, PageLimit } from '../../http/paging.ts'
import { asks } from '../../http/query.ts'
import { createQuota } from '../../http/rate-limit.ts'
import { type NowUs, SECOND, steadyUs } from '../../lib/time.ts'
import { bodyFilterOf, refuseBodyFilter } from './body-filter.ts'
import {
  DELIVERY_ID,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryPage,
  NewReplay,
  Queued,
  Tested,
  TestedFlow,
  TestRequest,
} from './model.ts'
import type { ReplayService } from './replay-service.ts'
import type { DeliveryService } from './service.ts'
import type { SendTest } from './test-request.ts'

const about = { tags: ['Deliveries'], security: [{ bearer: [] }] }

const Query = t.Composite([
  DeliveryFilter,
  t.Object({
    limit: PageLimit,
    cursor: PageCursor,
  }),
])

const Params = t.Object({ id: t.String({ description: 'The id of the delivery', form: DELIVERY_ID }) })

/** A test waits for its turn, then takes up to 10 s, or a minute and a request with a flow; with a margin. */
const TEST_WITHIN_S = 100

/** Test requests per account and minute: each may be a request to anybody. */
const TESTS_A_MINUTE = 30

const DetailQuery = t.Object({
  probes: t.Optional(
    t.UnionEnum(['true', 'false'], {
      default: undefined,
      description: '`true`: each attempt has `probe`, whether it was a probe of a webhook that is down',
    }),
  ),
})

type Services = {
  readonly deliveries: DeliveryService
  readonly replays: ReplayService
  readonly sendTest: SendTest
}

/** Returns the routes of the log of deliveries, of retries by hand, and of test requests. */
export function deliveryRoutes(auth: AuthService, { deliveries, replays, sendTest }: Services, now: NowUs = steadyUs) {
  const quota = createQuota({ limit: TESTS_A_MINUTE, windowUs: 60 * SECOND, now, what: 'test requests' })
  return new Elysia({ name: 'deliveries', normalize: false })
    .use(accepts)
    .use(scopeGuard(auth))
    .get(
      '/integration/delivery',
      async ({ scope, query: { limit, cursor, ...filter } }) =>
        successOf(
          scope,
          await deliveries.list(scope, filter, limit, cursor, bodyFilterOf(filter)),
          'The deliveries of the log.',
        ),
      {
        ...asks(Query),
        response: responses(DeliveryPage, 'unauthenticated', 'invalid'),
        detail: {
          summary: 'List deliveries, newest first',
          description:
            'All filters must match. Also by what is in the body below `data`, as text: `body.call.from.number=…`, three at ' +
            'most. One page at a time: `next_cursor` leads to the next one.',
          ...about,
        },
      },
    )
    .get(
      '/integration/delivery/:id',
      async ({ scope, params, query }) =>
        successOf(
          scope,
          await deliveries.show(scope, params.id, { probes: query.probes === 'true' }),
          'The delivery, with its attempts.',
        ),
      {
        ...asks(DetailQuery),
        params: Params,
        response: responses(DeliveryDetail, 'unauthenticated', 'not_found', 'invalid'),
        detail: {
          summary: 'Get a delivery with its body and attempts',
          description: 'With the body as it was sent and every attempt with its response.',
          ...about,
        },
      },
    )
    .post(
      '/integration/delivery/:id/retry',
      async ({ scope, params }) =>
        successOf(scope, await deliveries.retry(scope, params.id), 'The delivery is being sent again.'),
      {
        ...takesNothing,
        params: Params,
        response: responses(Delivery, 'unauthenticated', ...BODY_FAULTS, 'not_found'),
        detail: {
          summary: 'Send a delivery again, at once and on a new schedule',
          description:
            'Starts a new schedule whose first attempt is due at once; earlier attempts stay in the log. A delivered one is sent again.',
          ...about,
        },
      },
    )
    .post(
      '/integration/delivery/retry',
      async ({ scope, body }) => {
        refuseBodyFilter(body)
        return success(
          { queued: await deliveries.retryAll(scope, body) },
          'The matching deliveries are being sent again.',
        )
      },
      {
        ...takesOptional(DeliveryFilter),
        response: responses(Queued, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Send matching deliveries again, failed ones by default',
          description: 'All filters must match; without `state` the failed ones. The body may be left out.',
          requestBody: { required: false, content: {} },
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/replay',
      async ({ scope, body }) =>
        success(
          { queued: await replays.add(ofOneAccount(scope), body) },
          'The past events are being sent, those of new calls first.',
        ),
      {
        ...takes(NewReplay),
        response: responses(Queued, 'unauthenticated', 'conflict', ...BODY_FAULTS),
        detail: {
          summary: 'Send the past events of a time to a URL of the list',
          description:
            'As if they had just occurred, the oldest first: with the same bodies and ids, through its filter, flow and pace. Those that were delivered to it, or are pending, are left out. At most 1,000,000, and one such request for a URL at a time.',
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/test',
      async ({ scope, body, request, server }) => {
        const accountId = ofOneAccount(scope)
        quota.take(accountId)
        // The server's idle timeout would cut off the response of a hanging test.
        server?.timeout(request, TEST_WITHIN_S)
        const tested = await sendTest(accountId, body.url, { send: body.send ?? false })
        const isSent = !('steps' in tested) || body.send === true
        return success(tested, isSent ? 'The test request was sent.' : 'These are the requests; none was sent.')
      },
      {
        ...takes(TestRequest),
        response: responses(t.Union([Tested, TestedFlow]), 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Send one signed test request to a URL of the list',
          description:
            'The request has a real signature and is stored nowhere. Two at a time for an account, 30 a minute. It ignores pauses and limits. Of a webhook with ' +
            'a flow the steps that begin with `call_ended` are rendered with a sample, and sent with `"send": true` alone.',
          ...about,
        },
      },
    )
}
