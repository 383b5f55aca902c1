/**
 * The switches of a webhook, in the order of the API, each with a description of its events. Schemas, columns, the
 * command line, the page and the API's document are derived from this list and EVENT_KINDS.
 */
export const EVENT_SWITCHES = {
  call_started: 'An incoming, outgoing or internal call started',
  call_ended: 'All parties have left the call',
  dial_started: 'A phone or an outside number starts ringing',
  dial_answered: 'It was answered',
  dial_ended: 'It stopped ringing, or that party left the call',
  call_transferred: 'The call was transferred, blind or attended',
  call_saved: 'The record of the call is complete, with its recordings',
} as const

export type EventSwitch = keyof typeof EVENT_SWITCHES

type Kind = {
  /** The subject of its events; a call unless it is given. */
  readonly of?: StateSubject
  /** The switch of a webhook that turns it on and off; `null`: a webhook asks for it in the `events` of its options. */
  readonly obeys: EventSwitch | null
  /** A sentence for people. */
  readonly summary: string
}

/** Subjects of a PBX beside calls, whose states are events too. */
export type StateSubject = 'phone' | 'trunk' | 'agent' | 'queue'

/**
 * The kinds of events; call events in the order in which a call emits them. A new kind has a row here, a body
 * (bodies.ts), a phrase (phrase.ts), a sample (samples.ts), a row in the guide (docs/events.md), and a part that emits
 * it: if one is missing, the compiler or test/events/kinds.test.ts names it.
 */
export const EVENT_KINDS = {
  call_started: { obeys: 'call_started', summary: 'A call began' },
  dial_started: { obeys: 'dial_started', summary: 'A phone or an outside number starts ringing' },
  dial_answered: { obeys: 'dial_answered', summary: 'A phone or an outside number was answered' },
  dial_ended: { obeys: 'dial_ended', summary: 'A stage ended: it stopped ringing, or its party left the call' },
  call_blind_transferred: { obeys: 'call_transferred', summary: 'The call was transferred without a consultation' },
  call_attended_transferred: { obeys: 'call_transferred', summary: 'The call was transferred after a consultation' },
  call_ended: { obeys: 'call_ended', summary: 'All parties have left the call' },
  call_missed: {
    obeys: null,
    summary: 'None of your own people answered a call: it comes directly after the end of the call',
  },
  call_held: { obeys: null, summary: 'A party put the other one on hold' },
  call_resumed: { obeys: null, summary: 'A party took the other one off hold' },
  call_saved: { obeys: 'call_saved', summary: 'The record of the call is complete, with its recordings' },
  recording_saved: { obeys: null, summary: 'A recording of the call is complete, and copied if that is configured' },
  custom: { obeys: null, summary: 'The dialplan of a PBX says something of its own, of a call or of none' },
  phone_changed: { of: 'phone', obeys: null, summary: 'A phone registered or is gone, or it rings, is in use or idle' },
  trunk_changed: { of: 'trunk', obeys: null, summary: 'A trunk is registered, rejected, reachable or unreachable' },
  agent_changed: {
    of: 'agent',
    obeys: null,
    summary: 'An agent of a queue is available, busy, paused, logged out or unreachable',
  },
  queue_changed: {
    of: 'queue',
    obeys: null,
    summary: 'The number of callers who wait in a queue, or of its agents, has changed',
  },
} as const satisfies Readonly<Record<string, Kind>>

export type EventKind = keyof typeof EVENT_KINDS

/** Kinds of event of a phone, trunk, agent or queue. */
export type StateEventKind = `${StateSubject}_changed`
/** Kinds of event of a call. */
export type CallEventKind = Exclude<EventKind, StateEventKind>

/** The names of the kinds, in the order in which a call emits them. */
// Object.keys loses the type of the keys.
export const EVENT_NAMES = Object.keys(EVENT_KINDS) as unknown as readonly [EventKind, ...EventKind[]]

/** Returns whether events of a kind are about a phone, trunk, agent or queue: they have no call. */
export const isOfState = (kind: EventKind): kind is StateEventKind => 'of' in EVENT_KINDS[kind]

/** The `sequence` of stored events that belong to no call: `kept` as long as other events, `shortLived` for a day. */
export const STATE_SEQUENCE = { kept: 0, shortLived: -1 } as const

/** Returns the id of the call of a stored event, `null` if it is of none: then its subject is stored in that place. */
export const callIdOf = ({ name, callId }: { readonly name: EventKind; readonly callId: string }): string | null =>
  isOfState(name) || callId.startsWith(NO_CALL) ? null : callId

/** The beginning of the text that replaces the call id of a custom event without a call. */
const NO_CALL = 'custom/'
/** Returns the text that is stored as the call id of a custom event without a call: a different one for each event. */
export const placeWithoutCall = (eventId: string): string => `${NO_CALL}${eventId}`

/** The kinds beyond the switches: a webhook asks for them in its options. */
export type FurtherEvent = {
  [kind in EventKind]: (typeof EVENT_KINDS)[kind]['obeys'] extends null ? kind : never
}[EventKind]

/** Returns whether an event of a kind is stored only while a webhook of its account asks for the kind. */
export const isOnlyOnRequest = (kind: EventKind): kind is FurtherEvent => EVENT_KINDS[kind].obeys === null

// filter loses that there is a first one.
export const FURTHER_NAMES = EVENT_NAMES.filter(isOnlyOnRequest) as unknown as readonly [
  FurtherEvent,
  ...FurtherEvent[],
]

/** The names of the switches, in the order of the contract. */
export const SWITCH_NAMES = Object.keys(EVENT_SWITCHES) as unknown as readonly [EventSwitch, ...EventSwitch[]]

type Switches<Value> = { [name in EventSwitch]: Value }

/** Builds an object with one value for each switch, in the order of the API. */
export const forSwitches = <Value>(make: (name: EventSwitch) => Value): Switches<Value> =>
  // fromEntries loses the type of the keys: these are all of them.
  Object.fromEntries(SWITCH_NAMES.map((name) => [name, make(name)])) as Switches<Value>

/** Returns the switches of a row or webhook, without its other fields. */
export const switchesOf = <Value>(all: Switches<Value>): Switches<Value> => forSwitches((name) => all[name])
