import type { Endpoint } from '../../../calls/signal.ts'
import type { TenantRule } from '../../../lib/pbx-url.ts'
import type { Endpoints } from '../../endpoints/endpoints.ts'
import { cleanValue } from '../../endpoints/sanitize.ts'
import type { EslEvent } from '../event.ts'
import { variableOf } from '../event.ts'

/** A leg, with the state that is kept of it between events. */
export type Leg = {
  readonly id: string
  readonly virtual: boolean
  /** The leg that dialled it; `null`: it called in, or was originated for no call. */
  readonly source: string | null
  /** The first half, if this is the second half of a loopback. */
  readonly first: string | null
  /** The other half of a loopback. */
  readonly pair: string | null
  readonly originated: boolean
  /** The party that it was dialled for, behind loopback halves. */
  readonly dialler: string | null
  /** The order of creation: of two calls that meet, the later one joins. */
  readonly order: number
  readonly extension: string | null
  /** The user who is dialled, with the domain, until the name is known; `''` if nobody is to be named. */
  unnamed: string
  /** The legs that it dialled, and whose names are not known, with the places of their events among all. */
  readonly unnamedCallees: Map<string, number>
  /** The value by which it shows its customer; `null` if it has none (yet). */
  tenant: string | null
  dialled: string
  /** For how long it may ring. */
  timeoutSeconds: number
  /** For how long those may ring whom it dials. */
  dialSeconds: number
  rang: boolean
  answered: boolean
  /** Its answer became a signal; that of a dialled leg does when it is bridged too. */
  answerSignalled: boolean
  bridged: boolean
  /** Real parties it was bridged with, the last one last. */
  peers: string[]
  /** The leg that it is bridged with now. */
  peer: string | null
  /** The other party's leg is gone, and no event of this one has arrived since: the next one may show a transfer. */
  wasLeft: boolean
  transferSource: string
  /** The destination of a transfer that became a signal already. */
  expectedDestination: string | null
  /** If the PBX originates the leg: who is rung, the number and the domain that it is shown, and when. */
  originate: {
    readonly what: string
    readonly shown: string
    readonly domain: string
    readonly atUs: number
  } | null
  /** The number that a caller shows while it camps on a busy phone: legs with it are rung for this one. */
  camps: string | null
  /** The number of a caller. */
  readonly number: string
  /** The waiting caller that it removes from a queue. */
  takesCaller: string | null
  /** The destination to which it is sent, while it is unknown whether the other party goes there too. */
  pendingDestination: string | null
  /** The transfer for whose target it waits became a signal. */
  isTransferArranged: boolean
  /** The destination to which it sent the other party. */
  sentTo: string | null
  /** The legs that handed it over to another party. */
  handedOverBy: Set<string>
  /** `Event-Sequence` of its last event that was read. */
  heard: number
  /** Its dials whose place in the dialplan its next event shows: the last one's place among events, and when it was. */
  dialledFrom: { readonly after: number; readonly atSeconds: number } | null
  /** FusionPBX's directory forwards all calls to the extension that it called. */
  isForwarded: boolean
  /** FusionPBX's id of the ring group that rings several for it. */
  ringGroup: string
  /** All of these ids, with the extension of each. */
  readonly ringGroups: Map<string, string>
  /** The numbers and users that it dialled. */
  reached: Set<string>
  unreached: Set<string>
  hungUpItself: boolean
  gone: boolean
  /** A party that was handed over has taken its place. */
  replaced: boolean
  /** The last values of variables that became signals, by name. */
  readonly reportedVariables: Map<string, string>
}

export type EslContext = {
  readonly legs: Map<string, Leg>
  /**
   * The last legs that ended: late events of them wait for nothing, and their state may explain events of other legs.
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
  /** The fact that names the customer of a leg, if there are several. */
  readonly tenants: TenantRule | undefined
  /** Names of users, by their addresses, as far as the PBX was asked for them. */
  readonly names: Map<string, string>
  /** How often a queue offered a caller to an agent for whom there is no leg (yet), by session and agent. */
  readonly offers: Map<string, number>
  /** The parties that were rung for agents of queues, by the names of these. */
  readonly agents: Map<string, Endpoint>
  count: number
}

/** For how long FreeSWITCH lets somebody ring where nothing else is set. */
const DEFAULT_TIMEOUT_SECONDS = 60

/** Returns a time-out that an event shows, else the default. */
export function secondsIn(event: EslEvent, ...names: readonly string[]): number {
  const set = names.map((name) => Number(variableOf(event, name))).filter((seconds) => seconds > 0)
  return Math.min(DEFAULT_TIMEOUT_SECONDS, ...set)
}

/** Adds a leg about which nothing else is known. */
export function addLeg(
  context: EslContext,
  leg: Pick<
    Leg,
    'id' | 'virtual' | 'source' | 'first' | 'pair' | 'originated' | 'extension' | 'tenant' | 'dialled' | 'number'
  >,
): Leg {
  const added: Leg = {
    ...leg,
    dialler: diallerOf(context, leg.source),
    order: ++context.count,
    unnamed: '',
    unnamedCallees: new Map(),
    timeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
    dialSeconds: DEFAULT_TIMEOUT_SECONDS,
    rang: false,
    answered: false,
    answerSignalled: false,
    bridged: false,
    peers: [],
    peer: null,
    wasLeft: false,
    transferSource: '',
    expectedDestination: null,
    originate: null,
    camps: null,
    takesCaller: null,
    pendingDestination: null,
    isTransferArranged: false,
    sentTo: null,
    handedOverBy: new Set(),
    heard: 0,
    dialledFrom: null,
    isForwarded: false,
    ringGroup: '',
    ringGroups: new Map(),
    reached: new Set(),
    unreached: new Set(),
    hungUpItself: false,
    gone: false,
    replaced: false,
    reportedVariables: new Map(),
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

/** Moves a leg to those that ended, and forgets its queues and offers. */
export function dropLeg(context: EslContext, id: string): void {
  context.queued.delete(id)
  const leg = context.legs.get(id)
  context.legs.delete(id)
  if (leg !== undefined) context.ended.set(id, leg)
  if (context.ended.size > MAX_ENDED) context.ended.delete(context.ended.keys().next().value ?? '')
  for (const key of context.offers.keys()) if (key.startsWith(`${id} `)) context.offers.delete(key)
}

/** The party for which `source` dials, behind loopback halves. */
function diallerOf(context: EslContext, source: string | null): string | null {
  const leg = source === null ? undefined : context.legs.get(source)
  if (leg === undefined || !leg.virtual) return source
  // The second half dials for the same party as the first.
  return leg.first === null ? leg.dialler : (context.legs.get(leg.first)?.dialler ?? null)
}

/** Returns a leg, be it over or not. */
export const everLeg = (context: EslContext, id: string | null): Leg | undefined =>
  id === null ? undefined : (context.legs.get(id) ?? context.ended.get(id))

/** Returns the party behind a leg: itself, or the party that the other half of a loopback talks to. */
export function partyBehind(context: EslContext, leg: Leg | undefined): Leg | undefined {
  let behind = leg
  for (let depth = 0; depth < MAX_NESTING && behind?.virtual === true; depth++) {
    behind = everLeg(context, everLeg(context, behind.pair ?? '')?.peer ?? '')
  }
  return behind?.virtual === true ? undefined : behind
}

const MAX_NESTING = 16

/** Returns the place of an event among all of this FreeSWITCH, 0 if it has none. */
export const placeOf = (event: EslEvent): number => Number(event.get('Event-Sequence')) || 0

/** Returns the value by which a leg shows its customer in an event of it; `null` if it shows none. */
export function tenantIn({ tenants }: EslContext, event: EslEvent): string | null {
  switch (tenants?.by) {
    case undefined:
      return null
    case 'domain':
      // A phone that is dialled has the domain in which it was found.
      return cleanValue(variableOf(event, 'domain_name') || variableOf(event, 'dialed_domain'))
    case 'accountcode':
      return cleanValue(variableOf(event, 'accountcode'))
    case 'context':
      return cleanValue(event.get('Caller-Context'))
    case 'variable':
      return cleanValue(variableOf(event, tenants.variable ?? ''))
  }
}

/** Returns whether two legs are of one customer; always on a PBX of one. Numbers are the same for many customers. */
export const areOfOneCustomer = (context: EslContext, one: Leg, other: Leg): boolean =>
  customerOf(context, one) === customerOf(context, other)

/** Returns the value that shows a leg's customer: its own, else that of the party for which it was dialled. */
export const customerOf = (context: EslContext, { tenant, dialler }: Leg): string | null =>
  (tenant ?? everLeg(context, dialler)?.tenant)?.toLowerCase() ?? null
