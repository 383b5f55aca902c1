import { Elysia, t } from 'elysia'
import { type AuthService, guard } from '../../auth/auth.ts'
import { EVENT_KINDS, EVENT_NAMES, type EventKind } from '../../events/kinds.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { type NowUs, rfc3339 } from '../../lib/time.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { WebhookEntry } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { WebhookHealth } from '../model.ts'
import { createFreshReader } from './fresh-reader.ts'
import { type ReadWebhookStatuses, reportedStatus } from './webhook-statuses.ts'

/** Many pages of one account ask at the same time: pending deliveries are counted once in this time. */
const FRESH_MS = 1_000

type HealthSources = {
  readonly store: Pick<Store, 'webhooks'>
  readonly statuses: ReadWebhookStatuses
  /** The clock on which deliveries wait. */
  readonly steadyUs: NowUs
  readonly nowUs: NowUs
}

type ListedHealth = { readonly id: number; readonly health: WebhookHealth }

/** Returns the kinds of event that a webhook asks for. Without switches it has just left the list. */
function kindsOf(switches: WebhookEntry | undefined, further: readonly string[]): readonly EventKind[] {
  return EVENT_NAMES.filter((name) => {
    const { obeys } = EVENT_KINDS[name]
    return obeys === null ? further.includes(name) : switches?.[obeys] === true
  })
}

/**
 * Creates the reader of how the webhooks of an account do: for pages, whose list may be a second old, or as it is at
 * each moment, for a command that follows a change.
 */
export function createHealthReader(
  { store, statuses, steadyUs, nowUs }: HealthSources,
  readFor: 'pages' | 'moment' = 'pages',
) {
  const listNow = async (accountId: number) => {
    const [listed, entries, options] = await Promise.all([
      store.webhooks.webhookListWithPending(accountId),
      store.webhooks.listGet(accountId),
      store.webhooks.optionsList(accountId),
    ])
    const byUrl = new Map(options.map((one) => [one.url, one.options]))
    const switchesOf = Map.groupBy(entries, ({ url }) => url)
    return listed.map((webhook) => {
      const own = byUrl.get(webhook.url)
      const events = kindsOf(switchesOf.get(webhook.url)?.[webhook.occurrence], own?.events ?? [])
      return { ...webhook, options: own, events }
    })
  }
  const listOf = readFor === 'moment' ? listNow : createFreshReader(FRESH_MS, listNow)
  return async (accountId: number): Promise<ListedHealth[]> => {
    const listed = await listOf(accountId)
    const ids = listed.map(({ id }) => id)
    const statusOf = await statuses(accountId, ids)
    return listed.map(({ id, url, occurrence, options, events, pending }) => {
      const { name = null, paused = false, filter = null } = options ?? {}
      const filtered = filter !== null
      const { downSinceUs = null, refusingSinceUs = null, last = null } = statusOf.get(id) ?? {}
      const downSince = downSinceUs === null ? null : rfc3339(Math.round(nowUs() - steadyUs() + downSinceUs))
      const health = {
        url,
        occurrence,
        name,
        paused,
        filtered,
        events: [...events],
        down_since: downSince,
        refusing_since: refusingSinceUs === null ? null : rfc3339(refusingSinceUs),
        pending,
        last,
      }
      return { id, health }
    })
  }
}

/** Creates the route that lists how the webhooks of an account do, for those who need nothing else of the page. */
export function webhookHealthRoutes(auth: AuthService, sources: HealthSources) {
  const webhooksOf = createHealthReader(sources)
  const presentOf = createHealthReader(sources, 'moment')
  return new Elysia({ name: 'webhook-health', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/integration/webhook/health',
      async ({ accountId, request }) => {
        const listed = await (auth.isOperators(request) ? presentOf : webhooksOf)(accountId)
        return success(
          listed.map(({ health }) => health),
          'This is how the webhooks do.',
        )
      },
      {
        response: responses(t.Array(WebhookHealth), 'unauthenticated'),
        detail: {
          summary: 'How each webhook of the list does: down, refusing, pending deliveries, the last answer',
          description: 'In the order of the list.',
          tags: ['Webhooks'],
          security: [{ bearer: [] }],
        },
      },
    )
}

/** Reads the statuses as the nodes of a database report them, in a process that sends nothing; none without reports. */
export const readReportedStatuses =
  (reports: Pick<StatusStore, 'webhookStatusGetMany'> | undefined): ReadWebhookStatuses =>
  async (_, webhookIds) => {
    const rows = webhookIds.length === 0 ? [] : ((await reports?.webhookStatusGetMany(webhookIds)) ?? [])
    return new Map(rows.map(({ webhookId, status, isPresent }) => [webhookId, reportedStatus(status, isPresent)]))
  }
