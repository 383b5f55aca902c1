import { formatDuration } from '../../../lib/time.ts'
import { formatMilliseconds, pluralize } from './format.ts'
import type { Delivery, WebhookHealth } from './resources.ts'
import type { Tone } from './tone.ts'

/** The states of deliveries in words. Pure. */
type Webhook = Pick<WebhookHealth, 'url' | 'paused' | 'down_since'>

export type Hold = 'paused' | 'down'

/** Returns why deliveries of a URL wait; `null` if they do not. */
export function holdOf(url: string, webhooks: readonly Webhook[]): Hold | null {
  const own = webhooks.filter((one) => one.url === url)
  if (own.some(({ paused }) => paused)) return 'paused'
  return own.some(({ down_since: since }) => since !== null) ? 'down' : null
}

/** Returns the state of a delivery as people call it: a pending one waits, is retried, or is on its way. */
export function deliveryState(
  delivery: Delivery,
  webhooks: readonly Webhook[],
): { readonly tone: Tone; readonly text: string } {
  const { state, attempts_made: made, url } = delivery
  if (state === 'delivered') return { tone: 'good', text: 'delivered' }
  if (state === 'failed') return { tone: 'bad', text: 'failed' }
  if (state === 'cancelled') return { tone: 'none', text: 'cancelled' }
  if (holdOf(url, webhooks) !== null) return { tone: 'wait', text: 'waits' }
  return made > 0 ? { tone: 'warn', text: 'retrying' } : { tone: 'wait', text: 'pending' }
}

/** Writes how long a delivery took, or why it was not delivered yet. */
export function describeProgress(delivery: Delivery, webhooks: readonly Webhook[], nowMs: number): string {
  const { state, attempts_made: made, created_at: created, delivered_at: delivered, url } = delivery
  if (state === 'delivered') {
    const ms = delivered === null ? null : Date.parse(delivered) - Date.parse(created)
    return `${formatMilliseconds(ms)}${made > 1 ? `, ${pluralize(made, 'attempt')}` : ''}`
  }
  if (state === 'failed') return `given up after ${pluralize(made, 'attempt')}`
  if (state === 'cancelled') return 'its webhook was removed, or the call erased'
  const when = describeNext(delivery, webhooks, nowMs)
  return made === 0 || holdOf(url, webhooks) !== null ? when : `${pluralize(made, 'failed attempt')}, ${when}`
}

/** Returns the time of a pending delivery's next attempt in words, or the reason for the delay. */
export function describeNext(
  { url, next_attempt_at: next }: Delivery,
  webhooks: readonly Webhook[],
  nowMs: number,
): string {
  const hold = holdOf(url, webhooks)
  if (hold !== null) return `webhook is ${hold}`
  const dueMs = next === null ? 0 : Date.parse(next) - nowMs
  return dueMs < 1_000 ? 'due' : `next in ${formatDuration(dueMs)}`
}
