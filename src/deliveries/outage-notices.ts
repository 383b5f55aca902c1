import type { Log } from '../lib/log.ts'
import type { NowUs } from '../lib/time.ts'
import { isLongDown } from './circuit-breaker.ts'
import type { Line } from './queue/webhook-queue.ts'

export type OutageNoticeOptions = {
  readonly queues: () => Iterable<Line>
  readonly urlOf: (webhookId: number) => string
  readonly steadyUs: NowUs
  readonly log: Log
  /** Called when a webhook has been down for 5 minutes, and when it is back after that. */
  readonly onOutage: ((url: string, state: 'down' | 'up') => void) | undefined
}

/** Reports each long outage of a webhook once, and its end. */
export function createOutageNotices({ queues, urlOf, steadyUs, log, onOutage }: OutageNoticeOptions) {
  const reported = new Set<number>()
  return {
    /** Reports the webhooks that have been down for long by now. */
    look(): void {
      for (const { webhookId, health } of queues()) {
        if (health.down === undefined) reported.delete(webhookId)
        else if (isLongDown(health, steadyUs()) && !reported.has(webhookId)) {
          reported.add(webhookId)
          const url = urlOf(webhookId)
          log.warn({ webhook: webhookId, url }, 'webhook is down for 5 minutes')
          onOutage?.(url, 'down')
        }
      }
    },
    /** Reports that a webhook is back, if its outage was reported. */
    closed(webhookId: number): void {
      if (reported.delete(webhookId)) onOutage?.(urlOf(webhookId), 'up')
    },
    forget: (webhookId: number) => void reported.delete(webhookId),
  }
}
