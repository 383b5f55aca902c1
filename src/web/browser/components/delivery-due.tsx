import { overview } from '../lib/connection.ts'
import { useObservable } from '../lib/observable.ts'
import type { Delivery } from '../lib/resources.ts'
import { serverNowMs } from '../lib/server-clock.ts'
import { TimeUntil } from './time.tsx'

/** Shows when a pending delivery is due, or that its webhook is paused or down. */
export function DeliveryDue({ delivery: { url, next_attempt_at: at } }: { delivery: Delivery }) {
  const webhooks = (useObservable(overview)?.webhooks ?? []).filter((one) => one.url === url)
  if (at === null) return null
  if (webhooks.some(({ paused }) => paused)) return <span class="muted">webhook is paused</span>
  if (webhooks.some(({ down_since: downSince }) => downSince !== null))
    return <span class="muted">webhook is down</span>
  return <TimeUntil at={at} nowMs={serverNowMs()} />
}
