import type { WebhookHealth } from './resources.ts'

type Webhook = Pick<WebhookHealth, 'paused' | 'down_since'>

/** An event is shown before its first attempts have ended. */
const FIRST_ATTEMPT_MS = 10_000

/** Writes why an event of the feed has no deliveries. Pending ones of a webhook that is paused or down come later. */
export function describeNoDeliveries(webhooks: readonly Webhook[], ageMs: number): string {
  if (webhooks.length === 0) return 'there is no webhook yet'
  if (webhooks.some((one) => one.paused || one.down_since !== null))
    return 'nothing sent yet: a webhook is paused or down'
  return ageMs < FIRST_ATTEMPT_MS ? 'nothing sent yet' : 'no webhook gets this event'
}
