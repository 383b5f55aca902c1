import type { EventBody } from '../../../../events/bodies.ts'
import { isOfCall } from '../../../../events/event-subject.ts'
import { phraseOf } from '../../../../events/phrase.ts'
import { EventLabel } from '../../components/badge.tsx'
import { DeliveryLink } from '../../components/delivery-link.tsx'
import { overview } from '../../lib/connection.ts'
import { formatExactTime, formatParty, formatStage, formatTimeMs, formatTransfer, humanize } from '../../lib/format.ts'
import type { FeedEvent } from '../../lib/live-state.ts'
import { describeNoDeliveries } from '../../lib/no-deliveries.ts'
import { useObservable } from '../../lib/observable.ts'
import type { Delivery } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'

/** Shows events as they occur, the newest first, each with its deliveries. */
export function EventFeed({ feed }: { feed: readonly FeedEvent[] }) {
  const webhooks = useObservable(overview)?.webhooks ?? []
  const nowMs = serverNowMs()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <ol class="feed" tabIndex={0} aria-label="Events, the newest first">
      {feed.map((event) => (
        <li key={event.id} class={event.deliveries.some(hasFailed) ? 'feed-event failing' : 'feed-event'}>
          <div class="feed-line">
            <time dateTime={event.at} title={formatExactTime(event.at)}>
              {formatTimeMs(event.at)}
            </time>
            {event.callId === null ? (
              <span class="feed-name">
                <EventLabel name={event.name} />
              </span>
            ) : (
              <a href={routeHref('calls', event.callId)} class="feed-name" title="Open the call">
                <EventLabel name={event.name} />
              </a>
            )}
            <span class="feed-detail">{event.body === null ? '' : describeEvent(event.body)}</span>
          </div>
          <ul class="deliveries" aria-label="Deliveries">
            {event.deliveries.map((delivery) => (
              <li key={delivery.id}>
                <DeliveryLink delivery={delivery} />
              </li>
            ))}
            {event.deliveries.length === 0 ? (
              <li class="muted">{describeNoDeliveries(webhooks, nowMs - Date.parse(event.at))}</li>
            ) : null}
          </ul>
        </li>
      ))}
    </ol>
  )
}

function hasFailed(delivery: Delivery): boolean {
  return delivery.state === 'failed' || (delivery.state === 'pending' && delivery.attempts_made > 0)
}

function describeEvent(body: EventBody): string {
  if (!isOfCall(body)) return phraseOf(body)
  const { data } = body
  if ('by' in data) return data.by === null ? '' : formatParty(data.by)
  if ('stage' in data) return formatStage(data.stage)
  if ('transfer' in data) return formatTransfer(data.transfer)
  if (data.name === 'call_started') return `${formatParty(data.call.from)} → ${formatParty(data.call.to)}`
  return humanize(data.call.result ?? '')
}
