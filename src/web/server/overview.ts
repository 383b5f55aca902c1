import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { type AuthService, guard } from '../../auth/auth.ts'
import { deliveryOf, sentenceOfBody } from '../../deliveries/deliveries.ts'
import { readEventBody } from '../../events/stored-json.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { type OpaqueIds, openOpaqueIds } from '../../http/opaque-ids.ts'
import { asks } from '../../http/query.ts'
import { UUID } from '../../lib/api-schema.ts'
import { Fault } from '../../lib/fault.ts'
import { bodyInSlices } from '../../lib/slices.ts'
import { type NowUs, rfc3339 } from '../../lib/time.ts'
import { ERASED_START, type EventRow } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import { MAX_URL_CHARACTERS, MAX_WEBHOOKS } from '../../webhooks/webhooks.ts'
import { EventWithDeliveries, type LiveCall, Overview, type PbxStatus, TrafficPeriod, WebhookMinute } from '../model.ts'
import type { Figures } from './figures.ts'
import { newestCalls } from './newest-calls.ts'
import { readTraffic } from './traffic.ts'
import { createHealthReader } from './webhook-health.ts'
import type { ReadWebhookStatuses } from './webhook-statuses.ts'

type OverviewSources = {
  store: Store
  figures: Figures
  statuses: ReadWebhookStatuses
  /** Returns the live calls of an account; the view of each is computed when it is read. */
  liveCalls: (accountId: number) => Iterable<LiveCall & { readonly id: string }>
  /** Reads the live calls of other nodes. */
  refreshCalls: () => Promise<void>
  pbxs: (accountId: number) => Promise<PbxStatus[]>
  /** The clock on which deliveries wait. */
  steadyUs: NowUs
  nowUs: NowUs
}

/** More calls than anybody reads: 10,000 would be some 20 MB. */
const MAX_CALLS = 500

const Query = t.Object({
  calls: t.Optional(
    t.UnionEnum(['all', 'none'], {
      default: undefined,
      description: '`none` leaves the calls out, but for their number: the stream sends them',
    }),
  ),
})

const WebhookQuery = t.Object({
  url: t.String({ maxLength: MAX_URL_CHARACTERS, description: 'The URL of the webhook' }),
  occurrence: t.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WEBHOOKS - 1,
      default: 0,
      description: 'Which one, if the list has this URL several times',
    }),
  ),
})

const TrafficQuery = t.Object({
  range: t.Optional(
    t.UnionEnum(['day', 'week'], {
      default: undefined,
      description: '`day`: 24 hours in periods of 15 minutes; `week`: 7 days in periods of 2 hours; without it, `day`',
    }),
  ),
})

const JSON_HEADERS = { 'content-type': 'application/json' }
const about = { tags: ['Page'], security: [{ bearer: [] }] }

/**
 * Returns the routes that are for the page: the state of everything now, and the events of one call with their
 * deliveries.
 */
export function overviewRoutes(auth: AuthService, sources: OverviewSources) {
  const { store, figures, liveCalls, refreshCalls, pbxs, nowUs } = sources
  const webhooksOf = createHealthReader(sources)
  const openIds = openOpaqueIds(store.log)
  return new Elysia({ name: 'overview', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/overview',
      async ({ accountId, query }) => {
        if (query.calls !== 'none') await refreshCalls()
        const { newest, count } = await newestCalls(liveCalls(accountId), query.calls === 'none' ? 0 : MAX_CALLS)
        const webhooks = await webhooksOf(accountId)
        const rest = {
          now: rfc3339(nowUs()),
          account: (await store.accounts.accountGetName(accountId)) ?? '',
          pbxs: await pbxs(accountId),
          webhooks: webhooks.map(({ health }) => health),
          minutes: await figures.ofAccount(accountId),
          call_count: count,
        }
        return new Response(bodyInSlices(overviewText(rest, newest)), { headers: JSON_HEADERS })
      },
      {
        ...asks(Query),
        response: responses(Overview, 'unauthenticated', 'invalid'),
        detail: {
          summary: 'Live calls, PBXs, the health of the webhooks, and the last hour minute by minute',
          description: 'What the web page shows first. It then follows `GET /stream`.',
          ...about,
        },
      },
    )
    .get(
      '/overview/webhook',
      async ({ accountId, query: { url, occurrence = 0 } }) => {
        const webhooks = await webhooksOf(accountId)
        const found = webhooks.find(({ health }) => health.url === url && health.occurrence === occurrence)
        if (found === undefined) throw new Fault('not_found', 'This webhook is not in the list.')
        const minutes = await figures.ofWebhook({ accountId, webhookId: found.id })
        return success(minutes, 'This is the last hour of the webhook.')
      },
      {
        ...asks(WebhookQuery),
        response: responses(t.Array(WebhookMinute), 'unauthenticated', 'not_found', 'invalid'),
        detail: {
          summary: 'The last hour of a webhook, minute by minute',
          description: 'Delivered, failed, and how long deliveries took.',
          ...about,
        },
      },
    )
    .get(
      '/overview/traffic',
      async ({ accountId, query: { range = 'day' } }) =>
        success(await readTraffic(store.statistics, { accountId, range, nowUs: nowUs() }), 'These are the figures.'),
      {
        ...asks(TrafficQuery),
        response: responses(t.Array(TrafficPeriod), 'unauthenticated', 'invalid'),
        detail: {
          summary: 'The figures of the last 24 hours or 7 days',
          description: 'In periods of 15 minutes or 2 hours, the oldest first. The last hour is in `GET /overview`.',
          ...about,
        },
      },
    )
    .get(
      '/call/:id/event',
      async ({ accountId, params }) => {
        const ids = await openIds()
        const events = (await store.log.eventListOfCall(accountId, params.id)).map((row) => eventOf(ids, row))
        // A call that is older than the kept deliveries has only its record.
        if (events.length === 0 && (await store.calls.callGet(accountId, params.id)) === undefined)
          throw new Fault('not_found', 'There is no call with this id.')
        return success(events, 'These are the events of the call.')
      },
      {
        params: t.Object({ id: t.String({ description: 'The id of the call', form: UUID }) }),
        response: responses(t.Array(EventWithDeliveries), 'unauthenticated', 'not_found'),
        detail: {
          summary: 'The events of a call in order, each with its deliveries',
          description: 'In the order of `sequence`.',
          ...about,
        },
      },
    )
}

/** Returns an event as the page shows it. One whose body was erased has neither stage nor transfer. */
function eventOf(
  ids: OpaqueIds,
  { uuid, name, sequence, atUs, body, deliveries: rows }: EventRow,
): EventWithDeliveries {
  const read = body.startsWith(ERASED_START) ? undefined : readEventBody(body)
  const data = read?.data
  const stage = data !== undefined && 'stage' in data ? data.stage : null
  const transfer = data !== undefined && 'transfer' in data ? data.transfer : null
  const by = data !== undefined && 'by' in data ? data.by : null
  const subject = sentenceOfBody(read)
  const deliveries = rows.map((row) => deliveryOf(ids, row, subject))
  return { id: uuid, name, sequence, at: rfc3339(atUs), stage, transfer, by, deliveries }
}

/** Returns the response piece by piece: 500 calls may have some MB. */
function* overviewText(rest: Omit<Overview, 'calls'>, calls: Iterable<LiveCall>): Generator<string> {
  const { result, ...envelope } = success(rest, 'This is the state of your account.')
  const open = (object: object) => JSON.stringify(object).slice(0, -1)
  yield `${open(envelope)},"result":${open(result)},"calls":[`
  let isFirst = true
  for (const { pbx, call, stages } of calls) {
    // It has ended since the others were written.
    if (call.state === 'ended') continue
    yield `${isFirst ? '' : ','}${JSON.stringify({ pbx, call, stages })}`
    isFirst = false
  }
  yield ']}}'
}
