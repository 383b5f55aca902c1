import { EventLabel } from '../../components/badge.tsx'
import { DeliveryLink } from '../../components/delivery-link.tsx'
import { formatExactTime, formatMilliseconds, formatStage, formatTimeMs, formatTransfer } from '../../lib/format.ts'
import type { EventWithDeliveries } from '../../lib/resources.ts'

type CallEventsProps = { events: readonly EventWithDeliveries[]; startedAt: string | null }

/** Shows the events of a call in order: when each occurred, and its deliveries. */
export function CallEvents({ events, startedAt }: CallEventsProps) {
  return (
    <section class="card" aria-labelledby="events">
      <header class="card-head">
        <h2 id="events">Events and deliveries</h2>
      </header>
      {events.length === 0 ? (
        <p class="muted pad">The events of this call are no longer kept.</p>
      ) : (
        <ol class="call-events">
          {events.map((event) => (
            <li key={event.id}>
              <CallEvent event={event} startedAt={startedAt} />
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

function CallEvent({ event, startedAt }: { event: EventWithDeliveries; startedAt: string | null }) {
  return (
    <>
      <span class="call-event-sequence">{event.sequence}</span>
      <div class="call-event-time">
        <time dateTime={event.at} title={formatExactTime(event.at)}>
          {formatTimeMs(event.at)}
        </time>
        {startedAt === null ? null : (
          <small class="muted">+{formatMilliseconds(Math.max(0, Date.parse(event.at) - Date.parse(startedAt)))}</small>
        )}
      </div>
      <div class="call-event-name">
        <EventLabel name={event.name} />
        {event.stage === null ? null : <span class="muted">{formatStage(event.stage)}</span>}
        {event.transfer === null ? null : <span class="muted">{formatTransfer(event.transfer)}</span>}
      </div>
      <ul class="deliveries">
        {event.deliveries.map((delivery) => (
          <li key={delivery.id}>
            <DeliveryLink delivery={delivery} />
            {delivery.delivered_at === null ? null : (
              <small class="muted">
                delivered at <time dateTime={delivery.delivered_at}>{formatTimeMs(delivery.delivered_at)}</time>
              </small>
            )}
          </li>
        ))}
        {event.deliveries.length === 0 ? <li class="muted">no webhook had this event switched on</li> : null}
      </ul>
    </>
  )
}
