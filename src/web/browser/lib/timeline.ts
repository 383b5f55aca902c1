import { partyText, stageTarget, words } from './format.ts'
import type { Call, Party, Stage, ToldEvent } from './resources.ts'

/**
 * One call as a picture: a row for the call itself and one for each stage; what rang and what talked as bars, transfers as arrows from
 * row to row, events as marks on the axis. Positions are shares of the width, 0 to 100. Pure.
 *
 * Times that were not seen (`null`) reach to the edge of the call.
 */
export type Bar = {
  readonly tone: 'wait' | 'ring' | 'talk' | 'group'
  readonly left: number
  readonly width: number
  readonly text: string
}
export type TimelineRow = {
  readonly key: string
  readonly label: string
  readonly detail: string
  readonly depth: number
  readonly bars: readonly Bar[]
}
export type Arrow = { readonly left: number; readonly fromRow: number; readonly toRow: number; readonly text: string }
/** Events that are too near to one another to be told apart are one mark, from the first to the last. */
export type Mark = {
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
}

export type TimelineInput = {
  call: Call
  stages: readonly Stage[]
  told: readonly ToldEvent[]
  nowMs: number
  nearest: number
}

const NICE_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200]
const MOST_TICKS = 7

export function timelineOf({ call, stages, told, nowMs, nearest }: TimelineInput): Timeline {
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
    arrows: told.flatMap((event) => arrowsOf(event, stages, share)),
    marks: marksOf(told, share, nearest),
    ticks: ticksOf((toMs - fromMs) / 1_000),
  }
}

type MakeBar = (tone: Bar['tone'], start: string | null, end: string | null, text: string) => Bar

function callRow(call: Call, bar: MakeBar): TimelineRow {
  const answered = call.answered_at
  return {
    key: 'call',
    label: partyText(call.from),
    detail: call.direction === 'outbound' ? 'calls out' : 'calls',
    depth: 0,
    bars: [
      bar('wait', call.started_at, answered ?? call.ended_at, 'waits'),
      ...(answered === null ? [] : [bar('talk', answered, call.ended_at, 'talks')]),
    ],
  }
}

function stageRow(stage: Stage, bar: MakeBar): TimelineRow {
  const person = stage.kind === 'user' || stage.kind === 'external'
  const waiting = bar(
    person ? 'ring' : 'group',
    stage.started_at,
    person ? (stage.answered_at ?? stage.ended_at) : stage.ended_at,
    person ? 'rings' : stage.kind,
  )
  return {
    key: stage.id,
    label: stageTarget(stage),
    detail: [
      stage.kind,
      stage.attempt > 1 ? `attempt ${stage.attempt}` : '',
      stage.result === null ? '' : words(stage.result),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    depth: stage.parent_id === null ? 0 : 1,
    bars: [
      ...(stage.started_at === null && stage.answered_at === null && person ? [] : [waiting]),
      ...(person && stage.answered_at !== null ? [bar('talk', stage.answered_at, stage.ended_at, 'talks')] : []),
    ],
  }
}

function arrowsOf(event: ToldEvent, stages: readonly Stage[], share: (ms: number) => number): Arrow[] {
  if (event.transfer === null) return []
  const atMs = Date.parse(event.at)
  const { by, to, kind } = event.transfer
  const fromRow = rowOf(by, stages, atMs, 'before')
  const toRow = rowOf(to, stages, atMs, 'after')
  if (fromRow === toRow) return []
  return [{ left: share(atMs), fromRow, toRow, text: `${kind} transfer by ${partyText(by)} to ${partyText(to)}` }]
}

/** The row of a party at a moment: its stage nearest to then, else the call's own row. */
function rowOf(party: Party, stages: readonly Stage[], atMs: number, side: 'before' | 'after'): number {
  const isParty = (stage: Stage) => stage.target !== null && [party.extension, party.number].includes(stage.target)
  const rows = stages.map((stage, at) => ({ stage, row: at + 1 })).filter(({ stage }) => isParty(stage))
  const startMs = (stage: Stage) => (stage.started_at === null ? 0 : Date.parse(stage.started_at))
  const fitting =
    side === 'before'
      ? rows.findLast(({ stage }) => startMs(stage) <= atMs)
      : (rows.find(({ stage }) => startMs(stage) >= atMs - 500) ?? rows.at(-1))
  return (fitting ?? rows[0])?.row ?? 0
}

function marksOf(told: readonly ToldEvent[], share: (ms: number) => number, nearest: number): Mark[] {
  const marks: Mark[] = []
  for (const { at, name, sequence } of told) {
    const left = share(Date.parse(at))
    const before = marks.at(-1)
    if (before !== undefined && left - before.left < nearest)
      marks[marks.length - 1] = { ...before, names: [...before.names, name], last: sequence }
    else marks.push({ left, names: [name], first: sequence, last: sequence })
  }
  return marks
}

function ticksOf(seconds: number): Timeline['ticks'] {
  const step =
    NICE_STEPS_S.find((nice) => seconds / nice <= MOST_TICKS) ?? Math.ceil(seconds / MOST_TICKS / 3_600) * 3_600
  const count = Math.floor(seconds / step)
  return Array.from({ length: count + 1 }, (_, at) => ({ seconds: at * step, left: (100 * at * step) / seconds }))
}
