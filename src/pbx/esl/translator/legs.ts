import type { Endpoints } from '../../endpoints.ts'
import type { EslEvent } from '../event.ts'

/** What is kept of the legs of one connection between events. */
export type Leg = {
  readonly id: string
  readonly virtual: boolean
  /** Who dialled it; `null`: it called in, or was originated for no call. */
  readonly source: string | null
  /** Of the second half of a loopback: the first. */
  readonly first: string | null
  /** The other half of a loopback. */
  readonly pair: string | null
  readonly originated: boolean
  /** The party that it was dialled for, behind loopback halves. */
  readonly dialler: string | null
  /** The order of creation: of two calls that meet, the later one joins. */
  readonly order: number
  readonly extension: string | null
  dialled: string
  rang: boolean
  answered: boolean
  /** Its answer was told: for a dialled leg, that it was bridged too. */
  told: boolean
  bridged: boolean
  /** Real parties it was bridged with, the last one last. */
  peers: string[]
  /** Whom it is bridged with now. */
  peer: string | null
  /** The other party's leg is gone and this one has not been heard of since: its next event may tell of a transfer. */
  left: boolean
  transferSource: string
  /** Where a transfer that was told already sends it. */
  expected: string | null
  /** Of one that the PBX originates: whom it rings on whose behalf, and when. */
  originate: { readonly what: string; readonly atUs: number } | null
  /** The waiting caller that it takes out of a queue. */
  takes: string | null
  /** Where it is sent, while it is not told yet whether the other party goes there too. */
  pending: string | null
  /** It was told for whom it waits while that one is rung. */
  arranged: boolean
  /** Where it sent the other party. */
  sentTo: string | null
  /** The legs that handed it over to somebody else. */
  handedOverBy: Set<string>
  /** Whom it dialled. */
  reached: Set<string>
  unreached: Set<string>
  hungUpItself: boolean
  gone: boolean
  /** Somebody who was handed over has taken its place. */
  replaced: boolean
}

export type EslContext = {
  readonly legs: Map<string, Leg>
  /**
   * The last legs that ended: what is still told of them waits for nothing, and what they did may explain what others
   * do.
   */
  readonly ended: Map<string, Leg>
  /**
   * Callers who entered a queue, or were listed and may be in one: the queue's names for each time that they did,
   * `''` where it has none.
   */
  readonly queued: Map<string, Set<string>>
  /** Callers who wait in each mod_fifo queue, in order. */
  readonly waiting: Map<string, string[]>
  readonly endpoints: Endpoints
  readonly variables: readonly string[]
  /** What was passed on of a leg's variables. */
  readonly told: Map<string, string>
  /** How often a queue offered a caller to an agent for whom there is no leg (yet), by session and agent. */
  readonly offers: Map<string, number>
  count: number
}

export function addLeg(
  context: EslContext,
  leg: Pick<Leg, 'id' | 'virtual' | 'source' | 'first' | 'pair' | 'originated' | 'extension' | 'dialled'>,
): Leg {
  const added: Leg = {
    ...leg,
    dialler: diallerOf(context, leg.source),
    order: ++context.count,
    rang: false,
    answered: false,
    told: false,
    bridged: false,
    peers: [],
    peer: null,
    left: false,
    transferSource: '',
    expected: null,
    originate: null,
    takes: null,
    pending: null,
    arranged: false,
    sentTo: null,
    handedOverBy: new Set(),
    reached: new Set(),
    unreached: new Set(),
    hungUpItself: false,
    gone: false,
    replaced: false,
  }
  context.legs.set(leg.id, added)
  return added
}

/** Notes that a caller entered a queue. */
export function noteQueued(context: EslContext, caller: string, entry = ''): void {
  const entries = context.queued.get(caller) ?? new Set()
  context.queued.set(caller, entries.add(entry))
}

/** Some seconds of the busiest PBX, and some 1 MB. */
const MAX_ENDED = 2_000

export function dropLeg(context: EslContext, id: string): void {
  context.queued.delete(id)
  const leg = context.legs.get(id)
  context.legs.delete(id)
  if (leg !== undefined) context.ended.set(id, leg)
  if (context.ended.size > MAX_ENDED) context.ended.delete(context.ended.keys().next().value ?? '')
  for (const key of context.offers.keys()) if (key.startsWith(`${id} `)) context.offers.delete(key)
  for (const name of context.variables) context.told.delete(`${id} ${name}`)
}

/** The party for which `source` dials, behind loopback halves. */
function diallerOf(context: EslContext, source: string | null): string | null {
  const leg = source === null ? undefined : context.legs.get(source)
  if (leg === undefined || !leg.virtual) return source
  // What the second half dials is dialled for whom the first half was.
  return leg.first === null ? leg.dialler : (context.legs.get(leg.first)?.dialler ?? null)
}

/** A leg, be it over or not. */
export const everLeg = (context: EslContext, id: string | null): Leg | undefined =>
  id === null ? undefined : (context.legs.get(id) ?? context.ended.get(id))

/** The party behind a leg: itself, or whom the other half of a loopback talks to. */
export function partyBehind(context: EslContext, leg: Leg | undefined): Leg | undefined {
  let behind = leg
  for (let depth = 0; depth < MAX_NESTING && behind?.virtual === true; depth++) {
    behind = everLeg(context, everLeg(context, behind.pair ?? '')?.peer ?? '')
  }
  return behind?.virtual === true ? undefined : behind
}

const MAX_NESTING = 16

export const variableOf = (event: EslEvent, name: string): string => event.get(`variable_${name}`)

/** `1004@default` is agent 1004. */
export const userOf = (address: string): string => address.split('@')[0] ?? address
