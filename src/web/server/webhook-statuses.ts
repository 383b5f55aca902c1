import type { Ownership } from '../../cluster/cluster.ts'
import type { RefusalWatch } from '../../deliveries/deliveries.ts'
import type { BreakerHealth } from '../../outbound/circuit-breaker.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { DeliveryCounts, LastResponse } from './delivery-counts.ts'
import { createFreshReader } from './fresh-reader.ts'
import type { WebhookKey } from './last-hour.ts'
import type { WebhookReport } from './status-reporter.ts'

/**
 * How a webhook does. `downSinceUs`: since when its circuit breaker is open, in steady time; `refusingSinceUs`: since
 * when its receiver refuses all that it gets, in wall time.
 */
type WebhookStatus = {
  readonly downSinceUs: number | null
  readonly refusingSinceUs: number | null
  readonly last: LastResponse | null
}

/** Returns a function that reads how these webhooks of an account do, whichever node sends for it. */
export type ReadWebhookStatuses = (
  accountId: number,
  webhookIds: readonly number[],
) => Promise<ReadonlyMap<number, WebhookStatus>>

export type OwnStatuses = {
  readonly counts: Pick<DeliveryCounts, 'last' | 'takeChanged' | 'known'>
  readonly health: (webhookId: number) => BreakerHealth
  readonly refusals: Pick<RefusalWatch, 'sinceUs' | 'refusing'>
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
        const known = statusOf(own, id)
        const { downSinceUs, refusingSinceUs } = isOwn ? known : report
        return [id, { downSinceUs, refusingSinceUs, last: newest(known.last, report.last) }]
      }),
    )
  }
}

/** Returns the reports of a node about its webhooks, for the other nodes. */
export const webhookReports =
  (own: OwnStatuses) =>
  (which: 'changed' | 'all'): WebhookReport[] =>
    (which === 'all' ? knownTo(own) : own.counts.takeChanged()).map(({ webhookId, accountId }) => ({
      webhookId,
      accountId,
      status: JSON.stringify(statusOf(own, webhookId)),
    }))

/** Returns the webhooks with an attempt since the start, and webhooks that have refused since before the start. */
function knownTo({ counts, refusals }: OwnStatuses): readonly WebhookKey[] {
  const known = new Map([...refusals.refusing(), ...counts.known()].map((one) => [one.webhookId, one]))
  return [...known.values()]
}

const UNKNOWN: WebhookStatus = { downSinceUs: null, refusingSinceUs: null, last: null }

const statusOf = ({ counts, health, refusals }: OwnStatuses, webhookId: number): WebhookStatus => ({
  downSinceUs: health(webhookId).downSinceUs,
  refusingSinceUs: refusals.sinceUs(webhookId),
  last: counts.last(webhookId),
})

type Reported = Pick<WebhookStatus, 'downSinceUs' | 'last'>

/**
 * Returns a status as its owner reported it. The next owner begins with a closed breaker, so that of an owner that is
 * gone only the refusals and the last response are worth showing.
 */
export function reportedStatus(status: string, isPresent: boolean): WebhookStatus {
  // A node of an earlier version does not report refusals.
  const { downSinceUs, refusingSinceUs = null, last }: Partial<WebhookStatus> & Reported = JSON.parse(status)
  return { downSinceUs: isPresent ? downSinceUs : null, refusingSinceUs, last }
}

const newest = (one: LastResponse | null, other: LastResponse | null): LastResponse | null =>
  one === null || (other !== null && other.at > one.at) ? other : one
