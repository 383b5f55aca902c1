import type { Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import { MILLISECOND, type NowUs } from '../../lib/time.ts'
import { isLongOpen, LONG_OUTAGE_MS } from '../../outbound/circuit-breaker.ts'
import type { Store } from '../../store/store.ts'
import type { Scheduler } from '../queue/scheduler.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'

/** Called when a webhook has been down for five minutes, and when that ends; `ended`: why it is no longer watched. */
export type OnOutage = (url: string, state: 'down' | 'up', ended?: string) => void

type OutageNoticesOptions = {
  readonly scheduler: Pick<Scheduler, 'subscribe' | 'queues' | 'find'>
  readonly webhooks: Pick<WebhookCache, 'urlOf'>
  readonly store: { readonly outages: Store['outages']; readonly webhooks: Pick<Store['webhooks'], 'webhookGetMany'> }
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly steadyUs: NowUs
  readonly log: Log
  readonly onOutage: OnOutage | undefined
  readonly everyMs?: number
}

const CHECK_MS = 5_000
const LEFT = 'its URL has left the list'

/**
 * Subscribes to the circuit breakers: logs each outage of a webhook and its end, and reports each long outage and its
 * end once. The store keeps the reported outages, so that the next process, or another node, reports the end. A pause
 * of a webhook restarts its five minutes.
 */
export function startOutageNotices(options: OutageNoticesOptions): { stop(): void } {
  const { scheduler, webhooks, store, ownership, steadyUs, log, onOutage, everyMs = CHECK_MS } = options
  /** The reported URLs, by webhook id. */
  const reported = new Map<number, string>()
  const pausedUs = new Map<number, number>()

  scheduler.subscribe((webhookId, change) => {
    if (change === 'removed') pausedUs.delete(webhookId)
    // A paused webhook is neither down nor up.
    if (change === 'removed' || change === 'paused') return
    const facts = { webhook: webhookId, url: webhooks.urlOf(webhookId) }
    if (change === 'opened') log.warn(facts, 'webhook is down: its deliveries are kept, only probes are sent')
    else {
      log.info(facts, 'webhook is up again: its pending deliveries are sent')
      if (reported.has(webhookId)) void end(webhookId).catch(later)
    }
  })

  const later = (err: unknown) => log.debug({ err }, 'cannot note the outages of webhooks, will retry')

  async function end(webhookId: number, reason?: string): Promise<void> {
    const name = reported.get(webhookId) ?? webhooks.urlOf(webhookId)
    if (await store.outages.outageRemove({ what: 'webhook', key: String(webhookId) })) onOutage?.(name, 'up', reason)
    reported.delete(webhookId)
  }
  async function begin(webhookId: number): Promise<void> {
    const name = webhooks.urlOf(webhookId)
    const isNew = await store.outages.outageAdd({ what: 'webhook', key: String(webhookId), name })
    reported.set(webhookId, name)
    if (!isNew) return
    log.warn({ webhook: webhookId, url: name }, 'webhook has been down for 5 minutes')
    onOutage?.(name, 'down')
  }

  /** Reports the webhooks that have been down for five minutes by now. */
  async function findDown(): Promise<void> {
    for (const { webhookId, breaker, pace } of [...scheduler.queues()]) {
      if (pace.isPaused) pausedUs.set(webhookId, steadyUs())
      const sincePauseUs = steadyUs() - (pausedUs.get(webhookId) ?? Number.NEGATIVE_INFINITY)
      const isLong = isLongOpen(breaker, steadyUs()) && sincePauseUs >= LONG_OUTAGE_MS * MILLISECOND
      if (isLong && !reported.has(webhookId)) await begin(webhookId)
    }
  }
  /**
   * Reports the end of outages that an earlier process or another node reported, and of webhooks that left their list.
   */
  async function findEnded(): Promise<void> {
    const unknown: number[] = []
    for (const webhookId of [...reported.keys()]) {
      const breaker = scheduler.find(webhookId)?.breaker
      if (breaker === undefined) unknown.push(webhookId)
      else if (breaker.open === undefined && breaker.proven) await end(webhookId)
    }
    if (unknown.length === 0) return
    const records = new Map((await store.webhooks.webhookGetMany(unknown)).map((record) => [record.id, record]))
    for (const webhookId of unknown) {
      const record = records.get(webhookId)
      const isMine = record === undefined || ownership.ownsAccount(record.accountId)
      if (isMine && record?.listed !== true) await end(webhookId, LEFT)
    }
  }

  const periodic = startPeriodic(everyMs, async () => {
    try {
      const stored = await store.outages.outageList('webhook')
      reported.clear()
      for (const { key, name } of stored) reported.set(Number(key), name)
      await findDown()
      await findEnded()
    } catch (error) {
      later(error)
    }
  })
  return { stop: () => void periodic.stop() }
}
