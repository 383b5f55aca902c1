import type { CallEvent, Party, Stage } from '../../src/events/bodies.ts'
import { lineOf, partyOf } from './expected.ts'
import type { Facts } from './expected-file.ts'

/** The facts of events, for the right half of the lines of an `.expected` file. */
type Body = CallEvent['body']

/** An event in words and facts. */
export type EventLine = {
  readonly words: string
  readonly facts: Facts
  /** Facts that a full block need not write. */
  readonly defaults: Facts
  /** Durations in seconds with their fraction, where the times of the events show it. */
  readonly exact: Readonly<Record<string, number>>
}

/** Facts that even a full block may leave out. */
export const OPTIONAL: ReadonlySet<string> = new Set(['at', 'state', 'stages'])

const DEFAULTS: Facts = {
  in: '-',
  try: '1',
  consults: '-',
  forwarded: '-',
  joins: '-',
  into: '-',
  queue: '-',
  transfers: '0',
  recorded: 'no',
  missed: 'no',
  name: '-',
  from: '-',
  to: '-',
  did: '-',
  stage: '-',
}

const quoted = (text: string | null | undefined): string => (text == null ? '-' : JSON.stringify(text))
/** Quotes what would end at its first space. */
const word = (text: string): string => (/^[^\s"]+$/.test(text) ? text : JSON.stringify(text))
const whole = (value: number | null | undefined): string => (value == null ? '-' : String(value))
const listOf = (parties: readonly Party[]): string => word(parties.map(partyOf).join(',') || '-')
const stageText = (stage: Pick<Stage, 'kind' | 'target'>): string => word(`${stage.kind}:${stage.target ?? '-'}`)

/** Returns the microseconds of a time of a body. */
const microsecondsOf = (time: string): number =>
  Date.parse(`${time.slice(0, 19)}Z`) * 1_000 + Number(time.slice(20, 26))

/** Returns the seconds between two times, `NaN` if one is unknown. */
const secondsBetween = (from: string | null | undefined, to: string | null | undefined): number =>
  from == null || to == null ? Number.NaN : (microsecondsOf(to) - microsecondsOf(from)) / 1_000_000

type Context = {
  /** The stages of all bodies by their ids, as they were last. */
  readonly stages: ReadonlyMap<string, Stage>
  /** Returns the number of a call's block, from 1. */
  readonly blockOf: (callId: string) => string
}

/** Returns the stages of bodies by their ids, each as it was last. */
export function stagesOf(bodies: readonly Body[]): Map<string, Stage> {
  const stages = new Map<string, Stage>()
  for (const { data } of bodies) {
    if ('stage' in data && data.stage !== null) stages.set(data.stage.id, data.stage)
    if ('stages' in data) for (const stage of data.stages) stages.set(stage.id, stage)
  }
  return stages
}

/** Facts of the call that a full block writes on the lines where they change. */
function changing({ data: { call } }: Body): Facts {
  return {
    owner: partyOf(call.handled_by.at(-1)),
    direction: call.direction,
    caller: word(partyOf(call.from)),
    called: word(partyOf(call.to)),
    callername: quoted(call.from.name),
    calledname: quoted(call.to.name),
    did: call.did ?? '-',
  }
}

/** Lines that always name the owner in a full block. */
const NAMES_OWNER: ReadonlySet<string> = new Set([
  'dial_answered',
  'call_blind_transferred',
  'call_attended_transferred',
])

/** Returns the events of one call, in the order of `sequence`, as lines. */
export function eventLines(bodies: readonly Body[], context: Context): EventLine[] {
  let before: Facts | undefined
  return bodies.map((body) => {
    const { name } = body.data
    const changes = changing(body)
    const isFirst = before === undefined
    const { owner = '-', ...unchanged } = before ?? {}
    const defaults: Record<string, string> = { ...DEFAULTS, ...unchanged }
    if (!NAMES_OWNER.has(name)) defaults.owner = owner
    const at = secondsBetween(bodies[0]?.time, body.time).toFixed(1)
    const { facts, exact } = ownFacts(body, bodies, context)
    before = changes
    // The words and facts of call_started show how these begin.
    const shown = isFirst ? { owner: changes.owner ?? '-' } : changes
    return { words: lineOf(body), facts: { ...shown, ...facts, at }, defaults, exact }
  })
}

type Own = { readonly facts: Facts; readonly exact: Readonly<Record<string, number>> }

function ownFacts({ data }: Body, bodies: readonly Body[], context: Context): Own {
  const { call } = data
  const consults = call.parent_id === null ? '-' : context.blockOf(call.parent_id)
  switch (data.name) {
    case 'call_started':
      return {
        facts: {
          from: quoted(call.from.name),
          to: quoted(call.to.name),
          did: call.did ?? '-',
          state: call.state,
          consults,
        },
        exact: {},
      }
    case 'dial_started':
    case 'dial_answered':
      return { facts: { ...stageFacts(data.stage, context), state: call.state }, exact: {} }
    case 'dial_ended':
      return endedStage(data.stage, call.state, bodies, context)
    case 'call_blind_transferred':
    case 'call_attended_transferred': {
      const { other_call_id: other, to } = data.transfer
      return {
        facts: { joins: other === null ? '-' : context.blockOf(other), to: quoted(to.name), state: call.state },
        exact: {},
      }
    }
    case 'custom':
      return { facts: {}, exact: {} }
    case 'call_held':
    case 'call_resumed':
      return { facts: data.stage === null ? {} : { stage: stageText(data.stage) }, exact: {} }
    case 'call_ended':
      return endedCall(data, context)
    case 'call_saved':
      return savedCall(data.recordings)
    case 'call_missed':
    case 'recording_saved':
      return { facts: {}, exact: {} }
  }
}

function stageFacts(stage: Stage, { stages }: Context): Facts {
  const parent = stage.parent_id === null ? undefined : stages.get(stage.parent_id)
  const inside = parent === undefined ? '?' : stageText(parent)
  return {
    name: quoted(stage.name),
    in: stage.parent_id === null ? '-' : inside,
    try: String(stage.attempt),
  }
}

function endedStage(stage: Stage, state: string, bodies: readonly Body[], context: Context): Own {
  const rang = bodies.findLast(({ data }) => data.name === 'dial_started' && data.stage.id === stage.id)
  return {
    facts: {
      ...stageFacts(stage, context),
      state,
      ring: whole(stage.ring_duration),
      talk: whole(stage.talk_duration),
      forwarded: stage.forwarded_to === null ? '-' : word(stage.forwarded_to),
    },
    exact: {
      ring: secondsBetween(rang?.time, stage.answered_at ?? stage.ended_at),
      talk: secondsBetween(stage.answered_at, stage.ended_at),
    },
  }
}

type Ended = Extract<Body['data'], { name: 'call_ended' }>

function endedCall({ call, stages }: Ended, { blockOf }: Context): Own {
  const { queue, hangup } = call
  return {
    facts: {
      lasts: whole(call.duration),
      wait: whole(call.wait_duration),
      talk: whole(call.talk_duration),
      answered: word(partyOf(call.answered_by)),
      handled: listOf(call.handled_by),
      by: hangup?.by ?? '-',
      cause: hangup?.cause ?? '-',
      code: whole(hangup?.code),
      missed: missedText(call.missed, call.missed_by),
      queue: queue === null ? '-' : word(`${queue.name}/${whole(queue.position)}/${whole(queue.wait_duration)}`),
      transfers: String(call.transfers),
      recorded: call.recorded ? 'yes' : 'no',
      stages: String(stages.length),
      into: call.merged_into === null ? '-' : blockOf(call.merged_into),
    },
    exact: {
      lasts: secondsBetween(call.started_at, call.ended_at),
      wait: secondsBetween(call.started_at, call.answered_at ?? call.ended_at),
      talk: secondsBetween(call.answered_at, call.ended_at),
    },
  }
}

function missedText(missed: boolean | null, by: readonly Party[]): string {
  if (missed === null) return '-'
  if (!missed) return 'no'
  return by.length === 0 ? 'nobody' : listOf(by)
}

function savedCall(recordings: Extract<Body['data'], { name: 'call_saved' }>['recordings']): Own {
  const rows = recordings.map((one, index) => ({ one, number: index + 1 }))
  return {
    facts: Object.fromEntries(
      rows.flatMap(({ one, number }) => [
        [`rec${number}`, whole(one.duration)],
        [`path${number}`, one.path === null ? '-' : word(one.path)],
      ]),
    ),
    exact: Object.fromEntries(
      rows.map(({ one, number }) => [`rec${number}`, secondsBetween(one.started_at, one.ended_at)]),
    ),
  }
}
