import { shownUrl } from '../../../lib/shown-url.ts'
import { formatMilliseconds } from '../lib/format.ts'
import type { Delivery } from '../lib/resources.ts'
import { routeHref } from '../lib/router.ts'
import { DELIVERY_ICON, DELIVERY_TONE } from './badge.tsx'
import { Icon } from './icon.tsx'
import { WebhookLabel } from './webhook-label.tsx'

/**
 * Shows one delivery in a few words, as a link to all of it: its state, its webhook, and how long it took or how often
 * it was tried.
 */
export function DeliveryLink({ delivery }: { delivery: Delivery }) {
  const retrying = delivery.state === 'pending' && delivery.attempts_made > 0
  const tone = retrying ? 'ring' : DELIVERY_TONE[delivery.state]
  const latencyMs =
    delivery.delivered_at === null ? null : Date.parse(delivery.delivered_at) - Date.parse(delivery.created_at)
  return (
    <a class={`delivery-link ${tone}`} href={routeHref('deliveries', delivery.id)} title={shownUrl(delivery.url)}>
      <Icon name={retrying ? 'retry' : DELIVERY_ICON[delivery.state]} />
      <span class="visually-hidden">{retrying ? 'retrying' : delivery.state}</span>
      <span class="delivery-link-url">
        <WebhookLabel url={delivery.url} />
      </span>
      {latencyMs === null ? null : <span class="delivery-link-detail">{formatMilliseconds(latencyMs)}</span>}
      {retrying ? <span class="delivery-link-detail">attempt {delivery.attempts_made}</span> : null}
    </a>
  )
}
