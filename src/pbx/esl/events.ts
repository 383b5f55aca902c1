/**
 * The only list of the events that are read from a FreeSWITCH. The subscription, the events to drop first, and the
 * translator's handlers (one for each of `CALL_EVENTS` and `SUBCLASSES`) derive from it.
 */
type WantedEvent = {
  readonly why: string
  /**
   * Frequent, and not necessary for following calls: dropped first when events arrive faster than they are processed.
   */
  readonly isSheddable?: true
}

/** Events of legs that become signals. */
const CALL_EVENTS = {
  CHANNEL_CREATE: { why: 'a leg begins' },
  CHANNEL_PROGRESS: { why: 'it rings' },
  CHANNEL_PROGRESS_MEDIA: { why: 'it rings, with a tone of the far end' },
  CHANNEL_ANSWER: { why: 'it is answered' },
  CHANNEL_BRIDGE: { why: 'two legs talk' },
  CHANNEL_UNBRIDGE: { why: 'they no longer talk' },
  CHANNEL_HOLD: { why: 'hold begins' },
  CHANNEL_UNHOLD: { why: 'hold ends' },
  CHANNEL_HANGUP: { why: 'a leg ends, and why' },
  CHANNEL_HANGUP_COMPLETE: { why: 'a leg has ended, if its hang-up was missed' },
  CHANNEL_DESTROY: { why: 'a leg is destroyed' },
  CALL_UPDATE: { why: 'the variables of a leg have changed: transfers, applications', isSheddable: true },
  RECORD_START: { why: 'a recording begins' },
  RECORD_STOP: { why: 'a recording ends' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** Subclasses of CUSTOM events that become signals. */
const SUBCLASSES = {
  'callcenter::info': { why: 'queues of mod_callcenter' },
  'fifo::info': { why: 'queues of mod_fifo' },
  'conference::maintenance': { why: 'a leg enters a conference' },
  'valet_parking::info': { why: 'parking' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** Subclasses of CUSTOM events with states of phones and trunks only. */
const STATE_SUBCLASSES = {
  'sofia::register': { why: 'a phone registers' },
  'sofia::unregister': { why: 'it unregisters' },
  'sofia::expire': { why: 'its registration has expired' },
  'sofia::sip_user_state': { why: 'it answers pings, or does not' },
  'sofia::gateway_state': { why: 'a gateway is registered, refused or silent' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** Returns whether an event is only about a phone or trunk, and not about a call. */
export const isStateSubclass = (subclass: string): boolean => Object.hasOwn(STATE_SUBCLASSES, subclass)

/** Events for the session itself. */
const SESSION_EVENTS = {
  HEARTBEAT: { why: 'the connection is alive' },
  SHUTDOWN: { why: 'FreeSWITCH shuts down: the connection is about to be lost' },
  RELOADXML: { why: 'the configuration has changed' },
  BACKGROUND_JOB: { why: 'the answer to a question that was asked in the background' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/**
 * The event of each command that FreeSWITCH runs. mod_callcenter reports a change of its tiers by no other. The
 * subscription to it is a command of its own: FreeSWITCH refuses all events of one that has an event which the user may
 * not have.
 */
export const COMMAND_EVENT = 'API'

/** Returns whether a command has changed which agents a queue has. */
export const changesQueues = (command: string, argument: string): boolean =>
  command === 'callcenter_config' &&
  /^\s*(?:tier\s+(?:add|del|reload)|queue\s+(?:load|unload|reload)|agent\s+(?:add|del|reload))\b/i.test(argument)

/**
 * The events of an application of the dialplan. Only `bridge` becomes signals. Its beginning names the parties
 * that it rings, before any of them rings. A phone or gateway that cannot be reached may show only in its end, since
 * the next `bridge` replaces its variables.
 */
export const APPLICATION_BEGINS = 'CHANNEL_EXECUTE'
export const APPLICATION_ENDS = 'CHANNEL_EXECUTE_COMPLETE'

/** Filters that let every event pass except other applications' events, in the order in which they are set. */
export const APPLICATION_FILTERS = [`Event-Name /^(?!${APPLICATION_BEGINS})/`, 'Application bridge'] as const

export type EslCallEvent = keyof typeof CALL_EVENTS
export type Subclass = keyof typeof SUBCLASSES

const EVENTS: ReadonlyMap<string, WantedEvent> = new Map(Object.entries({ ...CALL_EVENTS, ...SESSION_EVENTS }))

/**
 * Returns the arguments of `event json`, with the subclasses of the dialplan's own events. Subclasses follow CUSTOM,
 * which therefore comes last.
 */
export const subscriptionOf = (custom: readonly string[] = []): string =>
  [...EVENTS.keys(), 'CUSTOM', ...Object.keys(SUBCLASSES), ...Object.keys(STATE_SUBCLASSES), ...custom].join(' ')

/** Returns whether an event may be dropped first when events arrive faster than they are processed. */
export const isSheddable = (name: string): boolean =>
  name === APPLICATION_BEGINS || name === APPLICATION_ENDS || EVENTS.get(name)?.isSheddable === true
