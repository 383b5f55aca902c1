import { type Follower, SHAPES, type Shape } from './events.ts'
import { hashKey } from './frame.ts'

/** The headers of a snapshot of a channel, in the order in which Asterisk prints them. */
export const SNAPSHOT = [
  'Channel',
  'ChannelState',
  'ChannelStateDesc',
  'CallerIDNum',
  'CallerIDName',
  'ConnectedLineNum',
  'ConnectedLineName',
  'Language',
  'AccountCode',
  'Context',
  'Exten',
  'Priority',
  'Uniqueid',
  'Linkedid',
] as const

/** Asterisk 13 does not print `Language`; future versions may add others in between. */
const ALWAYS_PRINTED = SNAPSHOT.filter((key) => key !== 'Language')

/** Within a snapshot: numbers and extensions are printed as received from the network, names are not. */
const SNAPSHOT_NEXT: Readonly<Record<string, string>> = {
  CallerIDNum: 'CallerIDName',
  ConnectedLineNum: 'ConnectedLineName',
  Exten: 'Priority',
  Priority: 'Uniqueid',
  Uniqueid: 'Linkedid',
}

/** The headers of a frame, by position. */
type Headers = {
  readonly name: string
  readonly count: number
  get(key: string): string
  hashAt(place: number): number
  isKeyAt(place: number, key: string): boolean
}

/** A shape, prepared for one pass over the headers of each frame: this is a hot loop. */
type Ready = {
  /**
   * Groups of keys that occur together (snapshots, and other headers), by the hash of a key; and the size of each
   * group.
   */
  readonly groupOf: ReadonlyMap<number, number>
  readonly sizes: readonly number[]
  readonly needed: readonly boolean[]
  readonly next: ReadonlyMap<number, { readonly key: string; readonly after: Follower }>
}

function readyOf({ channels, maybe = [], holds = [], next = {} }: Shape): Ready {
  const snapshots = [...channels, ...maybe].map((prefix) => ALWAYS_PRINTED.map((key) => prefix + key))
  const groups = [...snapshots, ...(holds.length > 0 ? [holds] : [])]
  const within = [...channels, ...maybe].flatMap((prefix) =>
    Object.entries(SNAPSHOT_NEXT).map(([key, after]) => [prefix + key, prefix + after] as const),
  )
  return {
    groupOf: new Map(groups.flatMap((keys, group) => keys.map((key) => [hashOf(key), group] as const))),
    sizes: groups.map((keys) => keys.length),
    needed: groups.map((_, group) => group < channels.length || group >= snapshots.length),
    next: new Map([...within, ...Object.entries(next)].map(([key, after]) => [hashOf(key), { key, after }])),
  }
}

const hashOf = (key: string): number => hashKey(Buffer.from(key, 'latin1'), 0, key.length)

const readyShapes = new Map<string, Ready>()

/** Prepares a shape at its first event, because preparing them all would delay the start. */
function readyShape(name: string): Ready | undefined {
  const known = readyShapes.get(name)
  const shape = known === undefined ? SHAPES.get(name) : undefined
  if (shape === undefined) return known
  const ready = readyOf(shape)
  readyShapes.set(name, ready)
  return ready
}

/** Returns whether this list has a shape for an event; every event that is read has one. */
export const hasShape = (name: string): boolean => SHAPES.has(name)

/** More groups than any shape has. */
const counts = new Uint16Array(16)

/**
 * Returns the fault of an event that is read: a part is missing, or there is text that only a caller can have written.
 */
export function misshape(frame: Headers): 'cut' | 'written' | undefined {
  const ready = readyShape(frame.name)
  if (ready === undefined || isGlobal(frame)) return undefined
  const { groupOf, sizes, needed, next } = ready
  counts.fill(0)
  let written = false
  for (let place = 0; place < frame.count; place++) {
    const hash = frame.hashAt(place)
    const group = groupOf.get(hash)
    if (group !== undefined) counts[group] = (counts[group] ?? 0) + 1
    const rule = next.get(hash)
    if (rule !== undefined && frame.isKeyAt(place, rule.key)) written ||= !isFollowed(frame, place + 1, rule.after)
  }
  const isWhole = sizes.every((size, group) => counts[group] === size || (counts[group] === 0 && !needed[group]))
  return isWhole ? (written ? 'written' : undefined) : 'cut'
}

function isFollowed(frame: Headers, place: number, after: Follower): boolean {
  if (after === null) return place === frame.count
  if (place >= frame.count) return false
  return typeof after === 'string' ? frame.isKeyAt(place, after) : after.some((key) => frame.isKeyAt(place, key))
}

/** A variable without a channel. */
const isGlobal = (frame: Headers): boolean =>
  frame.name === 'VarSet' && frame.get('Channel') === 'none' && frame.get('Uniqueid') === 'none'
