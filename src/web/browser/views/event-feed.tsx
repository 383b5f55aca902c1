import type { EventBody } from '../../../calls/event.ts'
import {
  clockTimeMs,
  exactTime,
  milliseconds,
  partyText,
  shortUrl,
  stageText,
  transferText,
  words,
} from '../lib/format.ts'
import type { FeedItem } from '../lib/live.ts'
import type { Delivery } from '../lib/resources.ts'
import { placeHref } from '../lib/router.ts'
import { Icon } from '../parts/icon.tsx'
import { DELIVERY_ICON, DELIVERY_TONE, EventName } from '../parts/shown.tsx'

/** The events as they come, the newest first, with the outcome at each webhook beside it. */
export function EventFeed({ feed }: { feed: readonly FeedItem[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <ol class="feed" tabIndex={0} aria-label="Events, the newest first">
      {feed.map((item) => (
        <li key={item.id} class={item.deliveries.some(isTrouble) ? 'feed-item trouble' : 'feed-item'}>
          <div class="feed-line">
            <time dateTime={item.at} title={exactTime(item.at)}>
              {clockTimeMs(item.at)}
            </time>
            <a href={placeHref('calls', item.callId)} class="feed-name" title="Open the call">
              <EventName name={item.name} />
            </a>
            <span class="feed-what">{item.body === null ? '' : told(item.body)}</span>
          </div>
          <ul class="outcomes" aria-label="Deliveries">
            {item.deliveries.map((delivery) => (
              <li key={delivery.id}>
                <Outcome delivery={delivery} />
              </li>
            ))}
            {item.deliveries.length === 0 ? <li class="soft">nobody is told of it</li> : null}
          </ul>
        </li>
      ))}
    </ol>
  )
}

function isTrouble(delivery: Delivery): boolean {
  return delivery.state === 'failed' || (delivery.state === 'pending' && delivery.attempts_made > 0)
}

export function Outcome({ delivery }: { delivery: Delivery }) {
  const retrying = delivery.state === 'pending' && delivery.attempts_made > 0
  const tone = retrying ? 'ring' : DELIVERY_TONE[delivery.state]
  const took =
    delivery.delivered_at === null ? null : Date.parse(delivery.delivered_at) - Date.parse(delivery.created_at)
  return (
    <a class={`outcome ${tone}`} href={placeHref('deliveries', delivery.id)} title={delivery.url}>
      <Icon name={retrying ? 'retry' : DELIVERY_ICON[delivery.state]} />
      <span class="hidden">{retrying ? 'retrying' : delivery.state}</span>
      <span class="outcome-url">{shortUrl(delivery.url)}</span>
      {took === null ? null : <span class="outcome-ms">{milliseconds(took)}</span>}
      {retrying ? <span class="outcome-ms">attempt {delivery.attempts_made}</span> : null}
    </a>
  )
}

function told(body: EventBody): string {
  const { data } = body
  if ('stage' in data) return stageText(data.stage)
  if ('transfer' in data) return transferText(data.transfer)
  if (data.name === 'call_started') return `${partyText(data.call.from)} → ${partyText(data.call.to)}`
  return words(data.call.result ?? '')
}
