import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallBadge } from '../../components/badge.tsx'
import { ChartLegend } from '../../components/chart.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { ContactLink, PartyName } from '../../components/party-name.tsx'
import { Time } from '../../components/time.tsx'
import { request } from '../../lib/api.ts'
import { buildTimeline } from '../../lib/call-timeline.ts'
import { liveState, useReconnected } from '../../lib/connection.ts'
import { formatHangup, formatParty, formatStopwatch, humanize, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { stagesAt, tracksOf } from '../../lib/playback.ts'
import type { Call, CallRecord, EventWithDeliveries } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { CallEvents } from './call-events.tsx'
import { RecordingList, TimelinePlayers } from './call-recordings.tsx'
import { StageTable } from './call-stages.tsx'
import { TimelineChart } from './timeline-chart.tsx'
import { usePlayback } from './use-playback.ts'

/**
 * Below this width the timeline is some 220 px wide: its marks need a larger share of it, and fewer times fit on its
 * axis.
 */
const NARROW_PX = 820
const LAYOUT = { narrow: { minGap: 11, maxTicks: 3 }, wide: { minGap: 3.6, maxTicks: 7 } } as const
/** Several deliveries change together: they are read once. */
const RELOAD_DELAY_MS = 300

/** Shows one call: its record, or until then its state in the live view. */
export function CallDetail({ id }: { id: string }) {
  const [record, setRecord] = useState<CallRecord | null>(null)
  const [events, setEvents] = useState<readonly EventWithDeliveries[]>([])
  const [error, setError] = useState<string | null>(null)
  const [loaded, setLoaded] = useState(false)
  const { calls, feed } = useObservable(liveState)
  const liveCall = calls.get(id)
  const load = async () => {
    const path = `/call/${encodeURIComponent(id)}`
    const [call, eventList] = await Promise.all([
      request<CallRecord>('GET', path),
      request<EventWithDeliveries[]>('GET', `${path}/event`),
    ])
    setLoaded(true)
    if (call.ok) setRecord(call.result)
    if (eventList.ok) setEvents(eventList.result)
    setError(call.ok || call.status === 404 ? null : call.message)
  }
  const ofCall = feed.filter((event) => event.callId === id)
  // Changes with every event of this call and every change of one of its deliveries.
  const version = `${ofCall.length} ${ofCall.flatMap((event) => event.deliveries.map((one) => `${one.id}${one.state}${one.attempts_made}`)).join()}`
  useEffect(() => {
    const timer = setTimeout(() => void load(), loaded ? RELOAD_DELAY_MS : 0)
    return () => clearTimeout(timer)
  }, [id, version])
  useReconnected(load)

  const shown: CallRecord | null =
    record ?? (liveCall === undefined ? null : { call: liveCall.call, stages: liveCall.stages, recordings: [] })
  return (
    <div class="view">
      <a class="back" href={routeHref('calls')}>
        <Icon name="back" /> Calls
      </a>
      {error === null ? null : <ErrorMessage text={error} onRetry={load} />}
      {shown !== null ? (
        <CallContent record={shown} events={events} />
      ) : error !== null ? null : loaded ? (
        <MissingRecord events={events} />
      ) : (
        <Loading what="the call" />
      )}
    </div>
  )
}

function MissingRecord({ events }: { events: readonly EventWithDeliveries[] }) {
  return (
    <>
      <ErrorMessage text="There is no record of this call. It may not have ended yet, was merged into another call, or is older than the retention." />
      {events.length > 0 ? <CallEvents events={events} startedAt={null} /> : null}
    </>
  )
}

const LEGEND = [
  { name: 'ringing', tone: 'ring' },
  { name: 'talking', tone: 'good' },
  { name: 'waiting', tone: 'pending' },
] as const

function CallContent({ record, events }: { record: CallRecord; events: readonly EventWithDeliveries[] }) {
  const { call, stages, recordings } = record
  const layout = innerWidth < NARROW_PX ? LAYOUT.narrow : LAYOUT.wide
  const timeline = buildTimeline({ call, stages, events, nowMs: serverNowMs(), ...layout })
  const summary = `${call.direction} call from ${formatParty(call.from)} to ${formatParty(call.to)}, ${pluralize(stages.length, 'stage')}, ${pluralize(call.transfers, 'transfer')}, ${humanize(call.result ?? call.state)}`
  const playback = usePlayback(tracksOf(recordings))
  const current = new Set(stagesAt(stages, playback.atMs).map((stage) => stage.id))
  return (
    <>
      <CallTitle call={call} />
      <section class="card" aria-labelledby="timeline">
        <header class="card-head">
          <h2 id="timeline">Timeline</h2>
          <ChartLegend series={LEGEND} />
        </header>
        <TimelineChart timeline={timeline} label={summary} playback={playback} current={current} />
        <TimelinePlayers record={record} playback={playback} />
        <TransferList events={events} />
      </section>
      <CallFacts call={call} />
      <StageTable stages={stages} current={current} />
      <CallEvents events={events} startedAt={call.started_at} />
      <RecordingList callId={call.id} recordings={recordings} playback={playback} />
    </>
  )
}

function CallTitle({ call }: { call: Call }) {
  return (
    <header class="view-head">
      <h1 class="call-title">
        <span class={`direction ${call.direction}`}>
          <Icon name={call.direction} />
          <span class="visually-hidden">{call.direction} call:</span>
        </span>
        <PartyName party={call.from} />
        <ContactLink party={call.from} />
        <span class="arrow-text" aria-hidden="true">
          →
        </span>
        <span class="visually-hidden">to</span>
        <PartyName party={call.to} />
        <ContactLink party={call.to} />
      </h1>
      <CallBadge state={call.result ?? call.state} dot={call.state !== 'ended'} />
    </header>
  )
}

function TransferList({ events }: { events: readonly EventWithDeliveries[] }) {
  const transfers = events.flatMap((event) => (event.transfer === null ? [] : [event.transfer]))
  if (transfers.length === 0) return null
  return (
    <ul class="transfers">
      {transfers.map((transfer, at) => (
        <li key={at}>
          <span class="event-name transfer">{transfer.kind} transfer</span> {formatParty(transfer.by)} transferred{' '}
          {formatParty(transfer.transferee)} to {formatParty(transfer.to)}
        </li>
      ))}
    </ul>
  )
}

function CallFacts({ call }: { call: Call }) {
  const facts: [string, ComponentChildren][] = [
    ['Started', <Time key="s" at={call.started_at} day />],
    ['Answered', <Time key="a" at={call.answered_at} day />],
    ['Ended', <Time key="e" at={call.ended_at} day />],
    ['Waiting, talking', `${formatStopwatch(call.wait_duration)}, ${formatStopwatch(call.talk_duration)}`],
    ['Answered by', call.answered_by === null ? '–' : formatParty(call.answered_by)],
    ['Handled by', call.handled_by.length === 0 ? '–' : call.handled_by.map(formatParty).join(', then ')],
    ['Hang-up', describeHangup(call)],
  ]
  if (call.did !== null) facts.push(['Number called', call.did])
  if (call.queue !== null)
    facts.push(['Queue', `${call.queue.name}, waited ${formatStopwatch(call.queue.wait_duration)}`])
  if (call.parent_id !== null) facts.push(['Consultation for', <CallLink key="p" id={call.parent_id} />])
  for (const id of call.merged_from) facts.push(['Merged from', <CallLink key={id} id={id} />])
  if (call.partial) facts.push(['Incomplete', 'the PBX was not connected during the whole call'])
  facts.push(['Call id', call.id], ['Id in the PBX', call.pbx_id])
  for (const [name, value] of Object.entries(call.variables)) facts.push([name, value])
  return (
    <dl class="facts card columns">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="break">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function describeHangup({ hangup }: Call): string {
  if (hangup === null) return '–'
  return `${formatHangup(hangup)}${hangup.code === null ? '' : ` (Q.850 ${hangup.code})`}`
}

function CallLink({ id }: { id: string }) {
  return <a href={routeHref('calls', id)}>{id}</a>
}
