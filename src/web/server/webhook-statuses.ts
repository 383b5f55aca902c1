import type { Ownership } from '../../cluster/ownership.ts'
import type { BreakerHealth } from '../../deliveries/policy/circuit-breaker.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { DeliveryCounts, LastResponse } from './delivery-counts.ts'
import { createFreshReader } from './fresh-reader.ts'
import type { WebhookReport } from './status-reporter.ts'

/** How a webhook does. `downSinceUs`: since when its circuit breaker is open, in steady time. */
type WebhookStatus = { readonly downSinceUs: number | null; readonly last: LastResponse | null }

/** Returns a function that reads how these webhooks of an account do, whichever node sends for it. */
export type ReadWebhookStatuses = (
  accountId: number,
  webhookIds: readonly number[],
) => Promise<ReadonlyMap<number, WebhookStatus>>

export type OwnStatuses = {
  readonly counts: Pick<DeliveryCounts, 'last' | 'takeChanged' | 'known'>
  readonly health: (webhookId: number) => BreakerHealth
}

/** Many pages may be open: the reports of other nodes are read once in this time. */
const FRESH_MS = 250

/** Reads the statuses of a node that sends for all accounts. */
export const readOwnStatuses =
  (own: OwnStatuses): ReadWebhookStatuses =>
  async (_, webhookIds) =>
    new Map(webhookIds.map((id) => [id, statusOf(own, id)]))

/** Reads the statuses of webhooks for which any of several nodes sends: it knows its own, and reads the others'. */
export function readAllStatuses(
  own: OwnStatuses,
  { ownership, store }: { ownership: Ownership; store: Pick<StatusStore, 'webhookStatusGetMany'> },
): ReadWebhookStatuses {
  const reportsOf = createFreshReader(FRESH_MS, async (ids: string) => {
    const rows = await store.webhookStatusGetMany(ids.split(' ').map(Number))
    return new Map(rows.map(({ webhookId, status, isPresent }) => [webhookId, reportedStatus(status, isPresent)]))
  })
  return async (accountId, webhookIds) => {
    if (webhookIds.length === 0) return new Map()
    const reports = await reportsOf(webhookIds.join(' '))
    const isOwn = ownership.ownsAccount(accountId)
    return new Map(
      webhookIds.map((id) => {
        const report = reports.get(id) ?? UNKNOWN
        const { downSinceUs, last } = statusOf(own, id)
        return [id, { downSinceUs: isOwn ? downSinceUs : report.downSinceUs, last: newest(last, report.last) }]
      }),
    )
  }
}

/** Returns the reports of a node about its webhooks, for the other nodes. */
export const webhookReports =
  (own: OwnStatuses) =>
  (which: 'changed' | 'all'): WebhookReport[] =>
    (which === 'all' ? own.counts.known() : own.counts.takeChanged()).map(({ webhookId, accountId }) => ({
      webhookId,
      accountId,
      status: JSON.stringify(statusOf(own, webhookId)),
    }))

const UNKNOWN: WebhookStatus = { downSinceUs: null, last: null }

const statusOf = ({ counts, health }: OwnStatuses, webhookId: number): WebhookStatus => ({
  downSinceUs: health(webhookId).downSinceUs,
  last: counts.last(webhookId),
})

/**
 * Returns a status as its owner reported it. The next owner begins with a closed breaker: of an owner that is gone only
 * the last response is worth showing.
 */
export function reportedStatus(status: string, isPresent: boolean): WebhookStatus {
  const { downSinceUs, last }: WebhookStatus = JSON.parse(status)
  return { downSinceUs: isPresent ? downSinceUs : null, last }
}

const newest = (one: LastResponse | null, other: LastResponse | null): LastResponse | null =>
  one === null || (other !== null && other.at > one.at) ? other : one
