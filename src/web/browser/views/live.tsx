import { live, overview } from '../lib/connection.ts'
import { milliseconds, plural, waitingCount } from '../lib/format.ts'
import type { Overview } from '../lib/resources.ts'
import { placeHref } from '../lib/router.ts'
import { useCell } from '../lib/state.ts'
import { Icon } from '../parts/icon.tsx'
import { Empty, Waiting } from '../parts/shown.tsx'
import { CallBoard } from './call-board.tsx'
import { EventFeed } from './event-feed.tsx'
import { HourCharts } from './hour-charts.tsx'
import { Pbxs } from './pbxs.tsx'

export function LiveView() {
  const seen = useCell(overview)
  const { calls, feed } = useCell(live)
  return (
    <div class="view live-view">
      <header class="view-head">
        <h1>Live</h1>
        {seen === null ? null : <p class="view-sub">Account {seen.account}</p>}
      </header>
      {seen === null ? (
        <Waiting what="the overview" />
      ) : (
        <Numbers seen={seen} calls={[...calls.values()].filter((held) => held.endedAtMs === null).length} />
      )}
      {seen === null ? null : <DownWebhooks seen={seen} />}
      <div class="live-grid">
        <section class="card calls-card" aria-labelledby="calls-now">
          <header class="card-head">
            <h2 id="calls-now">Calls now</h2>
            {seen === null ? null : <Pbxs pbxs={seen.pbxs} />}
          </header>
          {calls.size > 0 ? (
            <CallBoard calls={[...calls.values()]} />
          ) : (
            <Empty icon="calls" title="No call is up">
              {seen !== null && seen.pbxs.length === 0 ? (
                <p>
                  No PBX is connected. Start the service with one, for example
                  <code class="line">hookswitch serve --pbx ami://user:secret@pbx:5038</code>
                </p>
              ) : (
                <p>
                  The next call shows here the moment it starts, and moves as it rings, is answered and transferred.
                </p>
              )}
            </Empty>
          )}
        </section>
        <section class="card feed-card" aria-labelledby="events-now">
          <header class="card-head">
            <h2 id="events-now">Events</h2>
            <a class="quiet-link" href={placeHref('deliveries')}>
              All deliveries
            </a>
          </header>
          {feed.length > 0 ? (
            <EventFeed feed={feed} />
          ) : (
            <Empty icon="live" title="No event yet">
              <p>Each event of each call shows here with what became of its deliveries.</p>
              {seen !== null && seen.webhooks.length === 0 ? (
                <p>
                  Nobody is told yet: <a href={placeHref('webhooks')}>add a webhook</a>.
                </p>
              ) : null}
            </Empty>
          )}
        </section>
        {seen === null ? null : <HourCharts minutes={seen.minutes} />}
      </div>
    </div>
  )
}

function Numbers({ seen, calls }: { seen: Overview; calls: number }) {
  const sum = (pick: (minute: Overview['minutes'][number]) => number) =>
    seen.minutes.reduce((total, minute) => total + pick(minute), 0)
  const failed = sum((minute) => minute.failed_attempts)
  const waiting = seen.webhooks.reduce((total, webhook) => total + webhook.waiting, 0)
  const last = seen.minutes.findLast((minute) => minute.p50_ms !== null)
  return (
    <dl class="numbers">
      <Figure label="Calls up" value={calls.toLocaleString()} />
      <Figure label="Events, last hour" value={sum((minute) => minute.events).toLocaleString()} />
      <Figure label="Delivered, last hour" value={sum((minute) => minute.delivered).toLocaleString()} />
      <Figure label="Failed attempts" value={failed.toLocaleString()} tone={failed > 0 ? 'bad' : ''} />
      <Figure label="Waiting" value={waitingCount(waiting)} tone={waiting > 0 ? 'ring' : ''} />
      <Figure
        label="Latency, p50 / p99"
        value={last === undefined ? '–' : `${milliseconds(last.p50_ms)} / ${milliseconds(last.p99_ms)}`}
      />
    </dl>
  )
}

function Figure({ label, value, tone = '' }: { label: string; value: string; tone?: string }) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function DownWebhooks({ seen }: { seen: Overview }) {
  const down = seen.webhooks.filter((webhook) => webhook.down_since !== null)
  if (down.length === 0) return null
  const waiting = down.reduce((total, webhook) => total + webhook.waiting, 0)
  return (
    <p class="problem" role="alert">
      <Icon name="alert" />
      <span>
        <strong>{plural(down.length, 'webhook is', 'webhooks are')} down.</strong> {waitingCount(waiting)}{' '}
        {waiting === 1 ? 'delivery waits' : 'deliveries wait'} and will be sent in order once it answers again.
      </span>
      <a class="button" href={placeHref('webhooks')}>
        Look
      </a>
    </p>
  )
}
