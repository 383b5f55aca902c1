import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import type { StatusStore, WebhookStatusRecord } from '../store/operations/statuses.ts'
import { accountLease, type Ownership } from './ownership.ts'

/** The status of a webhook, JSON. */
export type WebhookReport = { readonly webhookId: number; readonly accountId: number; readonly status: string }

type StatusReporterOptions = {
  readonly statuses: Pick<StatusStore, 'webhookStatusSet'>
  readonly ownership: Pick<Ownership, 'fenceOf' | 'onChange'>
  /** Returns the webhooks that may have changed since it was asked last, or all of which something is known. */
  readonly webhooks: (which: 'changed' | 'all') => readonly WebhookReport[]
  readonly log: Log
  readonly everyMs?: number
}

/** Any node shows a change within a second: half of it for writing, half for reading. */
const EVERY_MS = 500
/** So many webhooks are reported at a time, so that a statement stays short: more wait for the next time. */
const MAX_WEBHOOKS = 1_000
/** A change of which nobody was notified is found by comparing all. */
const ALL_EVERY_MS = 10_000

/**
 * Reports how the webhooks of the accounts are that this node owns, for other nodes to show: twice a second what has
 * changed, and nothing if nothing has. What is written too late has no effect: it has the term of a lease that is over.
 */
export function startStatusReporter(options: StatusReporterOptions): { stop(): Promise<void> } {
  const { statuses, ownership, log, everyMs = EVERY_MS } = options
  /** By webhook: the term and the status that was reported last. */
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
      log.debug({ err: error }, 'cannot report to other nodes how webhooks are, will retry')
    }
  }

  const unlisten = ownership.onChange(() => {
    // Another node reports what was lost, and a later term needs another report.
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
