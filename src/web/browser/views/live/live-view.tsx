import type { ComponentChildren } from 'preact'
import { CallButton } from '../../components/call-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { PartyName } from '../../components/party-name.tsx'
import { Problems } from '../../components/problems.tsx'
import { Time } from '../../components/time.tsx'
import { request, withQuery } from '../../lib/api.ts'
import { liveState, overview } from '../../lib/connection.ts'
import { formatClock, formatDay, formatMilliseconds, formatPendingCount, formatStopwatch } from '../../lib/format.ts'
import type { LiveCallEntry } from '../../lib/live-state.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePolled } from '../../lib/polling.ts'
import { problemsOf } from '../../lib/problems.ts'
import { timesOf } from '../../lib/range.ts'
import type { CallItem, CallPage, Overview, Queue } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs, useServerNow } from '../../lib/server-clock.ts'
import { EventFeed } from './event-feed.tsx'
import { FirstRun } from './first-run.tsx'
import { LiveCalls } from './live-calls.tsx'
import { Traffic } from './traffic.tsx'

/** Shows the problems, the calls that are up, who waits and who is to be called back, the traffic, and the events. */
export function LiveView() {
  const now = useObservable(overview)
  const { calls, feed } = useObservable(liveState)
  const entries = now === null ? null : [...calls.values()]
  const queues = useQueues()
  const missed = useMissed()
  if (now !== null && now.pbxs.length === 0 && calls.size === 0 && feed.length === 0) return <FirstRun now={now} />
  return (
    <div class="view">
      <header class="head">
        <h1>Live</h1>
        <Now />
      </header>
      {now === null ? null : <Problems problems={problemsOf(now, serverNowMs())} />}
      {now !== null && now.webhooks.length === 0 ? <NoWebhookNote /> : null}
      <KeyFigures now={now} calls={entries} queues={queues} missed={missed} />
      <div class="columns">
        <section aria-labelledby="now">
          <header class="section-head">
            <h2 id="now">Calls now</h2>
            <p>{now === null ? '' : upCount(now, entries ?? []).toLocaleString('en')}</p>
          </header>
          {entries?.length === 0 ? <NoCalls /> : <LiveCalls calls={entries} count={now?.call_count ?? 0} />}
        </section>
        <div class="stack">
          <Queues queues={queues} />
          <ToCallBack missed={missed} />
        </div>
      </div>
      <Traffic />
      <section aria-labelledby="events-now">
        <header class="section-head">
          <h2 id="events-now">Latest events</h2>
          <a class="push" href={routeHref('deliveries')}>
            All deliveries
          </a>
        </header>
        {now !== null && feed.length === 0 ? <NoEvents /> : <EventFeed feed={now === null ? null : feed} />}
      </section>
    </div>
  )
}

function Now() {
  const nowMs = useServerNow()
  return (
    <p class="push">
      {formatDay(nowMs)}, {formatClock(new Date(nowMs).toISOString())}
    </p>
  )
}

const QUEUES_EVERY_MS = 5_000
const MISSED_EVERY_MS = 30_000

function useQueues(): readonly Queue[] | null {
  return usePolled<readonly Queue[]>(() => request('GET', '/queue'), QUEUES_EVERY_MS)
}

/** The newest calls to call back, enough for several from each number, and how many were missed today. */
function useMissed(): CallPage | null {
  const query = { ...timesOf({ range: 'today' }, serverNowMs()), to_call_back: 'true', counts: 'true', limit: '50' }
  return usePolled<CallPage>(() => request('GET', withQuery('/call', query)), MISSED_EVERY_MS)
}

function NoWebhookNote() {
  return (
    <p class="note" role="status">
      <Icon name="webhooks" />
      <span>There is no webhook yet: events are stored, but sent to nobody.</span>
      <a class="button small push" href={routeHref('webhooks', 'new')}>
        Add a webhook
      </a>
    </p>
  )
}

function NoCalls() {
  return (
    <EmptyState icon="calls" title="No call is up">
      <p>The next call appears here when it starts, and follows its ringing, answers and transfers.</p>
    </EmptyState>
  )
}

function NoEvents() {
  return (
    <EmptyState icon="live" title="No events yet">
      <p>Each event of each call appears here, with what became of it.</p>
    </EmptyState>
  )
}

/** The overview has at most this many calls. */
const KNOWN_CALLS = 500

/** The page knows the newest calls alone. Of few calls it knows all, also between two reads of the overview. */
function upCount(now: Overview, calls: readonly LiveCallEntry[]): number {
  return now.call_count > KNOWN_CALLS ? now.call_count : calls.filter(({ endedAtMs }) => endedAtMs === null).length
}

type KeyFiguresProps = {
  now: Overview | null
  calls: readonly LiveCallEntry[] | null
  queues: readonly Queue[] | null
  missed: CallPage | null
}

function KeyFigures({ now, calls, queues, missed }: KeyFiguresProps) {
  const sum = (count: (minute: Overview['minutes'][number]) => number) =>
    now?.minutes.reduce((total, minute) => total + count(minute), 0) ?? 0
  const delivered = sum((minute) => minute.delivered)
  const attempts = delivered + sum((minute) => minute.failed_attempts)
  const pending = now?.webhooks.reduce((total, webhook) => total + webhook.pending, 0) ?? 0
  const last = now?.minutes.findLast((minute) => minute.p50_ms !== null)
  const waiting = queues?.reduce((total, queue) => total + queue.waiting, 0) ?? null
  const longest = Math.max(0, ...(queues ?? []).filter((one) => one.waiting > 0).map((one) => one.longest_wait))
  const counts = missed?.counts ?? null
  return (
    <dl class="figures" aria-busy={now === null}>
      <Figure label="Calls now">
        {now === null || calls === null ? null : upCount(now, calls).toLocaleString('en')}
      </Figure>
      <Figure
        label="Waiting"
        tone={(waiting ?? 0) > 0 ? 'warn' : ''}
        detail={(waiting ?? 0) > 0 ? `longest ${formatStopwatch(longest)}` : 'in queues'}
      >
        {waiting === null ? null : waiting.toLocaleString('en')}
      </Figure>
      <Figure
        label="Missed today"
        detail={counts === null ? '' : `${counts.to_call_back.toLocaleString('en')} to call back`}
      >
        {counts === null ? null : counts.missed.toLocaleString('en')}
      </Figure>
      <Figure label="Delivered, 1 h" detail={attempts === 0 ? '' : `of ${attempts.toLocaleString('en')} attempts`}>
        {now === null ? null : attempts === 0 ? '–' : `${shareOf(delivered, attempts)} %`}
      </Figure>
      <Figure label="Pending" tone={pending > 0 ? 'warn' : ''}>
        {now === null ? null : formatPendingCount(pending)}
      </Figure>
      <Figure
        label="Time to delivery"
        detail={last === undefined ? '' : `99 of 100 in ${formatMilliseconds(last.p99_ms)}`}
      >
        {now === null ? null : formatMilliseconds(last?.p50_ms ?? null)}
      </Figure>
    </dl>
  )
}

/** Rounded down, so that only a whole is 100. */
const shareOf = (part: number, whole: number): number => Math.floor((1_000 * part) / whole) / 10

type FigureProps = { label: string; detail?: string; tone?: '' | 'bad' | 'warn'; children: ComponentChildren }

function Figure({ label, detail = '', tone = '', children }: FigureProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={tone}>
        {children ?? <i class="bone w2" />}
        {detail === '' ? null : <small>{detail}</small>}
      </dd>
    </div>
  )
}

const MAX_QUEUES = 5

/** Shows the queues, those in which somebody waits first. */
function Queues({ queues }: { queues: readonly Queue[] | null }) {
  if (queues?.length === 0) return null
  const sorted = queues?.toSorted((one, other) => other.waiting - one.waiting || one.queue.localeCompare(other.queue))
  return (
    <section aria-labelledby="queues" aria-busy={queues === null}>
      <header class="section-head">
        <h2 id="queues">Queues</h2>
        {queues === null ? null : (
          <a class="push" href={routeHref('phones', 'queues')}>
            All {queues.length}
          </a>
        )}
      </header>
      <ul class="rows">
        {sorted === undefined
          ? [0, 1].map((at) => <BoneRow key={at} />)
          : sorted.slice(0, MAX_QUEUES).map((one) => <QueueRow key={`${one.pbx} ${one.queue}`} queue={one} />)}
      </ul>
    </section>
  )
}

function QueueRow({
  queue: { queue, pbx, waiting, longest_wait, available, busy, paused },
}: {
  queue: Queue & { pbx: string }
}) {
  const agents = available + busy + paused
  return (
    <li>
      <div>
        <span class="key">
          <bdi>{queue}</bdi>
        </span>
        <small class="cut">{pbx}</small>
      </div>
      <div class="soft">
        {waiting === 0 ? (
          'none wait'
        ) : (
          <>
            <span class="warn">{waiting === 1 ? '1 waits' : `${waiting} wait`}</span> · {formatStopwatch(longest_wait)}
          </>
        )}
        <small>{agents === 0 ? 'no agents' : `${available} of ${agents} agents free`}</small>
      </div>
    </li>
  )
}

/** Shows the missed calls of today whose number has not been reached since. */
function ToCallBack({ missed }: { missed: CallPage | null }) {
  return (
    <section aria-labelledby="call-back" aria-busy={missed === null}>
      <header class="section-head">
        <h2 id="call-back">To call back</h2>
        <a class="push" href={routeHref('calls', null, { outcome: 'missed', range: 'today' })}>
          All missed today
        </a>
      </header>
      {missed?.items.length === 0 ? (
        <p class="well">
          {missed.counts?.missed === 0 ? 'No call was missed today.' : 'Nobody: all were reached again.'}
        </p>
      ) : (
        <ul class="rows">
          {missed === null
            ? [0, 1].map((at) => <BoneRow key={at} />)
            : byCaller(missed.items)
                .slice(0, MAX_CALLERS)
                .map(([call, tries]) => <MissedRow key={call.id} call={call} tries={tries} />)}
        </ul>
      )}
    </section>
  )
}

const MAX_CALLERS = 5

/** Returns the newest missed call of each number, with the number of its calls. Calls without a number stay single. */
function byCaller(calls: readonly CallItem[]): (readonly [CallItem, number])[] {
  const groups = Map.groupBy(calls, ({ from, id }) => from.number ?? id)
  return [...groups.values()].flatMap((group) => (group[0] === undefined ? [] : [[group[0], group.length] as const]))
}

function MissedRow({ call, tries }: { call: CallItem; tries: number }) {
  const waited = call.wait_duration === null ? [] : [`waited ${formatStopwatch(call.wait_duration)}`]
  const how = tries === 1 ? waited : [`${tries} times`]
  const place = call.queue?.name ?? call.to.name ?? call.to.extension ?? call.to.number
  return (
    <li>
      <div>
        <a class="cut" href={routeHref('calls', call.id)}>
          <PartyName party={call.from} />
        </a>
        <small class="cut">
          {[...(place === null ? [] : [place]), ...how, call.pbx ?? ''].filter((one) => one !== '').join(' · ')}
        </small>
      </div>
      <span class="dim">
        <Time at={call.started_at} />
      </span>
      <CallButton party={call.from} />
    </li>
  )
}

function BoneRow() {
  return (
    <li>
      <i class="bone w4" />
      <i class="bone queue" />
    </li>
  )
}
