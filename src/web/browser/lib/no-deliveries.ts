import type { WebhookHealth } from './resources.ts'

type Webhook = Pick<WebhookHealth, 'paused' | 'down_since' | 'filtered'> & { readonly events: readonly string[] }

/** An event is shown before its first attempts have ended. */
const FIRST_ATTEMPT_MS = 10_000

/** Writes why an event of the feed has no deliveries. Pending ones of a webhook that is paused or down come later. */
export function describeNoDeliveries(webhooks: readonly Webhook[], name: string, ageMs: number): string {
  if (webhooks.length === 0) return 'there is no webhook yet'
  const asking = webhooks.filter(({ events }) => events.includes(name))
  if (asking.length === 0) return 'no webhook asks for it'
  if (ageMs < FIRST_ATTEMPT_MS) return 'nothing sent yet'
  if (asking.some((one) => !one.filtered && (one.paused || one.down_since !== null)))
    return 'nothing sent yet: a webhook is paused or down'
  return asking.every(({ filtered }) => filtered) ? 'no filter lets it through' : 'no webhook gets this event'
}
