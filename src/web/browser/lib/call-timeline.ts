import { formatParty, formatStageTarget, humanize } from './format.ts'
import type { Call, EventWithDeliveries, Party, Stage } from './resources.ts'

/**
 * The layout of a call's timeline: a row for the call itself and one for each stage, with ringing and talking as bars,
 * transfers as arrows from row to row, and events as marks on the axis. Positions are percentages of the width. Pure.
 *
 * A bar whose start or end is unknown (`null`) reaches to the edge of the call.
 */
type Bar = {
  readonly tone: 'pending' | 'ring' | 'talk' | 'group'
  readonly left: number
  readonly width: number
  readonly text: string
}
type TimelineRow = {
  readonly key: string
  readonly label: string
  readonly detail: string
  readonly depth: number
  readonly bars: readonly Bar[]
}
type Arrow = { readonly left: number; readonly fromRow: number; readonly toRow: number; readonly text: string }
/** Events too close together for a mark each share one, from the first to the last. */
type Mark = {
  readonly left: number
  readonly names: readonly string[]
  readonly first: number
  readonly last: number
}
export type Timeline = {
  readonly rows: readonly TimelineRow[]
  readonly arrows: readonly Arrow[]
  readonly marks: readonly Mark[]
  readonly ticks: readonly { readonly left: number; readonly seconds: number }[]
  /** The times at its left and its right end. */
  readonly fromMs: number
  readonly toMs: number
}

type TimelineInput = {
  call: Call
  stages: readonly Stage[]
  events: readonly EventWithDeliveries[]
  nowMs: number
  /** Events closer than this percentage of the width share a mark. */
  minGap: number
  /** The number of times that fit on the axis. */
  maxTicks: number
}

const NICE_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200]

/** Computes the timeline of a call; a live call ends at `nowMs`. */
export function buildTimeline({ call, stages, events, nowMs, minGap, maxTicks }: TimelineInput): Timeline {
  const known = [call.started_at, call.ended_at, ...stages.flatMap((stage) => [stage.started_at, stage.ended_at])]
    .filter((at) => at !== null)
    .map((at) => Date.parse(at))
  const fromMs = Math.min(...known, nowMs)
  const lastMs = call.ended_at === null ? nowMs : Math.max(...known)
  const toMs = Math.max(lastMs, fromMs + 1_000)
  const share = (ms: number) => (100 * Math.min(Math.max(ms - fromMs, 0), toMs - fromMs)) / (toMs - fromMs)
  const bar = (tone: Bar['tone'], start: string | null, end: string | null, text: string): Bar => {
    const left = share(start === null ? fromMs : Date.parse(start))
    return { tone, left, width: Math.max(0, share(end === null ? toMs : Date.parse(end)) - left), text }
  }
  const rows = [callRow(call, bar), ...stages.map((stage) => stageRow(stage, bar))]
  return {
    rows,
    arrows: events.flatMap((event) => arrowsOf(event, stages, share)),
    marks: marksOf(events, share, minGap),
    ticks: ticksOf((toMs - fromMs) / 1_000, maxTicks),
    fromMs,
    toMs,
  }
}

type MakeBar = (tone: Bar['tone'], start: string | null, end: string | null, text: string) => Bar

function callRow(call: Call, bar: MakeBar): TimelineRow {
  const answered = call.answered_at
  return {
    key: 'call',
    label: formatParty(call.from),
    detail: call.direction === 'outbound' ? 'calls out' : 'calls',
    depth: 0,
    bars: [
      bar('pending', call.started_at, answered ?? call.ended_at, 'waiting'),
      ...(answered === null ? [] : [bar('talk', answered, call.ended_at, 'talking')]),
    ],
  }
}

function stageRow(stage: Stage, bar: MakeBar): TimelineRow {
  const person = stage.kind === 'user' || stage.kind === 'external'
  const waiting = bar(
    person ? 'ring' : 'group',
    stage.started_at,
    person ? (stage.answered_at ?? stage.ended_at) : stage.ended_at,
    person ? 'ringing' : stage.kind,
  )
  return {
    key: stage.id,
    label: formatStageTarget(stage),
    detail: [
      stage.kind,
      stage.attempt > 1 ? `attempt ${stage.attempt}` : '',
      stage.result === null ? '' : humanize(stage.result),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    depth: stage.parent_id === null ? 0 : 1,
    bars: [
      ...(stage.started_at === null && stage.answered_at === null && person ? [] : [waiting]),
      ...(person && stage.answered_at !== null ? [bar('talk', stage.answered_at, stage.ended_at, 'talking')] : []),
    ],
  }
}

function arrowsOf(event: EventWithDeliveries, stages: readonly Stage[], share: (ms: number) => number): Arrow[] {
  if (event.transfer === null) return []
  const atMs = Date.parse(event.at)
  const { by, to, kind } = event.transfer
  const fromRow = rowOf(by, stages, atMs, 'before')
  const toRow = rowOf(to, stages, atMs, 'after')
  if (fromRow === toRow) return []
  return [{ left: share(atMs), fromRow, toRow, text: `${kind} transfer by ${formatParty(by)} to ${formatParty(to)}` }]
}

/** Returns the row of a party at a moment: its stage nearest to then, else the call's own row. */
function rowOf(party: Party, stages: readonly Stage[], atMs: number, side: 'before' | 'after'): number {
  const isParty = (stage: Stage) => stage.target !== null && [party.extension, party.number].includes(stage.target)
  const rows = stages.map((stage, at) => ({ stage, row: at + 1 })).filter(({ stage }) => isParty(stage))
  const startMs = (stage: Stage) => (stage.started_at === null ? 0 : Date.parse(stage.started_at))
  const nearest =
    side === 'before'
      ? rows.findLast(({ stage }) => startMs(stage) <= atMs)
      : (rows.find(({ stage }) => startMs(stage) >= atMs - 500) ?? rows.at(-1))
  return (nearest ?? rows[0])?.row ?? 0
}

function marksOf(events: readonly EventWithDeliveries[], share: (ms: number) => number, minGap: number): Mark[] {
  const marks: Mark[] = []
  for (const { at, name, sequence } of events) {
    const left = share(Date.parse(at))
    const before = marks.at(-1)
    if (before !== undefined && left - before.left < minGap)
      marks[marks.length - 1] = { ...before, names: [...before.names, name], last: sequence }
    else marks.push({ left, names: [name], first: sequence, last: sequence })
  }
  return marks
}

function ticksOf(seconds: number, maxTicks: number): Timeline['ticks'] {
  const step = NICE_STEPS_S.find((nice) => seconds / nice <= maxTicks) ?? Math.ceil(seconds / maxTicks / 3_600) * 3_600
  const count = Math.floor(seconds / step)
  return Array.from({ length: count + 1 }, (_, at) => ({ seconds: at * step, left: (100 * at * step) / seconds }))
}
