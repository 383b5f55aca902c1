import type { Endpoints } from '../endpoints.ts'
import type { EslEvent } from './event.ts'

/** What is kept of the legs of one connection between events. */
export type Leg = {
  readonly id: string
  readonly virtual: boolean
  /** Who dialled it; `null`: it called in, or was originated for no call. */
  readonly source: string | null
  /** Of the second half of a loopback: the first. */
  readonly first: string | null
  readonly originated: boolean
  /** The order of creation: of two calls that meet, the later one joins. */
  readonly order: number
  readonly extension: string | null
  dialled: string
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
  /** Where it sent the other party. */
  sentTo: string | null
  /** Whom it dialled. */
  reached: Set<string>
  unreached: Set<string>
  hungUpItself: boolean
  gone: boolean
}

export type EslContext = {
  readonly legs: Map<string, Leg>
  readonly endpoints: Endpoints
  readonly variables: readonly string[]
  /** What was passed on of a leg's variables. */
  readonly told: Map<string, string>
  /** Agents that a queue offered a member, by session and agent, until they get a leg. */
  readonly offers: Map<string, string>
  /** Pairs that a transfer was told of. */
  readonly transferred: Set<string>
  count: number
}

export function addLeg(
  context: EslContext,
  leg: Pick<Leg, 'id' | 'virtual' | 'source' | 'first' | 'originated' | 'extension' | 'dialled'>,
): Leg {
  const added: Leg = {
    ...leg,
    order: ++context.count,
    answered: false,
    told: false,
    bridged: false,
    peers: [],
    peer: null,
    left: false,
    transferSource: '',
    expected: null,
    sentTo: null,
    reached: new Set(),
    unreached: new Set(),
    hungUpItself: false,
    gone: false,
  }
  context.legs.set(leg.id, added)
  return added
}

export function dropLeg(context: EslContext, id: string): void {
  context.legs.delete(id)
  for (const name of context.variables) context.told.delete(`${id} ${name}`)
  for (const pair of context.transferred) if (pair.includes(id)) context.transferred.delete(pair)
}

/** The party that a leg was dialled for, behind loopback halves. */
export function diallerOf(context: EslContext, leg: Leg): string | null {
  let source = leg.source
  for (let depth = 0; depth < 16; depth++) {
    const dialler = source === null ? undefined : context.legs.get(source)
    if (dialler === undefined || !dialler.virtual) return source
    source = dialler.first === null ? dialler.source : (context.legs.get(dialler.first)?.source ?? null)
  }
  return source
}

export const variableOf = (event: EslEvent, name: string): string => event.get(`variable_${name}`)

/** `1004@default` is agent 1004. */
export const userOf = (address: string): string => address.split('@')[0] ?? address
