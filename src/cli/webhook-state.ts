import { formatDuration, nowUs, parseTime } from '../lib/time.ts'
import type { WebhookHealth } from '../web/web.ts'

/** Returns why the last attempt of a webhook failed. */
export const lastErrorOf = ({ last }: Pick<WebhookHealth, 'last'>): string =>
  last?.error ?? (last === null || last.status === null ? 'it does not answer' : `it answers ${last.status}`)

/** Returns for how long a webhook has been down or has refused, and why: `for 3 min: connection refused`. */
export function describeOutage(health: Pick<WebhookHealth, 'down_since' | 'refusing_since' | 'last'>): string {
  return describeDown(health.down_since ?? health.refusing_since ?? '', lastErrorOf(health))
}

/** Returns the same for a time and an error. */
export const describeDown = (since: string, error: string): string =>
  `for ${formatDuration((nowUs() - (parseTime(since) ?? nowUs())) / 1_000)}: ${error}`
