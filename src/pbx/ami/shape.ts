import type { AmiFrame } from './frame.ts'

/**
 * How Asterisk prints the events that are read. A caller can end a line, and write some 79 bytes of headers of his own behind it: too few
 * for a whole snapshot of a channel, and never without standing between two headers that Asterisk prints one behind the other.
 */
export type Shape = {
  /** The prefixes of the snapshots of channels that are always there, and those that may be. */
  readonly channels: readonly string[]
  readonly maybe?: readonly string[]
  /** Other headers that are always there. */
  readonly holds?: readonly string[]
  /** What follows a header that a caller can end, beside those of a snapshot; `null`: nothing, the event is over. */
  readonly next?: Readonly<Record<string, string | null>>
}

/** A snapshot of a channel, as Asterisk 13 to 23 print it (`Language` is newer, and other headers may yet come in between). */
const SNAPSHOT = [
  'Channel',
  'ChannelState',
  'ChannelStateDesc',
  'CallerIDNum',
  'CallerIDName',
  'ConnectedLineNum',
  'ConnectedLineName',
  'AccountCode',
  'Context',
  'Exten',
  'Priority',
  'Uniqueid',
  'Linkedid',
] as const

/** Within a snapshot: numbers and extensions are printed as they came from the wire, names are not. */
const SNAPSHOT_NEXT: Readonly<Record<string, string>> = {
  CallerIDNum: 'CallerIDName',
  ConnectedLineNum: 'ConnectedLineName',
  Exten: 'Priority',
  Priority: 'Uniqueid',
  Uniqueid: 'Linkedid',
}

const ONE: Shape = { channels: [''] }
const DEST: Shape = { channels: ['Dest'], maybe: [''] }

const SHAPES: Readonly<Record<string, Shape>> = {
  Newchannel: ONE,
  Newstate: ONE,
  Newexten: { channels: [''], holds: ['Application'], next: { Extension: 'Application', AppData: null } },
  VarSet: { channels: [''], holds: ['Variable'] },
  DialBegin: { ...DEST, next: { DialString: null } },
  DialState: { ...DEST, next: { Forward: 'DialStatus' } },
  DialEnd: { ...DEST, next: { Forward: 'DialStatus' } },
  BridgeEnter: ONE,
  BridgeLeave: ONE,
  Hold: ONE,
  Unhold: ONE,
  BlindTransfer: { channels: ['Transferer'], maybe: ['Transferee'], next: { Extension: null } },
  AttendedTransfer: {
    channels: ['OrigTransferer', 'SecondTransferer'],
    maybe: ['Transferee', 'TransferTarget', 'LocalOne', 'LocalTwo'],
  },
  Pickup: { channels: ['', 'Target'] },
  ParkedCall: { channels: ['Parkee'], holds: ['ParkingSpace'], next: { ParkerDialString: 'Parkinglot' } },
  UnParkedCall: { channels: ['Parkee', 'Retriever'], next: { ParkerDialString: 'Parkinglot' } },
  QueueCallerJoin: ONE,
  QueueCallerLeave: ONE,
  QueueCallerAbandon: ONE,
  AgentCalled: { channels: ['', 'Dest'] },
  MixMonitorStart: ONE,
  MixMonitorStop: ONE,
  HangupRequest: ONE,
  Hangup: ONE,
  // What cdr_manager.conf maps comes behind UserField.
  Cdr: {
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
  // Rows of lists.
  Status: {
    channels: [''],
    holds: ['Seconds', 'ActionID'],
    next: { DNID: 'EffectiveConnectedLineNum', Data: 'Nativeformats' },
  },
  CoreShowChannel: { channels: [''], holds: ['ActionID', 'Duration'], next: { ApplicationData: 'Duration' } },
}

/** A shape, made ready: keys by their hash would be found faster, but few frames get here. */
type Ready = {
  readonly groups: readonly { readonly needed: boolean; readonly keys: readonly string[] }[]
  readonly holds: readonly string[]
  readonly next: ReadonlyMap<string, string | null>
}

const READY: ReadonlyMap<string, Ready> = new Map(
  Object.entries(SHAPES).map(([name, { channels, maybe = [], holds = [], next = {} }]) => {
    const prefixes = [...channels, ...maybe]
    const within = prefixes.flatMap((prefix) =>
      Object.entries(SNAPSHOT_NEXT).map(([key, after]) => [prefix + key, prefix + after] as const),
    )
    const keysOf = (prefix: string) => SNAPSHOT.map((key) => prefix + key)
    return [
      name,
      {
        groups: [
          ...channels.map((prefix) => ({ needed: true, keys: keysOf(prefix) })),
          ...maybe.map((prefix) => ({ needed: false, keys: keysOf(prefix) })),
        ],
        holds,
        next: new Map([...within, ...Object.entries(next)]),
      },
    ]
  }),
)

/** Returns whether events of that name have a shape of their own here: those that are read have. */
export const hasShape = (name: string): boolean => READY.has(name)

/** Returns what is wrong with an event that is read: it lacks a part, or something stands where only a caller can have written it. */
export function misshape(frame: AmiFrame): 'cut' | 'written' | undefined {
  const ready = READY.get(frame.name)
  if (ready === undefined || isGlobal(frame)) return undefined
  const { groups, holds, next } = ready
  if (!holds.every((key) => frame.has(key))) return 'cut'
  for (const { needed, keys } of groups) {
    const isThere = needed || keys.some((key) => frame.has(key))
    if (isThere && !keys.every((key) => frame.has(key))) return 'cut'
  }
  for (const [key, after] of next) if (!frame.isNext(key, after)) return 'written'
  return undefined
}

/** A variable that is of no channel. */
const isGlobal = (frame: AmiFrame): boolean =>
  frame.name === 'VarSet' && frame.get('Channel') === 'none' && frame.get('Uniqueid') === 'none'
