import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { parseTime } from '../../../src/lib/time.ts'
import { asteriskEvents } from '../asterisk-recording.ts'
import { freeswitchEvents } from '../freeswitch-recording.ts'
import { FIXTURES } from '../recording.ts'

/**
 * Situations for the tests of presets: recordings of real PBXs, played through translator and tracker, so that the
 * events equal a receiver's. The calls that a CRM should then have are worked out from the events, without a template.
 */
export type Situation = { readonly name: string; readonly events: readonly CallEvent[] }

/** The ending of a situation's name: each call has a second one, of the same parties and at the same times. */
const AT_ONCE = '*2'

/**
 * Returns the events of a recording, or of several one after the other (`asterisk/a+b`), with addresses of recordings
 * and a `recording_saved` for each of them; of `asterisk/a*2` each call twice, at the same time.
 */
export function situationOf(name: string): Situation {
  const isTwice = name.endsWith(AT_ONCE)
  const [kind = '', recordings = ''] = (isTwice ? name.slice(0, -AT_ONCE.length) : name).split('/')
  const names = recordings.split('+')
  const played = kind === 'asterisk' ? asteriskEvents(names) : freeswitchEvents(names)
  const events = played.flatMap(withRecordings)
  return { name, events: isTwice ? events.flatMap((one) => [one, ofSecondCall(one)]) : events }
}

/** Returns the event of a second call, which differs from the first in its ids alone. */
function ofSecondCall(event: CallEvent): CallEvent {
  const { id, callId } = event
  const otherId = (text: string) => `${text.slice(0, -2)}${text.endsWith('99') ? '98' : '99'}`
  return JSON.parse(JSON.stringify(event).replaceAll(id, otherId(id)).replaceAll(callId, otherId(callId)))
}

function withRecordings(event: CallEvent): CallEvent[] {
  const { time, data } = event.body
  if (data.name !== 'call_saved') return [event]
  const base = `https://calls.example.com/call/${data.call.id}/recording`
  const recordings = data.recordings.map((one) => ({
    ...one,
    format: 'wav',
    url: `${base}/${one.id}?expires=1&signature=a`,
  }))
  const { stages: _stages, recordings: _recordings, ...rest } = data
  const saved = recordings.map((recording, index): CallEvent => {
    const id = `${data.id}-recording-${index}`
    return {
      ...event,
      id,
      name: 'recording_saved',
      body: { time, data: { ...rest, id, name: 'recording_saved', recording } },
    }
  })
  return [{ ...event, body: { time, data: { ...data, recordings } } }, ...saved]
}

const namesOf = (folder: string, extension: string): string[] =>
  readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith(extension))
    .map((file) => `${folder}/${file.slice(0, -extension.length)}`)
    .sort()

/** The same caller twice within a minute. */
const TWO_OF_A_PAIR = [
  'asterisk/e-inbound-abandoned+a-inbound-answered',
  'asterisk/c-inbound-no-answer+a-inbound-answered',
]

/** The names of all situations. */
export const SITUATIONS: readonly string[] = [
  ...TWO_OF_A_PAIR,
  ...namesOf('asterisk', '.ami'),
  ...namesOf('freeswitch', '.esl'),
]

/** The final facts of a call in the CRM. */
type ExpectedCall = {
  readonly id: string
  readonly direction: 'inbound' | 'outbound'
  readonly number: string
  readonly isAnswered: boolean
  readonly user: string
  readonly talkSeconds: number
  readonly seconds: number
  readonly recordings: number
}

/** Returns the extensions that are part of calls, in order. */
export function extensionsOf(events: readonly CallEvent[]): string[] {
  const found = new Set<string>()
  for (const { body } of events) {
    const { call } = body.data
    for (const party of [call.from, call.to, ...call.handled_by, ...call.missed_by])
      if (party.extension !== null) found.add(party.extension)
    if ('stage' in body.data && body.data.stage?.kind === 'user' && body.data.stage.target !== null)
      found.add(body.data.stage.target)
  }
  return [...found].sort()
}

type Call = CallEvent['body']['data']['call']

/** Returns the outside call that went on in an internal one, with the end and the owner of that one; else the call. */
function outsideCallIn(ended: Call, events: readonly CallEvent[]): Call {
  const merged = events.findLast(
    ({ callId, body }) => ended.merged_from.includes(callId) && body.data.call.direction !== 'internal',
  )
  if (merged === undefined) return ended
  const { id, direction, from, to, answered_at: answeredAt, started_at: startedAt } = merged.body.data.call
  const since = (at: string | null) => Math.floor((microseconds(ended.ended_at) - microseconds(at)) / 1_000_000)
  const durations = { duration: since(startedAt), talk_duration: answeredAt === null ? null : since(answeredAt) }
  const result = answeredAt === null ? ended.result : 'answered'
  return { ...ended, id, direction, from, to, result, ...durations }
}

const microseconds = (at: string | null): number => parseTime(at ?? '') ?? Number.NaN

/** Returns the calls that a CRM should have: each call with an outside party once, in its final state. */
export function expectedCalls(
  events: readonly CallEvent[],
  users: Readonly<Record<string, string>>,
  responsible: string,
): ExpectedCall[] {
  return events.flatMap(({ body }): ExpectedCall[] => {
    const { data } = body
    if (data.name !== 'call_ended') return []
    const ended = data.call
    if (ended.merged_into !== null) return []
    const call = ended.direction === 'internal' ? outsideCallIn(ended, events) : ended
    const { direction } = call
    if (direction === 'internal') return []
    const outside = direction === 'outbound' ? call.to : call.from
    const number = outside.e164 ?? outside.number
    if (number === null) return []
    const extension = call.handled_by.at(-1)?.extension ?? (direction === 'outbound' ? call.from.extension : null)
    const missedBy = call.missed_by.find((one) => users[one.extension ?? ''] !== undefined)?.extension ?? null
    const recordings = new Set(
      events.flatMap((one) =>
        one.body.data.name === 'recording_saved' && one.callId === call.id ? [one.body.data.recording.id] : [],
      ),
    )
    return [
      {
        id: call.id,
        direction,
        number,
        isAnswered: call.result === 'answered',
        user: users[extension ?? missedBy ?? ''] ?? responsible,
        talkSeconds: call.talk_duration ?? 0,
        seconds: call.duration ?? 0,
        recordings: recordings.size,
      },
    ]
  })
}
