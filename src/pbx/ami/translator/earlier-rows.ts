import { SHAPES } from '../events.ts'
import type { AmiFrame } from '../frame.ts'

/**
 * The rows of a list, put back to the moment before events that came earlier than the list and are read after it: the
 * first event of each channel shows its state at that time, also for an ended channel that the list lacks.
 */

/** A row of a list, as Asterisk sent it or as events show it. */
export type ListRow = Pick<AmiFrame, 'get' | 'has' | 'all'>

/** The facts of a channel in the earlier events. */
type Earlier = {
  /** Its first event, and the prefix of its headers there. */
  readonly first: AmiFrame
  readonly prefix: string
  /** The bridge in which it was, empty if in none; undefined if no event shows it. */
  bridge: string | undefined
  /** The channel that dialled it. */
  source: string | null
  /** It has gone on in the dialplan: the application in the list is a later one. */
  hasMoved: boolean
  /** Its Dial has returned. */
  hasDialled: boolean
  /** It went on before its Dial returned, as a transfer moves it: that event still shows its Dial of before. */
  isMovedAway: boolean | undefined
  /** The queue in which it was. */
  queue: string | null
  /** The application in which another party took its place by an attended transfer, and that party. */
  replaced: { readonly application: string; readonly by: string } | null
}

/** The facts of a channel before its first event that a list does not show. */
export type Before = {
  readonly source: string | null
  readonly isMovedAway: boolean
  /** The list lacks it: it has ended since. */
  readonly isUnlisted: boolean
}

/** Puts rows back, by the ids of their channels. Returns further facts of these channels from the events, by id. */
export function* putBack(
  rows: Map<string, readonly ListRow[]>,
  events: readonly AmiFrame[],
  created: ReadonlySet<string>,
): Generator<void, ReadonlyMap<string, Before>> {
  const earlier = new Map<string, Earlier>()
  for (const event of events) {
    yield
    if (MAY_BE_LATE.has(event.name)) continue
    const { channels = [], maybe = [] } = SHAPES.get(event.name) ?? {}
    for (const prefix of [...channels, ...maybe]) noteEvent(earlier, event, prefix)
  }
  const found = new Map<string, Before>()
  const nowS = timeOf(rows, events)
  const listed = new Map(rows)
  const places = placesOf(earlier.values())
  for (const [id, one] of earlier) {
    yield
    if (created.has(id)) continue
    const { first, prefix, source, bridge, queue, replaced } = one
    const isMovedAway = one.isMovedAway === true && !!bridge && queue === null
    found.set(id, { source, isMovedAway, isUnlisted: !listed.has(id) })
    const row = rowBefore(one, {
      listed: listed.get(id) ?? [],
      callerExten: extenOf(earlier.get(first.get(`${prefix}Linkedid`))),
      place: places.get(id) ?? '',
      seconds: secondsOf(id, nowS),
      successor: replaced === null ? undefined : runs(listed.get(replaced.by) ?? [], replaced.application),
    })
    rows.set(id, [row])
  }
  return found
}

/** Events of a recording may come after the end of its channel. */
const MAY_BE_LATE: ReadonlySet<string> = new Set(['MixMonitorStop', 'MonitorStop'])

/** Returns the extensions that ring phones, by the channel of the caller: a ringing phone shows the extension. */
function placesOf(channels: Iterable<Earlier>): Map<string, string> {
  const places = new Map<string, string>()
  for (const one of channels)
    if (one.source !== null && stateBefore(one) !== UP && /^\d+$/.test(extenOf(one)))
      places.set(one.source, extenOf(one))
  return places
}

/** Returns the row of a listed channel if it runs this application. */
const runs = (listed: readonly ListRow[], application: string): ListRow | undefined =>
  listed.find((row) => row.get('Application') === application)

/** Returns the PBX's time at the list, in seconds: of the last event before it, or by the age of a listed channel. */
function timeOf(rows: ReadonlyMap<string, readonly ListRow[]>, events: readonly AmiFrame[]): number | null {
  const stamp = Number(events.findLast((event) => event.has('Timestamp'))?.get('Timestamp') ?? Number.NaN)
  if (!Number.isNaN(stamp)) return stamp
  for (const [id, listed] of rows) {
    const seconds = listed.find((row) => row.has('Seconds'))?.get('Seconds') ?? ''
    const createdS = createdIn(id)
    if (createdS !== null && /^\d{1,8}$/.test(seconds)) return createdS + Number(seconds)
  }
  return null
}

/** Returns when a channel was created, in seconds of the PBX's clock: its id begins with that. */
const createdIn = (id: string): number | null => {
  const created = /(?:^|-)(\d{10})\.\d+$/.exec(id)?.[1]
  return created === undefined ? null : Number(created)
}

/** Returns the age of a channel in seconds, empty if it is not known. */
function secondsOf(id: string, nowS: number | null): string {
  const createdS = createdIn(id)
  return createdS === null || nowS === null || nowS < createdS ? '' : String(Math.floor(nowS - createdS))
}

function noteEvent(earlier: Map<string, Earlier>, event: AmiFrame, prefix: string): void {
  const id = event.get(`${prefix}Uniqueid`)
  if (id === '') return
  const one = earlier.get(id) ?? {
    first: event,
    prefix,
    bridge: undefined,
    source: null,
    hasMoved: false,
    hasDialled: false,
    isMovedAway: undefined,
    queue: null,
    replaced: null,
  }
  earlier.set(id, one)
  one.bridge ??= bridgeBefore(event, prefix)
  // Who picks up a call is reported as dialled by it.
  if (prefix === 'Dest' && !isFirstOfCall(one)) one.source ??= event.get('Uniqueid') || null
  if (!one.hasMoved && LEAVES_QUEUE.has(event.name)) one.queue ??= event.get('Queue') || null
  one.hasDialled ||= event.get('Variable') === 'DIALSTATUS' && event.get('Value') !== ''
  if (prefix === 'SecondTransferer' && event.get('DestType') === 'App')
    one.replaced = { application: event.get('DestApp'), by: event.get('TransfereeUniqueid') }
  if (event.name === 'Newexten') one.isMovedAway ??= !one.hasDialled
  one.hasMoved ||= MOVES.has(event.name) || prefix === 'Transferee'
}

const LEAVES_QUEUE: ReadonlySet<string> = new Set(['QueueCallerLeave', 'QueueCallerAbandon'])
const MOVES: ReadonlySet<string> = new Set(['Newexten', 'QueueCallerJoin', ...LEAVES_QUEUE])

/** Returns the bridge in which a channel was before an event, empty if in none; undefined if the event shows none. */
function bridgeBefore(event: AmiFrame, prefix: string): string | undefined {
  switch (event.name) {
    case 'BridgeEnter':
      return ''
    case 'BridgeLeave':
    case 'BlindTransfer':
      return event.get('BridgeUniqueid') || undefined
    case 'AttendedTransfer':
      // By a feature code one channel transfers, which changes between both bridges.
      if (
        prefix.endsWith('Transferer') &&
        event.get('OrigTransfererUniqueid') === event.get('SecondTransfererUniqueid')
      )
        return undefined
      return event.get(FIRST_PARTIES.has(prefix) ? 'OrigBridgeUniqueid' : 'SecondBridgeUniqueid') || undefined
    default:
      return undefined
  }
}

/** The parties of the transferred conversation; all other parties belong to the consultation. */
const FIRST_PARTIES: ReadonlySet<string> = new Set(['OrigTransferer', 'Transferee'])

const [DOWN, RING, RINGING, UP] = ['0', '4', '5', '6']

/** Returns the state of a channel before its first event: a Newstate shows the next one. */
function stateBefore(one: Earlier): string {
  const { first, prefix } = one
  const state = first.get(`${prefix}ChannelState`)
  if (first.name !== 'Newstate') return state
  if (state !== UP) return DOWN
  return isFirstOfCall(one) ? RING : RINGING
}

const extenOf = (one: Earlier | undefined): string => one?.first.get(`${one.prefix}Exten`) ?? ''

/** Returns whether a channel is the first of its call, as Asterisk counts: a dialled channel has its dialler's call. */
const isFirstOfCall = ({ first, prefix }: Earlier): boolean =>
  first.get(`${prefix}Linkedid`) === first.get(`${prefix}Uniqueid`)

/** Returns whether an unlisted channel was dialled: a dialled channel has no extension, or its caller's. */
function isDialled(one: Earlier, callerExten: string): boolean {
  const state = stateBefore(one)
  if (one.source !== null) return true
  if (state === RING || isFirstOfCall(one)) return false
  const exten = extenOf(one)
  return state !== UP || exten === '' || exten === callerExten
}

/** The facts of a channel in events, beside its state, that a list has under the same names. */
const SHOWN = [
  'Channel',
  'CallerIDNum',
  'CallerIDName',
  'ConnectedLineNum',
  'ConnectedLineName',
  'AccountCode',
  'Context',
  'Exten',
  'Uniqueid',
  'Linkedid',
] as const

const APPLICATION: ReadonlySet<string> = new Set(['application', 'data', 'applicationdata', 'variable'])
const BRIDGE = 'bridgeid'

/** Facts of a channel that other channels show. */
type Around = {
  /** Its rows in the list, and the extension of its caller. */
  readonly listed: readonly ListRow[]
  readonly callerExten: string
  /** The extension that rings phones for it, and its age in seconds; empty if unknown. */
  readonly place: string
  readonly seconds: string
  /** The party that took its place in its application. */
  readonly successor: ListRow | undefined
}

/** Returns the row of a channel before its first event. Facts that no event shows come from the list. */
function rowBefore(one: Earlier, { listed, callerExten, place, seconds, successor }: Around): ListRow {
  const { first, prefix, bridge, queue, hasMoved, replaced } = one
  const facts = new Map<string, string>(SHOWN.map((key) => [key.toLowerCase(), first.get(prefix + key)]))
  facts.set('channelstate', stateBefore(one))
  const within = bridge ?? successor?.get('BridgeID')
  if (within !== undefined) facts.set(BRIDGE, within)
  if (listed.length === 0) facts.set('seconds', seconds)
  if (place !== '') facts.set('exten', place)
  const isListed = listed.length > 0 && !hasMoved
  if (queue !== null) facts.set('application', 'Queue').set('data', queue)
  else if (replaced !== null) facts.set('application', replaced.application).set('data', successor?.get('Data') ?? '')
  else if (!isListed && isDialled(one, callerExten)) facts.set('application', 'AppDial')
  const listedIn = (key: string): readonly ListRow[] => (hasMoved && APPLICATION.has(key.toLowerCase()) ? [] : listed)
  return {
    get: (key) =>
      facts.get(key.toLowerCase()) ??
      listedIn(key)
        .find((row) => row.get(key) !== '')
        ?.get(key) ??
      '',
    has: (key) => facts.has(key.toLowerCase()) || listedIn(key).some((row) => row.has(key)),
    all: (key) => listedIn(key).flatMap((row) => row.all(key)),
  }
}
