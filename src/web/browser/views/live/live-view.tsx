import { EmptyState, Loading } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { liveState, overview } from '../../lib/connection.ts'
import { formatMilliseconds, formatPendingCount, pluralize } from '../../lib/format.ts'
import type { LiveCallEntry } from '../../lib/live-state.ts'
import { useObservable } from '../../lib/observable.ts'
import type { Overview } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { EndpointList } from './endpoint-list.tsx'
import { EventFeed } from './event-feed.tsx'
import { LatencyChart, VolumeChart } from './last-hour-charts.tsx'
import { LiveCalls } from './live-calls.tsx'
import { NoPbx } from './no-pbx.tsx'
import { NodeList } from './node-list.tsx'
import { PbxErrors, PbxStatusList } from './pbx-status.tsx'

/** Shows the calls that are up, the events as they occur, and the figures of the last hour. */
export function LiveView() {
  const now = useObservable(overview)
  const { calls, feed } = useObservable(liveState)
  return (
    <div class="view live-view">
      <header class="view-head">
        <h1>Live</h1>
        {now === null ? null : (
          <>
            <p class="view-sub">Account {now.account}</p>
            <PbxStatusList pbxs={now.pbxs} />
          </>
        )}
      </header>
      {now === null ? (
        <Loading what="the overview" />
      ) : (
        <>
          <KeyFigures now={now} calls={[...calls.values()]} />
          <PbxErrors pbxs={now.pbxs} />
          <TroubledWebhooks now={now} />
          {now.webhooks.length === 0 && now.pbxs.length > 0 ? <NoWebhookNotice /> : null}
        </>
      )}
      <div class="live-grid">
        <section class="card calls-card" aria-labelledby="calls-now">
          <header class="card-head">
            <h2 id="calls-now">Active calls</h2>
          </header>
          {calls.size > 0 ? (
            <LiveCalls calls={[...calls.values()]} count={now?.call_count ?? 0} />
          ) : now === null || now.pbxs.length > 0 ? (
            <NoCalls />
          ) : (
            <NoPbx />
          )}
        </section>
        <section class="card feed-card" aria-labelledby="events-now">
          <header class="card-head">
            <h2 id="events-now">Events</h2>
            <a class="quiet-link" href={routeHref('deliveries')}>
              All deliveries
            </a>
          </header>
          {feed.length > 0 ? (
            <EventFeed feed={feed} />
          ) : (
            <NoEvents hasWebhook={now === null || now.webhooks.length > 0} />
          )}
        </section>
        {now === null ? null : (
          <>
            <VolumeChart minutes={now.minutes} />
            <LatencyChart minutes={now.minutes} framed />
          </>
        )}
      </div>
      {now === null ? null : <EndpointList pbxs={now.pbxs} />}
      <NodeList />
    </div>
  )
}

function NoWebhookNotice() {
  return (
    <p class="notice" role="status">
      <Icon name="webhooks" />
      <span>
        <strong>There is no webhook yet.</strong> Events are stored, but sent to nobody.
      </span>
      <a class="button" href={routeHref('webhooks')}>
        Add a webhook
      </a>
    </p>
  )
}

function NoCalls() {
  return (
    <EmptyState icon="calls" title="No active calls">
      <p>The next call appears here when it starts, and follows its ringing, answers and transfers.</p>
    </EmptyState>
  )
}

function NoEvents({ hasWebhook }: { hasWebhook: boolean }) {
  return (
    <EmptyState icon="live" title="No events yet">
      <p>Each event of each call appears here with its deliveries.</p>
      {hasWebhook ? null : (
        <p>
          There are no webhooks yet: <a href={routeHref('webhooks')}>add a webhook</a>.
        </p>
      )}
    </EmptyState>
  )
}

/** The overview has at most this many calls. */
const KNOWN_CALLS = 500

function KeyFigures({ now, calls }: { now: Overview; calls: readonly LiveCallEntry[] }) {
  const sum = (count: (minute: Overview['minutes'][number]) => number) =>
    now.minutes.reduce((total, minute) => total + count(minute), 0)
  const failed = sum((minute) => minute.failed_attempts)
  const probes = sum((minute) => minute.failed_probes)
  const pending = now.webhooks.reduce((total, webhook) => total + webhook.pending, 0)
  const ended = calls.filter((entry) => entry.endedAtMs !== null).length
  const last = now.minutes.findLast((minute) => minute.p50_ms !== null)
  return (
    <dl class="key-figures">
      <Figure
        label="Active calls"
        // The page knows the newest calls alone. Of few calls it knows all, also between two reads of the overview.
        value={(now.call_count > KNOWN_CALLS ? now.call_count : calls.length - ended).toLocaleString()}
        // A call that has just ended stays in the list for a moment.
        detail={ended === 0 ? '' : `${ended.toLocaleString()} just ended`}
      />
      <Figure label="Events" value={sum((minute) => minute.events).toLocaleString()} detail="last hour" />
      <Figure label="Delivered" value={sum((minute) => minute.delivered).toLocaleString()} detail="last hour" />
      <Figure
        label="Failed attempts"
        value={failed.toLocaleString()}
        detail={probes === 0 ? 'last hour' : `and ${pluralize(probes, 'probe')}`}
        tone={failed > 0 ? 'bad' : ''}
      />
      <Figure label="Pending" value={formatPendingCount(pending)} tone={pending > 0 ? 'ring' : ''} />
      <Figure
        label="Median latency"
        value={formatMilliseconds(last?.p50_ms ?? null)}
        detail={last === undefined ? '' : `99 % in ${formatMilliseconds(last.p99_ms)}`}
      />
    </dl>
  )
}

type FigureProps = { label: string; value: string; detail?: string; tone?: string }

function Figure({ label, value, detail = '', tone = '' }: FigureProps) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>
        {value}
        {detail === '' ? null : <small>{detail}</small>}
      </dd>
    </div>
  )
}

function TroubledWebhooks({ now }: { now: Overview }) {
  const down = now.webhooks.filter((webhook) => webhook.down_since !== null)
  const refusing = now.webhooks.filter((webhook) => webhook.down_since === null && webhook.refusing_since !== null)
  return (
    <>
      <DownWebhooks down={down} />
      {refusing.length === 0 ? null : (
        <p class="error-message" role="alert">
          <Icon name="alert" />
          <span>
            <strong>{pluralize(refusing.length, 'webhook refuses', 'webhooks refuse')} everything.</strong> The answer
            beside it says why.
          </span>
          <a class="button" href={routeHref('webhooks')}>
            Show webhooks
          </a>
        </p>
      )}
    </>
  )
}

function DownWebhooks({ down }: { down: Overview['webhooks'] }) {
  if (down.length === 0) return null
  const pending = down.reduce((total, webhook) => total + webhook.pending, 0)
  return (
    <p class="error-message" role="alert">
      <Icon name="alert" />
      <span>
        <strong>{pluralize(down.length, 'webhook is', 'webhooks are')} down.</strong>{' '}
        {pending === 1
          ? '1 delivery is pending and will be sent.'
          : `${formatPendingCount(pending)} deliveries are pending and will be sent in order.`}
      </span>
      <a class="button" href={routeHref('webhooks')}>
        Show webhooks
      </a>
    </p>
  )
}
