import { type EventFilter, findLackingKey } from '../../../events/filter.ts'
import {
  EVENT_KINDS,
  EVENT_NAMES,
  type EventKind,
  type EventSwitch,
  FURTHER_NAMES,
  type FurtherEvent,
  SWITCH_NAMES,
} from '../../../events/kinds.ts'
import { humanize } from './format.ts'

/** The events that a webhook can ask for, as its drawer shows them: its switches and `events` in one list. Pure. */
export type EventChoice = EventSwitch | FurtherEvent

type Group = { readonly title: string; readonly choices: readonly (readonly [EventChoice, string, string])[] }

export const EVENT_GROUPS: readonly [Group, Group, Group] = [
  {
    title: 'The call',
    choices: [
      ['call_started', 'started', 'it comes in, goes out, or is internal'],
      ['call_transferred', 'transferred', 'blind or attended'],
      ['call_held', 'held', 'one party put the other on hold'],
      ['call_resumed', 'resumed', 'and took it off hold'],
      ['call_ended', 'ended', 'all parties have left'],
      ['call_missed', 'missed', 'nobody of yours answered; right after ended'],
      ['call_saved', 'saved', 'its record is complete'],
      ['recording_saved', 'recording saved', 'a recording is complete'],
    ],
  },
  {
    title: 'Each phone or number that is dialled',
    choices: [
      ['dial_started', 'dial started', 'it rings'],
      ['dial_answered', 'dial answered', 'it was answered'],
      ['dial_ended', 'dial ended', 'it stopped ringing, or that party left'],
    ],
  },
  {
    title: 'Without a call',
    choices: [
      ['phone_changed', 'phone changed', 'registered or gone, rings, idle'],
      ['trunk_changed', 'trunk changed', 'registered, rejected, reachable'],
      ['agent_changed', 'agent changed', 'free, busy, paused, logged out'],
      ['queue_changed', 'queue changed', 'who waits, how many agents'],
      ['custom', 'custom', 'the dialplan says something, in a call or without one'],
    ],
  },
]

export const PROPOSALS = ['pop', 'log', 'call', 'own'] as const
export type Proposal = (typeof PROPOSALS)[number]

const PROPOSED: Readonly<Record<Exclude<Proposal, 'own'>, readonly EventChoice[]>> = {
  pop: ['dial_started', 'dial_answered', 'dial_ended'],
  log: ['call_saved', 'recording_saved'],
  call: SWITCH_NAMES,
}

/** The events for a chat, where each event is a message for people. */
export const CHAT_EVENTS: readonly EventChoice[] = ['call_ended', 'call_missed']

/** Returns the events of a proposal; the present events for a choice of one's own. */
export const proposedEvents = (proposal: Proposal, chosen: readonly EventChoice[]): readonly EventChoice[] =>
  proposal === 'own' ? chosen : PROPOSED[proposal]

/** Returns the proposal that has exactly these events. */
export function proposalOf(chosen: readonly EventChoice[]): Proposal {
  const has = (proposal: Exclude<Proposal, 'own'>) =>
    PROPOSED[proposal].length === chosen.length && PROPOSED[proposal].every((one) => chosen.includes(one))
  return (['pop', 'log', 'call'] as const).find(has) ?? 'own'
}

/** Returns the kinds of event of some choices, in the order of a call. */
export const kindsOf = (chosen: readonly EventChoice[]): EventKind[] =>
  EVENT_NAMES.filter((name) => chosen.some((one) => one === (EVENT_KINDS[name].obeys ?? name)))

/** Returns the choices of a webhook, in the order of the drawer. */
export function choicesOf(switches: Readonly<Record<EventSwitch, boolean>>, events: readonly string[]): EventChoice[] {
  return [...SWITCH_NAMES.filter((name) => switches[name]), ...FURTHER_NAMES.filter((name) => events.includes(name))]
}

const ARTICLES: Readonly<Record<string, string>> = { extension: 'an extension' }

/** Writes which of these events a filter never lets through, because they have no such fact; `null` if none. */
export function describeNeverSent(chosen: readonly EventChoice[], filter: EventFilter | null): string | null {
  if (filter === null) return null
  const lacking = Map.groupBy(kindsOf(chosen), (kind) => findLackingKey(filter, kind))
  const parts = [...lacking].flatMap(([key, kinds]) =>
    key === undefined
      ? []
      : [
          `${kinds.map(humanize).join(', ')}: never sent, because the filter asks for ${ARTICLES[key] ?? `a ${key}`}, which ${kinds.length === 1 ? 'it does' : 'they do'} not have`,
        ],
  )
  return parts.length === 0 ? null : `${parts.join('. ')}.`
}

/** Writes why an event is not sent to a webhook, by what its form says; `null` if it is. */
export function describeNotSent(
  kind: EventKind,
  chosen: readonly EventChoice[],
  filter: EventFilter | null,
): string | null {
  const start = 'This event is not sent to this webhook, because'
  if (!kindsOf(chosen).includes(kind)) return `${start} it is not chosen above.`
  const key = filter === null ? undefined : findLackingKey(filter, kind)
  if (key === undefined) return null
  return `${start} the filter asks for ${ARTICLES[key] ?? `a ${key}`}, which ${humanize(kind)} does not have.`
}
