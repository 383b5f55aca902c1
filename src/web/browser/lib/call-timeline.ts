import { nameHas } from '../../../events/party-name.ts'
import { partyTexts } from './contact.ts'
import { humanize } from './format.ts'
import type { Call, EventWithDeliveries, Stage } from './resources.ts'

/**
 * The layout of a call's timeline: a lane for the caller and one for each stage, with ringing, talking and waiting as
 * bars, and events as marks. Positions are percentages of the width; what is outside of the shown part is cut off.
 * Pure.
 *
 * A bar whose start or end is unknown (`null`) reaches to the edge of the call.
 */
type BarTone = 'ring' | 'talk' | 'hold'
export type Bar = { readonly tone: BarTone; readonly left: number; readonly width: number; readonly text: string }
type Lane = {
  readonly key: string
  readonly label: string
  readonly detail: string
  readonly depth: number
  readonly bars: readonly Bar[]
}
/** A time on the axis. */
type Tick = { readonly left: number; readonly seconds: number }
export type Timeline = {
  readonly lanes: readonly Lane[]
  readonly marks: readonly { readonly left: number; readonly name: string; readonly sequence: number }[]
  readonly ticks: readonly Tick[]
  /** The times at its left and its right end. */
  readonly fromMs: number
  readonly toMs: number
}

type TimelineInput = {
  readonly call: Call
  readonly stages: readonly Stage[]
  readonly events: readonly EventWithDeliveries[]
  readonly nowMs: number
  /** `ringing`: only to the first answer, because rings are slivers in long calls. */
  readonly part: 'whole' | 'ringing'
  /** The number of times that fit on the axis. */
  readonly maxTicks: number
}

const NICE_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200]
/** Shows a little of the time after the answer. */
const AFTER_ANSWER = 1.15

/** A time without end: a hold that was not taken off. */
type Span = { readonly from: string; readonly to: string | null }

/** Computes the timeline of a call; a live call ends at `nowMs`. */
export function buildTimeline({ call, stages, events, nowMs, part, maxTicks }: TimelineInput): Timeline {
  const known = [call.started_at, call.ended_at, ...stages.flatMap((stage) => [stage.started_at, stage.ended_at])]
    .filter((at) => at !== null)
    .map((at) => Date.parse(at))
  const fromMs = Math.min(...known, nowMs)
  const lastMs = call.ended_at === null ? nowMs : Math.max(...known)
  const endMs = Math.max(lastMs, fromMs + 1_000)
  const answeredMs = call.answered_at === null ? endMs : Date.parse(call.answered_at)
  const toMs =
    part === 'whole' ? endMs : Math.min(endMs, fromMs + Math.max(1_000, (answeredMs - fromMs) * AFTER_ANSWER))
  const share = (ms: number) => (100 * Math.min(Math.max(ms - fromMs, 0), toMs - fromMs)) / (toMs - fromMs)
  const bar = (tone: BarTone, start: string | null, end: string | null, text: string): Bar[] => {
    const left = share(start === null ? fromMs : Date.parse(start))
    const width = share(end === null ? endMs : Date.parse(end)) - left
    return width > 0 || left < 100 ? [{ tone, left, width: Math.max(0, width), text }] : []
  }
  const holds = holdsOf(events)
  return {
    lanes: [callerLane(call, holds, bar), ...stages.map((stage) => stageLane(stage, holds, bar))],
    marks: events
      .filter(({ at }) => Date.parse(at) <= toMs)
      .map(({ at, name, sequence }) => ({ left: share(Date.parse(at)), name, sequence })),
    ticks: ticksOf((toMs - fromMs) / 1_000, maxTicks),
    fromMs,
    toMs,
  }
}

/** Returns the times in which the parties were on hold. */
function holdsOf(events: readonly EventWithDeliveries[]): Span[] {
  const holds: Span[] = []
  for (const { name, at } of events) {
    const last = holds.at(-1)
    if (name === 'call_held' && (last === undefined || last.to !== null)) holds.push({ from: at, to: null })
    if (name === 'call_resumed' && last !== undefined && last.to === null) holds[holds.length - 1] = { ...last, to: at }
  }
  return holds
}

type MakeBars = (tone: BarTone, start: string | null, end: string | null, text: string) => Bar[]

/** Returns the bars of a talk, with its times on hold. */
function talkBars(start: string | null, end: string | null, holds: readonly Span[], bar: MakeBars): Bar[] {
  const within = holds.filter(
    ({ from, to }) => (end === null || from < end) && (start === null || to === null || to > start),
  )
  return [
    ...bar('talk', start, end, 'talks'),
    ...within.flatMap(({ from, to }) =>
      bar('hold', from, to === null || (end !== null && to > end) ? end : to, 'on hold'),
    ),
  ]
}

function callerLane(call: Call, holds: readonly Span[], bar: MakeBars): Lane {
  const { answered_at: answered, ended_at: ended } = call
  const { main, beside } = partyTexts(call.from)
  return {
    key: 'call',
    label: main,
    detail: beside[0] ?? 'caller',
    depth: 0,
    bars: [
      ...bar('hold', call.started_at, answered ?? ended, 'waits'),
      ...(answered === null ? [] : talkBars(answered, ended, holds, bar)),
    ],
  }
}

function stageLane(stage: Stage, holds: readonly Span[], bar: MakeBars): Lane {
  const { kind, target, name, started_at: started, answered_at: answered, ended_at: ended } = stage
  const isPerson = kind === 'user' || kind === 'external'
  // A group or queue ends its wait with the answer of one of its phones.
  const isGroup = kind === 'group' || kind === 'queue'
  const isNamed = name !== null && (target === null || !nameHas(name, target))
  const details = [
    isPerson ? '' : kind,
    isNamed ? (target ?? '') : '',
    stage.attempt > 1 ? `attempt ${stage.attempt}` : '',
    stage.result === null || stage.result === 'answered' ? '' : humanize(stage.result),
  ]
  const waits = isPerson && started === null && answered === null
  return {
    key: stage.id,
    label: name ?? target ?? 'unknown',
    detail: details.filter((one) => one !== '').join(' '),
    depth: stage.parent_id === null ? 0 : 1,
    bars: [
      ...(waits
        ? []
        : isPerson
          ? bar('ring', started, answered ?? ended, 'rings')
          : bar('hold', started, isGroup ? (answered ?? ended) : ended, kind === 'queue' ? 'waits' : 'rings')),
      ...(isPerson && answered !== null ? talkBars(answered, ended, holds, bar) : []),
    ],
  }
}

function ticksOf(seconds: number, maxTicks: number): Tick[] {
  const step = NICE_STEPS_S.find((nice) => seconds / nice <= maxTicks) ?? Math.ceil(seconds / maxTicks / 3_600) * 3_600
  const count = Math.floor(seconds / step)
  return Array.from({ length: count + 1 }, (_, at) => ({ seconds: at * step, left: (100 * at * step) / seconds }))
}
