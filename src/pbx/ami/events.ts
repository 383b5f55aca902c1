import type { TenantRule } from '../source/pbx-url.ts'

/**
 * The only list of the events that are read from an Asterisk. The login's event classes, the filter, the shapes, and
 * the translator's handlers (one for each of `CALL_EVENTS`) derive from it.
 */
type WantedEvent = {
  /** The class that the user must have permission to read (`read = …` in manager.conf). */
  readonly class: EventClass
  /** The headers as Asterisk prints them, for events with text of callers. */
  readonly shape?: Shape
  /** Selects some of a very frequent event. `peek` returns the value of a header. */
  readonly only?: (peek: Peek, variables: readonly string[]) => boolean
  /**
   * Frequent, and not necessary for following calls: dropped first when events arrive faster than they are processed.
   */
  readonly isSheddable?: true
}

type Peek = (key: string) => string

export type EventClass = 'system' | 'call' | 'agent' | 'cdr' | 'dialplan' | 'user'

/** The snapshot of one channel. */
const ONE: Shape = { channels: [''] }
/** The snapshot of the dialled channel, and of the caller's if there is one. */
const DEST: Shape = { channels: ['Dest'], maybe: [''] }

/** Variables that Asterisk sets itself, with facts that are in no event. */
const SYSTEM_VARIABLES: ReadonlySet<string> = new Set([
  'DIALSTATUS',
  'QUEUESTATUS',
  'VMSTATUS',
  'MIXMONITOR_FILENAME',
  // FreePBX's own.
  'RingGroupMethod',
  'RecordMethod',
  'DEXTEN',
])
/**
 * FreePBX's variables of a caller for whom a ring group or follow-me rings: how it rings its members (`none`: a single
 * phone), and its number. Lists of channels are requested with them.
 */
export const GROUP_VARIABLES = ['RingGroupMethod', 'NODEST'] as const

/** Applications whose start has facts that are in no event. */
const APPLICATIONS: ReadonlySet<string> = new Set([
  'dial',
  'gosub',
  'page',
  'voicemail',
  'busy',
  'congestion',
  'mixmonitor',
  'monitor',
  'queue',
  'agentlogin',
  'agentrequest',
])

/** The first step of an extension with a number: it may lead to a Dial in a macro or subroutine. */
const entersExtension = (peek: Peek): boolean => peek('Priority') === '1' && /^\d{1,20}$/.test(peek('Exten'))

/** Events that become signals. Each has text of callers, so each has a shape. */
const CALL_EVENTS = {
  // Channels.
  Newchannel: { class: 'call', shape: ONE },
  Newstate: { class: 'call', shape: ONE },
  NewCallerid: { class: 'call', shape: ONE },
  HangupRequest: { class: 'call', shape: ONE },
  Hangup: { class: 'call', shape: ONE },
  Hold: { class: 'call', shape: ONE },
  Unhold: { class: 'call', shape: ONE },
  // Dials.
  DialBegin: { class: 'call', shape: { ...DEST, next: { DialString: null } } },
  DialState: { class: 'call', shape: { ...DEST, next: { Forward: 'DialStatus' } } },
  DialEnd: { class: 'call', shape: { ...DEST, next: { Forward: 'DialStatus' } } },
  // The targets of a Dial, and the result of targets that got no channel; voicemail.
  Newexten: {
    class: 'dialplan',
    shape: { channels: [''], holds: ['Application'], next: { Extension: 'Application', AppData: null } },
    only: (peek) => APPLICATIONS.has(peek('Application').toLowerCase()) || entersExtension(peek),
    isSheddable: true,
  },
  VarSet: {
    class: 'dialplan',
    shape: { channels: [''], holds: ['Variable'] },
    only(peek, variables) {
      const name = peek('Variable')
      return SYSTEM_VARIABLES.has(name) || variables.includes(name)
    },
    isSheddable: true,
  },
  // Conversations.
  BridgeEnter: { class: 'call', shape: ONE },
  BridgeLeave: { class: 'call', shape: ONE },
  // Transfers, pick-ups, parking.
  BlindTransfer: {
    class: 'call',
    shape: { channels: ['Transferer'], maybe: ['Transferee'], next: { Extension: null } },
  },
  AttendedTransfer: {
    class: 'call',
    shape: {
      channels: ['OrigTransferer', 'SecondTransferer'],
      maybe: ['Transferee', 'TransferTarget', 'LocalOne', 'LocalTwo'],
    },
  },
  Pickup: { class: 'call', shape: { channels: ['', 'Target'] } },
  ParkedCall: {
    class: 'call',
    shape: { channels: ['Parkee'], holds: ['ParkingSpace'], next: { ParkerDialString: 'Parkinglot' } },
  },
  UnParkedCall: {
    class: 'call',
    shape: { channels: ['Parkee', 'Retriever'], next: { ParkerDialString: 'Parkinglot' } },
  },
  ChanSpyStart: { class: 'call', shape: { channels: ['Spyer', 'Spyee'] } },
  // Queues.
  QueueCallerJoin: { class: 'agent', shape: ONE },
  QueueCallerLeave: { class: 'agent', shape: ONE },
  QueueCallerAbandon: { class: 'agent', shape: ONE },
  AgentCalled: { class: 'agent', shape: { channels: ['', 'Dest'] } },
  // Recordings, and variables that cdr_manager.conf adds after UserField.
  MixMonitorStart: { class: 'call', shape: ONE },
  MixMonitorStop: { class: 'call', shape: ONE },
  // Monitor, which Asterisk had before 21.
  MonitorStart: { class: 'call', shape: ONE },
  MonitorStop: { class: 'call', shape: ONE },
  Cdr: {
    class: 'cdr',
    shape: {
      channels: [],
      holds: ['AccountCode', 'Source', 'Destination', 'DestinationContext', 'CallerID', 'StartTime', 'Disposition'],
      next: {
        AccountCode: 'Source',
        Source: 'Destination',
        Destination: 'DestinationContext',
        CallerID: 'Channel',
        LastData: 'StartTime',
        AMAFlags: 'UniqueID',
      },
    },
  },
} as const satisfies Readonly<Record<string, WantedEvent & { readonly shape: Shape }>>

/** Names of devices that make no calls: their states are the most frequent events of all. */
const NO_DEVICE =
  /^(custom|park|queue|meetme|confbridge|calendar|presence|mwi|local|agent|xmpp|hint|stasis|message|bridge):?/i

/** Returns whether a device of Asterisk can make calls. */
export const isEndpoint = (device: string): boolean => /^\w+\/[^/${}&]+$/.test(device) && !NO_DEVICE.test(device)

/**
 * Events with states of phones, trunks, agents and queues. Callers in queues are among CALL_EVENTS. Rows of lists may
 * have the same names: all of them are read.
 */
const STATE_EVENTS = {
  DeviceStateChange: { class: 'call', only: (peek) => isEndpoint(peek('Device')) || isRow(peek) },
  ContactStatus: { class: 'system' },
  // PJSIP's PeerStatus says less than its ContactStatus.
  PeerStatus: { class: 'system', only: (peek) => peek('ChannelType') !== 'PJSIP' || isRow(peek) },
  Registry: { class: 'system' },
  QueueMemberStatus: { class: 'agent' },
  QueueMemberAdded: { class: 'agent' },
  QueueMemberRemoved: { class: 'agent' },
  QueueMemberPause: { class: 'agent' },
  // For chan_sip: Asterisk 11 and older, and some later forks.
  QueueMemberPaused: { class: 'agent' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** What the dialplan says. It has no shape: user-event.ts reads what Asterisk prints of it, and what not. */
const CUSTOM_EVENTS = {
  UserEvent: { class: 'user' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** Events for the session itself: the run of Asterisk, its end, and a changed configuration. */
const SESSION_EVENTS = {
  FullyBooted: { class: 'system' },
  Shutdown: { class: 'system' },
  Reload: { class: 'system' },
} as const satisfies Readonly<Record<string, WantedEvent>>

/** Rows of the channel lists, which have text of callers too. */
const ROWS: Readonly<Record<string, Shape>> = {
  Status: {
    channels: [''],
    holds: ['Seconds', 'ActionID'],
    // Asterisk 13.18 and older print the Linkedid later.
    next: { Uniqueid: ['Linkedid', 'Type'], DNID: 'EffectiveConnectedLineNum', Data: 'Nativeformats' },
  },
  CoreShowChannel: { channels: [''], holds: ['ActionID', 'Duration'], next: { ApplicationData: 'Duration' } },
}

export type AmiCallEvent = keyof typeof CALL_EVENTS | keyof typeof CUSTOM_EVENTS

/** The events with states of phones, trunks, agents and queues. */
export type StateEvent = keyof typeof STATE_EVENTS | 'QueueCallerJoin' | 'QueueCallerLeave'

/** The event of a dialplan. */
export const CUSTOM_EVENT: keyof typeof CUSTOM_EVENTS = 'UserEvent'

/** Returns whether an event is only about a phone, trunk, agent or queue, and not about a call. */
export const isStateEvent = (name: string): boolean => Object.hasOwn(STATE_EVENTS, name)

const EVENTS: ReadonlyMap<string, WantedEvent> = new Map(
  Object.entries({ ...CALL_EVENTS, ...STATE_EVENTS, ...CUSTOM_EVENTS, ...SESSION_EVENTS }),
)

/** The classes of all events that are read, for the login. */
export const EVENT_CLASSES: readonly EventClass[] = [...new Set([...EVENTS.values()].map((event) => event.class))]

/** The shape of each event and row that may have text of callers. */
export const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ...[...EVENTS].flatMap(([name, { shape }]) => (shape === undefined ? [] : [[name, shape] as const])),
  ...Object.entries(ROWS),
])

/**
 * Returns whether an event has to be read. `peek` returns the value of a header, `variables` are the operator's, who
 * may want the events of the dialplan too. Rows of lists, and events that a caller may have cut short, are read
 * whatever their names.
 */
export function isWanted(name: string, peek: Peek, variables: readonly string[], hasCustom = false): boolean {
  if (name === CUSTOM_EVENT) return hasCustom
  const event = EVENTS.get(name)
  if (event === undefined) return SHAPES.has(name) || isRow(peek) || isCutShort(peek)
  return event.only === undefined || event.only(peek, variables)
}

/** Returns the channel variables whose events have to be read: the operator's, and the tenant variable. */
export const variablesOf = ({
  variables,
  tenants,
}: {
  readonly variables: readonly string[]
  readonly tenants?: TenantRule | undefined
}): readonly string[] => (tenants?.variable == null ? variables : [...variables, tenants.variable])

/** Returns whether an event may be dropped first when events arrive faster than they are processed. */
export const isSheddable = (name: string): boolean => EVENTS.get(name)?.isSheddable === true

/** Live events have no ActionID. */
const isRow = (peek: Peek): boolean => peek('ActionID') !== ''

/** Every live event has a Privilege header, and a live event of a channel has a Linkedid. */
const isCutShort = (peek: Peek): boolean =>
  peek('Privilege') === '' || (peek('Linkedid') === '' && peek('ChannelStateDesc') !== '')

/** The header that follows another one in an event, or one of several; `null`: none follows. */
export type Follower = string | null | readonly string[]

/**
 * How Asterisk prints the events that are read. A caller can end a line, and write some 79 bytes of headers after it:
 * too few for the whole snapshot of a channel, and always between two headers that Asterisk prints one after the other.
 */
export type Shape = {
  /** The prefixes of the channel snapshots that are always present, and of those that may be. */
  readonly channels: readonly string[]
  readonly maybe?: readonly string[]
  /** Other headers that are always present. */
  readonly holds?: readonly string[]
  /**
   * The header that follows a header which a caller can end, outside snapshots; several if it differs between versions;
   * `null`: it is the last one.
   */
  readonly next?: Readonly<Record<string, Follower>>
}
