/**
 * The kinds of call event, and the switch of a webhook that each obeys. The one list from which the bodies' schemas, the columns of the
 * switches, the command line, the page and the documents derive.
 */
export const EVENT_KINDS = {
  call_started: 'call_started',
  dial_started: 'dial_started',
  dial_answered: 'dial_answered',
  dial_ended: 'dial_ended',
  call_blind_transferred: 'call_transferred',
  call_attended_transferred: 'call_transferred',
  call_ended: 'call_ended',
  call_saved: 'call_saved',
} as const

export type EventKind = keyof typeof EVENT_KINDS
export type EventSwitch = (typeof EVENT_KINDS)[EventKind]

/** The names of the kinds, in the order in which a call emits them. */
// Object.keys forgets which keys there are.
export const EVENT_NAMES = Object.keys(EVENT_KINDS) as unknown as readonly [EventKind, ...EventKind[]]

/** The switches of a webhook, in the order of the contract. */
export const EVENT_SWITCHES = [
  'call_started',
  'call_ended',
  'dial_started',
  'dial_answered',
  'dial_ended',
  'call_transferred',
  'call_saved',
] as const satisfies readonly EventSwitch[]

type Switches<Value> = { [name in EventSwitch]: Value }

/** Makes something for each switch, in the order of the contract. */
export const forSwitches = <Value>(make: (name: EventSwitch) => Value): Switches<Value> =>
  // fromEntries forgets which keys there are: these are all of them.
  Object.fromEntries(EVENT_SWITCHES.map((name) => [name, make(name)])) as Switches<Value>

/** Returns the switches of a row or webhook, and nothing else of it. */
export const switchesOf = <Value>(all: Switches<Value>): Switches<Value> => forSwitches((name) => all[name])
