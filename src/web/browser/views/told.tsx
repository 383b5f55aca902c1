import { clockTimeMs, exactTime, milliseconds, stageText, transferText } from '../lib/format.ts'
import type { ToldEvent } from '../lib/resources.ts'
import { EventName } from '../parts/shown.tsx'
import { Outcome } from './event-feed.tsx'

/** Each event of a call in order: when it happened, and who was told of it and when. */
export function Told({ told, startedAt }: { told: readonly ToldEvent[]; startedAt: string | null }) {
  return (
    <section class="card" aria-labelledby="told">
      <header class="card-head">
        <h2 id="told">Events, and who was told</h2>
      </header>
      {told.length === 0 ? (
        <p class="soft pad">The events of this call are not kept any more.</p>
      ) : (
        <ol class="told">
          {told.map((event) => (
            <li key={event.id}>
              <span class="told-place">{event.sequence}</span>
              <div class="told-when">
                <time dateTime={event.at} title={exactTime(event.at)}>
                  {clockTimeMs(event.at)}
                </time>
                {startedAt === null ? null : (
                  <small class="soft">+{milliseconds(Math.max(0, Date.parse(event.at) - Date.parse(startedAt)))}</small>
                )}
              </div>
              <div class="told-what">
                <EventName name={event.name} />
                {event.stage === null ? null : <span class="soft">{stageText(event.stage)}</span>}
                {event.transfer === null ? null : <span class="soft">{transferText(event.transfer)}</span>}
              </div>
              <ul class="outcomes">
                {event.deliveries.map((delivery) => (
                  <li key={delivery.id}>
                    <Outcome delivery={delivery} />
                    {delivery.delivered_at === null ? null : (
                      <small class="soft">
                        told at <time dateTime={delivery.delivered_at}>{clockTimeMs(delivery.delivered_at)}</time>
                      </small>
                    )}
                  </li>
                ))}
                {event.deliveries.length === 0 ? <li class="soft">nobody: no webhook had it switched on</li> : null}
              </ul>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
