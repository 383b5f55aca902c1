import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import type { StatusStore, WebhookStatusRecord } from '../store/operations/statuses.ts'
import { accountLease, type Ownership, pbxLease } from './ownership.ts'

/** The status of a PBX and its endpoints, JSON. */
export type PbxReport = { readonly pbx: string; readonly status: string; readonly endpoints: string }
/** The status of a webhook, JSON. */
export type WebhookReport = { readonly webhookId: number; readonly accountId: number; readonly status: string }

export type StatusReporterOptions = {
  readonly statuses: Pick<StatusStore, 'statusSet'>
  readonly ownership: Pick<Ownership, 'fenceOf' | 'onChange'>
  /** Returns the PBXs that this node watches. */
  readonly pbxs: () => readonly PbxReport[]
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
 * Reports how the PBXs and webhooks are that this node owns, for other nodes to show: twice a second what has changed,
 * and nothing if nothing has. What is written too late has no effect: it has the term of a lease that is over.
 */
export function startStatusReporter(options: StatusReporterOptions): { stop(): Promise<void> } {
  const { statuses, ownership, log, everyMs = EVERY_MS } = options
  const reported = createReported()
  let waiting = new Map<number, WebhookReport>()
  let comparesAllAtMs = 0

  function termOf(lease: string): string | undefined {
    try {
      return ownership.fenceOf(lease)?.terms[0]
    } catch {
      return undefined
    }
  }
  function changedPbxs() {
    return options.pbxs().flatMap(({ pbx, status, endpoints }) => {
      const term = termOf(pbxLease(pbx))
      if (term === undefined) return []
      const isNew = reported.isNew(`endpoints ${pbx}`, term, endpoints)
      if (!isNew && !reported.isNew(`pbx ${pbx}`, term, status)) return []
      return [{ pbx, term, status, endpoints: isNew ? endpoints : null }]
    })
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
      if (term !== undefined && reported.isNew(`webhook ${webhookId}`, term, status))
        changed.push({ webhookId, term, status })
    }
    return changed
  }
  async function report(): Promise<void> {
    const pbxs = changedPbxs()
    const webhooks = changedWebhooks()
    if (pbxs.length + webhooks.length === 0) return
    try {
      await statuses.statusSet({ pbxs, webhooks })
      for (const { webhookId, term, status } of webhooks) reported.note(`webhook ${webhookId}`, term, status)
      for (const { pbx, term, status, endpoints } of pbxs) {
        reported.note(`pbx ${pbx}`, term, status)
        if (endpoints !== null) reported.note(`endpoints ${pbx}`, term, endpoints)
      }
    } catch (error) {
      comparesAllAtMs = 0
      log.debug({ err: error }, 'cannot report to other nodes how PBXs and webhooks are, will retry')
    }
  }

  const unlisten = ownership.onChange(() => {
    // Another node reports what was lost, and a later term needs another report.
    reported.forget()
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

/** Creates the memory of what was reported last, and under which term. */
function createReported() {
  const last = new Map<string, string>()
  const entry = (term: string, text: string) => `${term} ${text}`
  return {
    isNew: (key: string, term: string, text: string) => last.get(key) !== entry(term, text),
    note: (key: string, term: string, text: string) => void last.set(key, entry(term, text)),
    forget: () => last.clear(),
  }
}
