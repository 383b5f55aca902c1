import { useEffect, useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import { serverNowMs } from '../lib/clock.ts'
import { live } from '../lib/connection.ts'
import { partyText, plural, stopwatch, words } from '../lib/format.ts'
import type { OneCall, ToldEvent } from '../lib/resources.ts'
import { placeHref } from '../lib/router.ts'
import { useCell } from '../lib/state.ts'
import { timelineOf } from '../lib/timeline.ts'
import { Icon } from '../parts/icon.tsx'
import { Badge, Problem, Waiting, When } from '../parts/shown.tsx'
import { PartyName } from './call-board.tsx'
import { Recordings, Stages } from './call-stages.tsx'
import { TimelinePicture } from './timeline.tsx'
import { Told } from './told.tsx'

/** On a phone the picture is some 220 px wide: marks nearer than 11% of that would cover one another. */
const NARROW_PX = 820

/** A call by its id: its record, or while it is up (or not saved yet) what the live view knows of it. */
export function CallDetail({ id }: { id: string }) {
  const [record, setRecord] = useState<OneCall | null>(null)
  const [told, setTold] = useState<readonly ToldEvent[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const [asked, setAsked] = useState(false)
  const { calls, feed } = useCell(live)
  const up = calls.get(id)
  const moves = feed.filter((item) => item.callId === id)
  // Changes whenever an event of this call, or a delivery of one, moved.
  const pulse =
    moves.flatMap((item) => item.deliveries.map((one) => `${one.id}${one.state}${one.attempts_made}`)).join() +
    moves.length
  const load = async () => {
    const path = `/call/${encodeURIComponent(id)}`
    const [one, events] = await Promise.all([
      request<OneCall>('GET', path),
      request<ToldEvent[]>('GET', `${path}/event`),
    ])
    setAsked(true)
    if (one.ok) setRecord(one.result)
    if (events.ok) setTold(events.result)
    setProblem(one.ok || one.status === 404 ? null : one.message)
  }
  useEffect(() => {
    const timer = setTimeout(() => void load(), asked ? 300 : 0)
    return () => clearTimeout(timer)
  }, [id, pulse])

  const shown: OneCall | null =
    record ?? (up === undefined ? null : { call: up.call, stages: up.stages, recordings: [] })
  return (
    <div class="view">
      <a class="back" href={placeHref('calls')}>
        <Icon name="back" /> Calls
      </a>
      {problem === null ? null : <Problem text={problem} again={load} />}
      {shown === null ? (
        asked && problem === null ? (
          <Unknown told={told} />
        ) : problem === null ? (
          <Waiting what="the call" />
        ) : null
      ) : (
        <Shown shown={shown} told={told} />
      )}
    </div>
  )
}

function Unknown({ told }: { told: readonly ToldEvent[] }) {
  return (
    <>
      <Problem text="There is no record of this call: it may not be over yet, was merged into another, or is older than what is kept." />
      {told.length > 0 ? <Told told={told} startedAt={null} /> : null}
    </>
  )
}

function Shown({ shown, told }: { shown: OneCall; told: readonly ToldEvent[] }) {
  const { call, stages, recordings } = shown
  const timeline = timelineOf({
    call,
    stages,
    told,
    nowMs: serverNowMs(),
    nearest: innerWidth < NARROW_PX ? 11 : 3.6,
  })
  const transfers = told.flatMap((event) => (event.transfer === null ? [] : [event.transfer]))
  const summary = `${call.direction} call from ${partyText(call.from)} to ${partyText(call.to)}, ${plural(stages.length, 'stage')}, ${plural(call.transfers, 'transfer')}, ${words(call.result ?? call.state)}`
  return (
    <>
      <header class="view-head">
        <h1 class="call-title">
          <span class={`direction ${call.direction}`}>
            <Icon name={call.direction} />
            <span class="hidden">{call.direction} call:</span>
          </span>
          <PartyName party={call.from} />
          <span class="to" aria-hidden="true">
            →
          </span>
          <span class="hidden">to</span>
          <PartyName party={call.to} />
        </h1>
        <Badge word={call.result ?? call.state} dot={call.state !== 'ended'} />
      </header>
      <section class="card" aria-labelledby="picture">
        <header class="card-head">
          <h2 id="picture">What happened</h2>
          <ul class="chart-key" aria-label="Key">
            <li>
              <i class="swatch ring" aria-hidden="true" /> ringing
            </li>
            <li>
              <i class="swatch good" aria-hidden="true" /> talking
            </li>
            <li>
              <i class="swatch wait" aria-hidden="true" /> waiting
            </li>
          </ul>
        </header>
        <TimelinePicture timeline={timeline} label={summary} />
        {transfers.length === 0 ? null : (
          <ul class="transfers">
            {transfers.map((transfer, at) => (
              <li key={at}>
                <span class="event-name transfer">{transfer.kind} transfer</span> {partyText(transfer.by)} transferred{' '}
                {partyText(transfer.transferee)} to {partyText(transfer.to)}
              </li>
            ))}
          </ul>
        )}
      </section>
      <CallFacts call={call} />
      <Stages stages={stages} />
      <Told told={told} startedAt={call.started_at} />
      <Recordings recordings={recordings} />
    </>
  )
}

function CallFacts({ call }: { call: OneCall['call'] }) {
  const facts: [string, preact.ComponentChildren][] = [
    ['Started', <When key="s" at={call.started_at} day />],
    ['Answered', <When key="a" at={call.answered_at} day />],
    ['Ended', <When key="e" at={call.ended_at} day />],
    ['Waited, talked', `${clockOrDash(call.wait_duration)}, ${clockOrDash(call.talk_duration)}`],
    ['Answered by', call.answered_by === null ? '–' : partyText(call.answered_by)],
    ['Handled by', call.handled_by.length === 0 ? '–' : call.handled_by.map(partyText).join(', then ')],
    [
      'Hung up',
      call.hangup === null
        ? '–'
        : `${words(call.hangup.cause)}, by ${call.hangup.by}${call.hangup.code === null ? '' : ` (Q.850 ${call.hangup.code})`}`,
    ],
  ]
  if (call.did !== null) facts.push(['Number called', call.did])
  if (call.queue !== null) facts.push(['Queue', `${call.queue.name}, waited ${clockOrDash(call.queue.wait_duration)}`])
  if (call.parent_id !== null) facts.push(['Made for', <CallLink key="p" id={call.parent_id} />])
  for (const id of call.merged_from) facts.push(['Joined with', <CallLink key={id} id={id} />])
  if (call.partial) facts.push(['Seen', 'only partly: the PBX was not connected all the time'])
  facts.push(['Our id', call.id], ['The PBX’s id', call.pbx_id])
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

function CallLink({ id }: { id: string }) {
  return <a href={placeHref('calls', id)}>{id}</a>
}

function clockOrDash(seconds: number | null): string {
  return seconds === null ? '–' : stopwatch(seconds)
}
