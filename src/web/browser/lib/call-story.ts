import { partyText } from './contact.ts'
import { formatStageTarget, formatStopwatch, humanize, pluralize } from './format.ts'
import type { Call, EventWithDeliveries, Stage } from './resources.ts'

/** The story of a call in sentences: a line for what happened, which may be several events. Pure. */
export type StoryLine = {
  readonly key: string
  readonly at: string
  readonly tone: '' | 'ring' | 'talk' | 'move' | 'bad'
  readonly text: string
  /** The small print of the line: the kinds of its events, and their consequences. */
  readonly detail: string
  readonly events: readonly EventWithDeliveries[]
}

/** Events of one thing that happens to several phones are some milliseconds apart. */
const TOGETHER_MS = 1_500
/** More would not fit on a line. */
const MAX_NAMED = 4

type Line = { -readonly [Key in keyof StoryLine]: Key extends 'events' ? EventWithDeliveries[] : StoryLine[Key] }

/** Returns the story of a call, in the order of its events. */
export function storyOf(call: Call | null, events: readonly EventWithDeliveries[]): StoryLine[] {
  const lines: Line[] = []
  for (const event of events) {
    const merged = lines.findLast((line, at) => belongsTo(line, event) && !isOver(event, lines.slice(at + 1)))
    if (merged === undefined) lines.push({ ...lineOf(event, call), key: event.id, at: event.at, events: [event] })
    else {
      merged.events.push(event)
      Object.assign(merged, textOf(merged.events, call))
    }
  }
  return lines
}

/** Returns whether an event belongs to a line of the story. */
function belongsTo({ events }: Line, event: EventWithDeliveries): boolean {
  const [first] = events
  const last = events.at(-1)
  if (first === undefined || last === undefined) return false
  if (event.name === 'call_resumed')
    return first.name === 'call_held' && !events.some(({ name }) => name === 'call_resumed')
  if (Date.parse(event.at) - Date.parse(last.at) > TOGETHER_MS) return false
  if (event.name === 'dial_started') return first.name === 'dial_started'
  if (event.name !== 'dial_ended') return false
  const result = event.stage?.result
  if (first.name === 'dial_answered') return result === 'answered_elsewhere' || isGroup(event.stage)
  return first.name === 'dial_ended' && result === first.stage?.result && result !== 'answered'
}

/** Returns whether an event needs a line of its own: a phone that rings after a transfer does. */
function isOver({ name }: EventWithDeliveries, since: readonly Line[]): boolean {
  const names = since.flatMap(({ events }) => events[0]?.name ?? [])
  if (name === 'dial_started') return names.some((one) => one === 'dial_answered' || one.includes('transferred'))
  return name === 'dial_ended' && names.some((one) => one === 'dial_started' || one.includes('transferred'))
}

const isGroup = (stage: Stage | null): boolean => stage?.kind === 'group' || stage?.kind === 'queue'

type Text = Pick<StoryLine, 'tone' | 'text' | 'detail'>

const lineOf = (event: EventWithDeliveries, call: Call | null): Text => textOf([event], call)

function textOf(events: readonly EventWithDeliveries[], call: Call | null): Text {
  const [first] = events
  if (first === undefined) return { tone: '', text: '', detail: '' }
  const detail = kindsText(events)
  const { stage, transfer, by = null } = first
  switch (first.name) {
    case 'call_started':
      return {
        tone: '',
        text: call === null ? 'The call begins' : `${partyText(call.from)} calls ${partyText(call.to)}`,
        detail,
      }
    case 'dial_started':
      return { tone: 'ring', text: ringText(events), detail }
    case 'dial_answered':
      return { tone: 'talk', text: `${stageName(stage)} answers`, detail: [detail, ...stopText(events)].join('; ') }
    case 'dial_ended':
      return endText(events, detail)
    case 'call_blind_transferred':
    case 'call_attended_transferred':
      return {
        tone: 'move',
        text:
          transfer === null
            ? 'The call is transferred'
            : `${partyText(transfer.by)} transfers to ${partyText(transfer.to)}`,
        detail,
      }
    case 'call_held':
      return {
        tone: '',
        text: `${by === null ? 'A party' : partyText(by)} puts the other party on hold`,
        detail: holdText(events),
      }
    case 'call_resumed':
      return { tone: '', text: `${by === null ? 'A party' : partyText(by)} takes the other party off hold`, detail }
    case 'call_missed':
      return { tone: 'bad', text: 'Nobody of yours has answered: the call is missed', detail }
    case 'call_ended':
      return {
        tone: call?.result === 'failed' ? 'bad' : '',
        text: hangupText(call),
        detail: `${detail}${hangupDetail(call)}`,
      }
    case 'recording_saved':
      return { tone: '', text: 'A recording is complete', detail }
    case 'call_saved':
      return { tone: 'talk', text: 'The record of the call is complete', detail }
    case 'custom':
      return { tone: '', text: 'The dialplan says something', detail }
    default:
      return { tone: '', text: humanize(first.name), detail: '' }
  }
}

/** Writes the kinds of some events: `dial started, 3 times`. */
function kindsText(events: readonly EventWithDeliveries[]): string {
  const [first] = events
  const same = events.filter(({ name }) => name === first?.name).length
  return `${humanize(first?.name ?? '')}${same > 1 ? `, ${same} times` : ''}`
}

function ringText(events: readonly EventWithDeliveries[]): string {
  const group = events.find(({ stage }) => isGroup(stage))?.stage ?? null
  const phones = events.flatMap(({ stage }) => (stage === null || isGroup(stage) ? [] : [stage]))
  if (group === null) return phones.length === 1 ? `${stageName(phones[0] ?? null)} rings` : `${targets(phones)} ring`
  if (group.kind === 'queue') {
    const rings = phones.length === 0 ? '' : `, and ${targets(phones)} ${phones.length === 1 ? 'rings' : 'ring'}`
    return `The call waits in ${stageName(group)}${rings}`
  }
  return phones.length === 0 ? `${stageName(group)} rings` : `${stageName(group)} rings ${targets(phones)}`
}

/** Writes which phones stop because another has answered. */
function stopText(events: readonly EventWithDeliveries[]): string[] {
  const stopped = events.flatMap(({ name, stage }) =>
    name === 'dial_ended' && stage !== null && !isGroup(stage) ? [stage] : [],
  )
  return stopped.length === 0
    ? []
    : [`${targets(stopped)} ${stopped.length === 1 ? 'stops' : 'stop'}: answered elsewhere`]
}

function endText(events: readonly EventWithDeliveries[], detail: string): Text {
  const stages = events.flatMap(({ stage }) => stage ?? [])
  const [stage = null] = stages
  const result = stage?.result ?? null
  if (result === 'answered') {
    if (isGroup(stage)) return { tone: '', text: `${stageName(stage)} is done: answered`, detail }
    return {
      tone: '',
      text: `${stageName(stage)} leaves, after ${formatStopwatch(stage?.talk_duration ?? null)}`,
      detail,
    }
  }
  const phones = stages.filter((one) => !isGroup(one))
  const tone = result === 'unavailable' || result === 'congestion' ? 'bad' : ''
  if (phones.length === 0)
    return { tone, text: `${stageName(stage)} is done: ${humanize(result ?? 'unknown')}`, detail }
  const who = phones.length === 1 ? stageName(phones[0] ?? null) : targets(phones)
  const rang = phones.some(({ started_at }) => started_at !== null)
  const verb = rang ? (phones.length === 1 ? ' stops ringing' : ' stop ringing') : ''
  const forwarded = phones.length === 1 && phones[0]?.forwarded_to != null ? ` to ${phones[0].forwarded_to}` : ''
  return { tone, text: `${who}${verb}: ${humanize(result ?? 'unknown')}${forwarded}`, detail }
}

function holdText(events: readonly EventWithDeliveries[]): string {
  const resumed = events.find(({ name }) => name === 'call_resumed')
  const [held] = events
  if (resumed === undefined || held === undefined) return 'call held'
  const seconds = (Date.parse(resumed.at) - Date.parse(held.at)) / 1_000
  return `call held, call resumed · for ${formatStopwatch(seconds)}`
}

function hangupText(call: Call | null): string {
  if (call === null || call.hangup === null) return 'The call ends'
  const { by } = call.hangup
  if (by === 'caller') return call.result === 'answered' ? 'The caller hangs up' : 'The caller gives up'
  if (by === 'callee') {
    const owner = call.handled_by.at(-1)
    return `${owner === undefined ? 'The called party' : partyText(owner)} hangs up`
  }
  return by === 'system' ? 'The PBX ends the call' : 'The call ends'
}

function hangupDetail(call: Call | null): string {
  if (call === null) return ''
  const { result, hangup } = call
  const cause =
    hangup === null || hangup.cause === 'normal' || hangup.cause === result ? '' : `, ${humanize(hangup.cause)}`
  const code = hangup?.code == null ? '' : ` · Q.850 ${hangup.code}`
  return `${result === null ? '' : `: ${humanize(result)}`}${cause}${code}`
}

/** Writes who was dialled; a group or queue by its name alone, whose number nobody knows. */
const stageName = (stage: Stage | null): string =>
  stage === null ? 'somebody' : ((isGroup(stage) ? stage.name : null) ?? formatStageTarget(stage))

/** Writes the targets of some stages: `101, 102 and 104`. */
function targets(stages: readonly Stage[]): string {
  const names = [...new Set(stages.map(({ target }) => target ?? 'somebody'))]
  if (names.length > MAX_NAMED) return pluralize(names.length, 'phone')
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}
