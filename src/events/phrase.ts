import type { BODIES, EventBody, Party, SentBody, Stage } from './bodies.ts'
import type { EventKind } from './kinds.ts'
import { nameHas } from './party-name.ts'
import type { Agent, Phone, Queue, Trunk } from './states.ts'

type DataOf<Kind extends EventKind> = (typeof BODIES)[Kind]['static']['data']

/** How a phone, trunk, agent or queue is, for people. Not escaped. */
export const STATE_PHRASES = {
  phone({ name, extension, state, device }: Phone): string {
    const who = name === null ? extension : nameHas(name, extension) ? name : `${name} (${extension})`
    return `${/^phone\b/i.test(who) ? who : `Phone ${who}`} is ${plain(state === 'registered' && device !== 'unknown' ? device : state)}`
  },
  trunk: ({ trunk, state, reason }: Trunk): string => `Trunk ${trunk} is ${plain(state)}${because(reason)}`,
  agent: ({ extension, queue, state, reason }: Agent): string =>
    `Agent ${extension} of ${queue} is ${plain(state)}${because(reason)}`,
  queue: ({ queue, waiting, available, busy, paused }: Queue): string =>
    `Queue ${queue}: ${waiting} waiting; agents: ${available} available, ${busy} busy, ${paused} paused`,
}

/** What happened, for people, by the kind of event. Not escaped. */
const PHRASES: { readonly [kind in EventKind]: (data: DataOf<kind>) => string } = {
  call_started: ({ call }) => `${capitalized(call.direction)} call from ${nameOf(call.from)} to ${nameOf(call.to)}`,
  dial_started: ({ call, stage }) => `${stageName(stage)} rings: ${nameOf(call.from)} calls`,
  dial_answered: ({ call, stage }) =>
    `${stageName(stage)} answered ${nameOf(call.from)}${after(stage.ring_duration, ' of ringing')}`,
  dial_ended: ({ call, stage }) => endOf(stage, nameOf(call.from)),
  call_blind_transferred: ({ call, transfer: { by, transferee, to } }) =>
    `${nameOf(by)} transferred ${nameOf(transferee ?? call.from)} to ${nameOf(to)}`,
  call_attended_transferred: ({ call, transfer: { by, transferee, to } }) =>
    `${nameOf(by)} transferred ${nameOf(transferee ?? call.from)} to ${nameOf(to)} after a consultation`,
  call_ended({ call }) {
    const between = `Call from ${nameOf(call.from)} to ${nameOf(call.to)}`
    if (call.answered_by === null)
      return `${between} ended without an answer (${plain(call.result)})${after(call.duration)}`
    const handled = call.handled_by.map(nameOf).join(', then ') || nameOf(call.answered_by)
    return `${between} ended, handled by ${handled}: ${call.duration ?? 0} s in all, ${call.talk_duration ?? 0} s of talk`
  },
  call_missed: ({ call }) => `Missed call from ${nameOf(call.from)} to ${nameOf(call.to)}`,
  call_held: ({ call, by }) => `${nameOf(by)} put ${otherParty(call.from, by)} on hold`,
  call_resumed: ({ call, by }) => `${nameOf(by)} took ${otherParty(call.from, by)} off hold`,
  call_saved: ({ call, recordings }) =>
    `Call from ${nameOf(call.from)} to ${nameOf(call.to)} was saved${recordedIn(recordings)}`,
  recording_saved: ({ call, recording }) =>
    `The recording of the call from ${nameOf(call.from)} to ${nameOf(call.to)} is ready${recordedIn([recording])}`,
  custom({ call, custom: { name, fields } }) {
    const said = Object.entries(fields)
      .slice(0, 5)
      .map(([key, value]) => `${key} ${value}`)
      .join(', ')
    const of = call === null ? '' : ` in the call from ${nameOf(call.from)} to ${nameOf(call.to)}`
    return `${name}${of}${said === '' ? '' : `: ${said}`}`
  },
  phone_changed: ({ phone }) => STATE_PHRASES.phone(phone),
  trunk_changed: ({ trunk }) => STATE_PHRASES.trunk(trunk),
  agent_changed: ({ agent }) => STATE_PHRASES.agent(agent),
  queue_changed: ({ queue }) => STATE_PHRASES.queue(queue),
}

/** Returns what happened, in one sentence: "Anna (101) answered +4930123456". Not escaped. */
export function phraseOf({ data }: SentBody): string {
  // A test, or a kind that only the later version of another node has.
  if (data.name === 'test' || !Object.hasOwn(PHRASES, data.name)) return `Hookswitch: ${data.name}`
  // Each kind has the phrase of its own data, which TypeScript cannot follow through the index.
  const phrase = PHRASES[data.name] as (data: EventBody['data']) => string
  return phrase(data)
}

/** Returns the name of a party: `Anna (101)`, `+4930123456`, `anonymous`. */
export function nameOf(party: Party | null): string {
  const number = party?.extension ?? party?.number ?? null
  const name = party?.name ?? null
  if (name === null) return number ?? 'anonymous'
  return number === null || nameHas(name, number) ? name : `${name} (${number})`
}

function stageName({ kind, target, name }: Stage): string {
  const shown = target ?? 'somebody'
  const whole = name === null ? shown : nameHas(name, shown) ? name : `${name} (${shown})`
  return kind === 'group' || kind === 'queue' ? `${capitalized(kind)} ${whole}` : whole
}

function endOf(stage: Stage, caller: string): string {
  const who = stageName(stage)
  if (stage.kind === 'group' || stage.kind === 'queue') return `${who} is done with ${caller}: ${plain(stage.result)}`
  return stage.result === 'answered'
    ? `${who} left the call with ${caller}${after(stage.talk_duration, ' of talk')}`
    : `${who} did not answer ${caller} (${plain(stage.result)})`
}

/** The party that is on hold: the caller, unless he pressed hold himself. */
const otherParty = (from: Party, by: Party | null): string =>
  by !== null && by.number === from.number && by.extension === from.extension ? 'the other party' : nameOf(from)

const recordedIn = (recordings: readonly { readonly path: string | null }[]): string => {
  const paths = recordings.flatMap(({ path }) => path ?? [])
  return paths.length === 0 ? '' : `: ${paths.join(', ')}`
}

const plain = (word: string | null): string => (word ?? 'unknown').replaceAll('_', ' ')
const because = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)
const after = (duration: number | null, what = ''): string => (duration === null ? '' : ` after ${duration} s${what}`)
const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)
