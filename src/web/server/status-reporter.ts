import { accountLease, type Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import type { StatusStore, WebhookStatusRecord } from '../../store/operations/statuses.ts'

/** The status of a webhook, JSON. */
export type WebhookReport = { readonly webhookId: number; readonly accountId: number; readonly status: string }

type StatusReporterOptions = {
  readonly statuses: Pick<StatusStore, 'webhookStatusSet'>
  readonly ownership: Pick<Ownership, 'fenceOf' | 'onChange'>
  /** Returns the webhooks that may have changed since the last call, or all that have a status. */
  readonly webhooks: (which: 'changed' | 'all') => readonly WebhookReport[]
  readonly log: Log
  readonly everyMs?: number
}

/** Every node shows a change within a second: half for writing, half for reading. */
const EVERY_MS = 500
/** At most this many webhooks per report, to keep the statement short; the rest follow in the next one. */
const MAX_WEBHOOKS = 1_000
/** Comparing all webhooks finds changes without a notification. */
const ALL_EVERY_MS = 10_000

/**
 * Starts to report the status of this node's webhooks, for other nodes to show: the changes, twice a second. A late
 * report has no effect, since its lease has another term by then.
 */
export function startStatusReporter(options: StatusReporterOptions): { stop(): Promise<void> } {
  const { statuses, ownership, log, everyMs = EVERY_MS } = options
  /** The term and status last reported, by webhook. */
  const reported = new Map<number, string>()
  let waiting = new Map<number, WebhookReport>()
  let comparesAllAtMs = 0

  function termOf(lease: string): string | undefined {
    try {
      return ownership.fenceOf(lease)?.terms[0]
    } catch {
      return undefined
    }
  }
  function changedWebhooks(): WebhookStatusRecord[] {
    const isAll = performance.now() >= comparesAllAtMs
    if (isAll) comparesAllAtMs = performance.now() + ALL_EVERY_MS
    for (const report of options.webhooks(isAll ? 'all' : 'changed')) waiting.set(report.webhookId, report)
    const changed: WebhookStatusRecord[] = []
    for (const { webhookId, accountId, status } of waiting.values()) {
      if (changed.length === MAX_WEBHOOKS) break
      waiting.delete(webhookId)
      const term = termOf(accountLease(accountId))
      if (term !== undefined && reported.get(webhookId) !== `${term} ${status}`)
        changed.push({ webhookId, term, status })
    }
    return changed
  }
  async function report(): Promise<void> {
    const webhooks = changedWebhooks()
    if (webhooks.length === 0) return
    try {
      await statuses.webhookStatusSet(webhooks)
      for (const { webhookId, term, status } of webhooks) reported.set(webhookId, `${term} ${status}`)
    } catch (error) {
      comparesAllAtMs = 0
      log.debug({ err: error }, 'cannot report the status of webhooks to other nodes, will retry')
    }
  }

  const unlisten = ownership.onChange(() => {
    // Lost webhooks are reported by their new owner; regained ones need a report under the new term.
    reported.clear()
    waiting = new Map()
    comparesAllAtMs = 0
    return undefined
  })
  const periodic = startPeriodic(everyMs, report)
  return {
    async stop() {
      unlisten()
      await periodic.stop()
    },
  }
}
