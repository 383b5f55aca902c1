import type { Log } from '../lib/log.ts'
import type { NowUs } from '../lib/time.ts'
import { isLongOpen } from './circuit-breaker.ts'
import type { Guard } from './queue/guard.ts'
import type { Scheduler } from './queue/scheduler.ts'
import type { WebhookCache } from './queue/webhook-cache.ts'

export type OutageNoticesOptions = {
  readonly scheduler: Scheduler
  readonly webhooks: Pick<WebhookCache, 'urlOf'>
  readonly steadyUs: NowUs
  readonly guard: Guard
  readonly log: Log
  /** Called when a webhook has been down for five minutes, and when it is up after that. */
  readonly onOutage: ((url: string, state: 'down' | 'up') => void) | undefined
}

const CHECK_MS = 5_000

/** Subscribes to the circuit breakers: logs each outage of a webhook and its end, and reports each long one once. */
export function startOutageNotices(options: OutageNoticesOptions) {
  const { scheduler, webhooks, steadyUs, guard, log, onOutage } = options
  const reported = new Set<number>()
  scheduler.subscribe((webhookId, change) => {
    if (change === 'removed') {
      reported.delete(webhookId)
      return
    }
    // One that is paused is neither down nor up.
    if (change === 'paused') return
    const facts = { webhook: webhookId, url: webhooks.urlOf(webhookId) }
    if (change === 'opened') log.warn(facts, 'webhook is down: its deliveries are kept, only probes are sent')
    else {
      log.info(facts, 'webhook is up again: its pending deliveries are sent')
      if (reported.delete(webhookId)) onOutage?.(facts.url, 'up')
    }
  })

  function check(): void {
    for (const { webhookId, breaker } of scheduler.queues()) {
      if (!isLongOpen(breaker, steadyUs()) || reported.has(webhookId)) continue
      reported.add(webhookId)
      const url = webhooks.urlOf(webhookId)
      log.warn({ webhook: webhookId, url }, 'webhook has been down for 5 minutes')
      onOutage?.(url, 'down')
    }
  }

  const timer = setInterval(guard(check), CHECK_MS)
  return {
    /** Reports the webhooks that have been down for five minutes by now. */
    check,
    stop: () => clearInterval(timer),
  }
}
