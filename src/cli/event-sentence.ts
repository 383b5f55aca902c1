import { Value } from '@sinclair/typebox/value'
import { BODIES, type EventBody, type Party, type Stage } from '../events/bodies.ts'
import { isOfCall } from '../events/event-subject.ts'
import { EVENT_KINDS, type EventKind } from '../events/kinds.ts'
import { stateSentenceOf } from '../events/state-sentence.ts'
import { harmless } from '../lib/terminal-text.ts'

const isEventKind = (name: unknown): name is EventKind => typeof name === 'string' && Object.hasOwn(BODIES, name)

/** Reads the body of a webhook request; `undefined` if it is not a call event that matches the schemas. */
export function readEvent(text: string): EventBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    const name: unknown = Object(Object(body).data).name
    if (!isEventKind(name)) return undefined
    const schema: (typeof BODIES)[EventKind] = BODIES[name]
    return Value.Check(schema, body) ? body : undefined
  } catch {
    return undefined
  }
}

const partyOf = (party: Party | null | undefined): string => {
  const who = party?.extension ?? party?.number ?? 'an unknown party'
  return harmless(party?.name && party.name !== who ? `${who} (${party.name})` : who)
}

const stageOf = ({ kind, target, name }: Stage): string => {
  const what = harmless(target ?? 'an unknown party')
  const whole = name && name !== target ? `${what} (${harmless(name)})` : what
  return kind === 'group' || kind === 'queue' ? `the ${kind} ${whole}` : whole
}

const words = (result: string | null): string => (result ?? 'unknown').replaceAll('_', ' ')

/** Describes an event as a sentence. A kind without a sentence of its own gets its summary. */
export function sentenceOf(body: EventBody): string {
  if (!isOfCall(body)) return harmless(stateSentenceOf(body.data) ?? EVENT_KINDS[body.data.name].summary)
  const { data } = body
  const { call } = data
  const { summary } = EVENT_KINDS[data.name]
  switch (data.name) {
    case 'call_started':
      return `${partyOf(call.from)} calls ${partyOf(call.to)} (${call.direction})`
    case 'dial_started':
      return `${stageOf(data.stage)} rings`
    case 'dial_answered':
      return `${stageOf(data.stage)} answers${data.stage.ring_duration ? `, after ${data.stage.ring_duration} s of ringing` : ''}`
    case 'dial_ended':
      return endOf(data.stage)
    case 'call_blind_transferred':
    case 'call_attended_transferred':
      return `${partyOf(data.transfer.by)} transfers ${partyOf(data.transfer.transferee)} to ${partyOf(data.transfer.to)} (${data.transfer.kind})`
    case 'call_ended': {
      const owner = call.handled_by.at(-1)
      const whose = owner === undefined ? '' : `, handled by ${call.handled_by.map(partyOf).join(', then ')}`
      return `the call is over: ${words(call.result)}${whose}; ${call.duration ?? 0} s in all, ${call.talk_duration ?? 0} s of talk`
    }
    case 'call_missed':
      return `${partyOf(call.from)} called ${partyOf(call.to)}, and nobody answered`
    case 'call_held':
      return `${partyOf(data.by)} puts the other party on hold`
    case 'call_resumed':
      return `${partyOf(data.by)} takes the other party off hold`
    case 'recording_saved':
      return `the recording is complete: ${harmless(data.recording.path ?? 'its path is unknown')}`
    case 'call_saved': {
      const paths = data.recordings.map(({ path }) => harmless(path ?? 'a recording'))
      return `the record of the call is complete${paths.length === 0 ? '' : `, recorded in ${paths.join(', ')}`}`
    }
    default:
      return summary
  }
}

function endOf(stage: Stage): string {
  const who = stageOf(stage)
  if (stage.kind === 'group' || stage.kind === 'queue') return `${who} is done: ${words(stage.result)}`
  if (stage.result === 'answered') return `${who} leaves the call, after ${stage.talk_duration ?? 0} s of talk`
  return stage.started_at === null ? `${who}: ${words(stage.result)}` : `${who} stops ringing: ${words(stage.result)}`
}
