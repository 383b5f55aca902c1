import { useEffect, useState } from 'preact/hooks'
import { CallButton } from '../../components/call-button.tsx'
import { Segments } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Copyable } from '../../components/copy-button.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Legend } from '../../components/legend.tsx'
import { ContactLink, PartyName } from '../../components/party-name.tsx'
import { State } from '../../components/state.tsx'
import { request, withQuery } from '../../lib/api.ts'
import { neighboursOf } from '../../lib/call-neighbours.ts'
import { type StoryLine, storyOf } from '../../lib/call-story.ts'
import { buildTimeline } from '../../lib/call-timeline.ts'
import { describeLiveCall } from '../../lib/call-words.ts'
import { liveState, useReconnected } from '../../lib/connection.ts'
import { formatDay, formatParty, formatStopwatch, formatTime, humanize, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { tracksOf } from '../../lib/playback.ts'
import type { Call, CallRecord, EventWithDeliveries, ReadEvent } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { RecordingList, TimelinePlayers } from './call-recordings.tsx'
import { Story } from './story.tsx'
import { TimelineChart } from './timeline-chart.tsx'
import { usePlayback } from './use-playback.ts'

/** Below this width fewer times fit on the axis. */
const NARROW_PX = 820
/** Several deliveries change together: they are read once. */
const RELOAD_DELAY_MS = 300

/** The known state of a call: its record, or until it has one its state in the live view. */
type Shown = Omit<CallRecord, 'pbx'> & { readonly pbx: string | null }

/** Shows one call: its timeline, its story with the deliveries, and the JSON of the chosen event. */
export function CallDetail({ id }: { id: string }) {
  const [record, setRecord] = useState<CallRecord | null>(null)
  const [events, setEvents] = useState<readonly EventWithDeliveries[]>([])
  const [error, setError] = useState<string | null>(null)
  const [loaded, setLoaded] = useState(false)
  const { calls, feed } = useObservable(liveState)
  const live = calls.get(id)
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
  const shown: Shown | null =
    record ?? (live === undefined ? null : { call: live.call, stages: live.stages, recordings: [], pbx: live.pbx })
  return (
    <div class="view">
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

function Back() {
  return (
    <a class="back" href={routeHref('calls')}>
      <Icon name="back" /> Calls
    </a>
  )
}

function MissingRecord({ events }: { events: readonly EventWithDeliveries[] }) {
  const [chosen, setChosen] = useState<string | null>(null)
  return (
    <>
      <Back />
      <ErrorMessage text="There is no record of this call. It may not have ended yet, was merged into another call, or is older than the retention." />
      {events.length > 0 ? (
        <Story lines={storyOf(null, events)} startedAt={events[0]?.at ?? null} current={chosen} onChoose={setChosen} />
      ) : null}
    </>
  )
}

const LEGEND = [
  { name: 'rings', tone: 'ring' },
  { name: 'talks', tone: 'talk' },
  { name: 'waits or on hold', tone: 'hold' },
] as const

const PARTS = [
  ['whole', 'Whole call'],
  ['ringing', 'Ringing'],
] as const

function CallContent({ record, events }: { record: Shown; events: readonly EventWithDeliveries[] }) {
  const { call, stages, recordings } = record
  const [part, setPart] = useState<'whole' | 'ringing'>('whole')
  const [chosen, setChosen] = useState<string | null>(null)
  const maxTicks = innerWidth < NARROW_PX ? 3 : 7
  const timeline = buildTimeline({ call, stages, events, nowMs: serverNowMs(), part, maxTicks })
  const playback = usePlayback(tracksOf(recordings))
  const lines = storyOf(call, events)
  const line = lines.find(({ key }) => key === chosen) ?? lines.at(-1) ?? null
  return (
    <>
      <CallTitle record={record} />
      <div class="columns detail">
        <div class="stack">
          <section aria-labelledby="timeline">
            <header class="section-head">
              <h2 id="timeline">Timeline</h2>
              <Legend series={LEGEND} />
              <span class="push">
                {call.answered_at === null ? null : (
                  <Segments
                    label="Part of the call"
                    isSmall
                    value={part}
                    options={PARTS}
                    onChange={(value) => setPart(value === 'ringing' ? 'ringing' : 'whole')}
                  />
                )}
              </span>
            </header>
            <TimelineChart
              timeline={timeline}
              label={summaryOf(call, stages.length)}
              playback={playback}
              eventCount={events.length}
            />
            <TimelinePlayers callId={call.id} stages={stages} playback={playback} />
          </section>
          <section aria-labelledby="story">
            <header class="section-head">
              <h2 id="story">What happened</h2>
              <p>
                {pluralize(events.length, 'event')},{' '}
                {pluralize(
                  events.reduce((sum, { deliveries }) => sum + deliveries.length, 0),
                  'delivery',
                  'deliveries',
                )}
              </p>
              <a class="push" href={routeHref('deliveries', null, { call_id: call.id })}>
                Deliveries of this call
              </a>
            </header>
            {events.length === 0 ? (
              <p class="well">The events of this call are no longer kept.</p>
            ) : (
              <Story
                lines={lines}
                startedAt={call.started_at ?? events[0]?.at ?? null}
                current={line?.key ?? null}
                onChoose={setChosen}
              />
            )}
          </section>
          <RecordingList callId={call.id} recordings={recordings} playback={playback} />
          <ForSupport record={record} />
        </div>
        <Json record={record} line={line} eventCount={events.length} />
      </div>
    </>
  )
}

const summaryOf = (call: Call, stages: number): string =>
  `${call.direction} call from ${formatParty(call.from)} to ${formatParty(call.to)}, ${pluralize(stages, 'stage')}, ${pluralize(call.transfers, 'transfer')}, ${humanize(call.result ?? call.state)}`

function CallTitle({ record: { call, stages, pbx } }: { record: Shown }) {
  const { tone, text } = describeLiveCall(call, stages, undefined)
  const word = call.result === 'answered' ? 'answered' : text
  const contact = call.direction === 'outbound' ? call.to : call.from
  return (
    <div class="title">
      <Back />
      <header class="head">
        <h1>
          <PartyName party={call.from} /> <span class="dim">→</span>
          <span class="hidden"> to</span> <PartyName party={call.to} />
        </h1>
        <CallButton party={call.direction === 'inbound' ? call.from : call.to} />
        <State tone={tone}>
          <bdi>{word}</bdi>
        </State>
        <Neighbours call={call} />
      </header>
      <p class="hint">
        {factsOf(call, pbx).join(' · ')}
        {contact.contact?.url == null ? null : (
          <>
            {' · '}
            <ContactLink party={contact} />
          </>
        )}
      </p>
    </div>
  )
}

function factsOf(call: Call, pbx: string | null): string[] {
  const { started_at: started, ended_at: ended, duration, wait_duration: waited } = call
  const when =
    started === null
      ? []
      : [`${formatDay(started)}, ${formatTime(started)}${ended === null ? '' : ` to ${formatTime(ended)}`}`]
  const long =
    duration === null
      ? []
      : [`${formatStopwatch(duration)}${waited === null ? '' : `, waited ${formatStopwatch(waited)}`}`]
  return [
    `${call.direction[0]?.toUpperCase()}${call.direction.slice(1)}`,
    ...when,
    ...long,
    ...(pbx === null ? [] : [pbx]),
    ...(call.partial ? ['the PBX was not connected during the whole call, so parts may be missing'] : []),
  ]
}

/** Leads to the calls before and after this one, in the list from which it was opened. */
function Neighbours({ call }: { call: Call }) {
  const { older, newer } = neighboursOf(call.id)
  if (older === null && newer === null) return null
  return (
    <div class="actions push">
      {older === null ? null : (
        <a class="button" href={routeHref('calls', older)} aria-label="Older call">
          <Icon name="back" />
          Older
        </a>
      )}
      {newer === null ? null : (
        <a class="button" href={routeHref('calls', newer)} aria-label="Newer call">
          Newer
          <Icon name="next" />
        </a>
      )}
    </div>
  )
}

/** Shows the ids and what else helps to find a call elsewhere. */
function ForSupport({ record: { call, pbx } }: { record: Shown }) {
  return (
    <section aria-labelledby="support">
      <header class="section-head">
        <h2 id="support">For support</h2>
      </header>
      <dl class="facts">
        {call.did === null ? null : <Fact name="Number called">{call.did}</Fact>}
        {call.handled_by.length === 0 ? null : (
          <Fact name="Handled by">{call.handled_by.map(formatParty).join(', then ')}</Fact>
        )}
        {call.queue === null ? null : (
          <Fact name="Queue">
            {call.queue.name}, waited {formatStopwatch(call.queue.wait_duration)}
          </Fact>
        )}
        {call.parent_id === null ? null : (
          <Fact name="Consultation for">
            <a href={routeHref('calls', call.parent_id)}>another call</a>
          </Fact>
        )}
        {call.merged_from.map((id) => (
          <Fact key={id} name="Consultation">
            <a href={routeHref('calls', id)}>the call that was merged into this one</a>
          </Fact>
        ))}
        {pbx === null ? null : <Fact name="PBX">{pbx}</Fact>}
        <Fact name="Call">
          <Copyable text={call.id} label="the id of the call" />
        </Fact>
        <Fact name="In the PBX">
          <Copyable text={call.pbx_id} label="the id in the PBX" />
        </Fact>
        {Object.entries(call.variables).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
    </section>
  )
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** Shows the JSON of the events of a line, or the record of the call. */
function Json({ record, line, eventCount }: { record: Shown; line: StoryLine | null; eventCount: number }) {
  const [part, setPart] = useState<'event' | 'record'>('event')
  const [at, setAt] = useState(0)
  const bodies = useBodies(record.call.id, eventCount)
  useEffect(() => {
    setAt(0)
    setPart('event')
  }, [line?.key])
  const isEvent = part === 'event' && line !== null
  const event = line?.events[at] ?? line?.events[0]
  const { pbx, ...stored } = record
  const body = event === undefined ? undefined : bodies?.find(({ id }) => id === event.id)?.body
  const text = isEvent ? (body === undefined ? '' : JSON.stringify(body, null, 2)) : JSON.stringify(stored, null, 2)
  return (
    <section class="sticky" aria-labelledby="json">
      <header class="section-head">
        <h2 id="json">{isEvent ? humanize(event?.name ?? '') : 'Record'}</h2>
        <span class="push">
          <Segments
            label="What is shown"
            isSmall
            value={isEvent ? 'event' : 'record'}
            options={[
              ['event', 'Event'],
              ['record', 'Record'],
            ]}
            onChange={(value) => setPart(value === 'record' ? 'record' : 'event')}
          />
        </span>
      </header>
      {isEvent && line.events.length > 1 ? (
        <Segments
          label="Event"
          isSmall
          value={String(at)}
          options={line.events.slice(0, MAX_SEGMENTS).map(({ sequence }, place) => [String(place), `${sequence}`])}
          onChange={(place) => setAt(Number(place))}
        />
      ) : null}
      {text === '' ? (
        <p class="well">{bodies === null ? 'Loading the event…' : 'The body of this event is no longer kept.'}</p>
      ) : (
        <CodeBlock
          text={text}
          label="the JSON"
          head={`${isEvent ? `event ${event?.sequence}` : 'as GET /call/ID returns it'} · ${new TextEncoder().encode(text).length.toLocaleString('en')} bytes`}
        />
      )}
    </section>
  )
}

/** Only the line of a large group has more events: the first ones stand for all. */
const MAX_SEGMENTS = 8
/** As many as the API gives at a time: a call has more only in a storm of retries. */
const MAX_BODIES = 1_000

/** Reads the bodies of a call's events, again whenever there are more. */
function useBodies(callId: string, count: number): readonly ReadEvent[] | null {
  const [bodies, setBodies] = useState<readonly ReadEvent[] | null>(null)
  useEffect(() => {
    if (count === 0) return
    const path = withQuery('/event', { call_id: callId, limit: String(MAX_BODIES) })
    void request<{ items: ReadEvent[] }>('GET', path).then((response) => {
      setBodies((known) => (response.ok ? response.result.items : (known ?? [])))
    })
  }, [callId, count])
  return bodies
}
