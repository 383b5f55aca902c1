import type { Endpoint } from '../../../calls/calls.ts'
import { dropOldest } from '../../connection/oldest.ts'
import type { Endpoints } from '../../endpoints/endpoints.ts'
import { cleanValue } from '../../endpoints/sanitize.ts'
import type { TenantRule } from '../../source/pbx-url.ts'
import { type EslEvent, variableOf } from '../event.ts'

/** A leg, with the state kept between its events. */
export type Leg = {
  readonly id: string
  readonly virtual: boolean
  /** The leg that dialled it; `null` if it called in, or was originated for no call. */
  readonly source: string | null
  /** The first half, if this is the second half of a loopback channel. */
  readonly first: string | null
  /** The other half of a loopback channel. */
  readonly pair: string | null
  readonly originated: boolean
  /** The party for which it was dialled, behind loopback halves. */
  readonly dialler: string | null
  /** The order of creation: if two calls meet, the later one joins. */
  readonly order: number
  readonly extension: string | null
  /** The dialled user with the domain, until the name is known; `''` if no name is needed. */
  unnamed: string
  /** The dialled number of a calling extension, with the domain, until it is known as an extension. */
  calls: string
  /** The legs that it dialled whose names are unknown, with the numbers of their events. */
  readonly unnamedCallees: Map<string, number>
  /** Its tenant value; `null` if it has none (yet). */
  tenant: string | null
  dialled: string
  /** How long the leg may ring. */
  timeoutSeconds: number
  /** How long the legs that it dials may ring. */
  dialSeconds: number
  rang: boolean
  answered: boolean
  /** Its answer became a signal; for a dialled leg, once it is bridged too. */
  answerSignalled: boolean
  bridged: boolean
  /** The real parties with which it was bridged, the latest last. */
  peers: string[]
  /** The leg with which it is bridged now. */
  peer: string | null
  /** The other party's leg is gone, and this one had no event since: the next one may show a transfer. */
  wasLeft: boolean
  transferSource: string
  /** The destination of a transfer that became a signal already. */
  expectedDestination: string | null
  /** Set if the PBX originates the leg: the rung party, the number and domain that it sees, and the time. */
  originate: {
    readonly what: string
    readonly shown: string
    readonly domain: string
    readonly atUs: number
  } | null
  /** The number that a caller shows while it camps on a busy phone: legs with it are rung for this one. */
  camps: string | null
  /** The number of a calling party. */
  readonly number: string
  /** A caller from outside showed no number, or no name, when it called. */
  lacksNumber: boolean
  lacksName: boolean
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
  /** `Event-Sequence` and time stamp of its creation; of a leg that was listed, none. */
  created: { readonly place: number; readonly stamp: string }
  /** `Event-Sequence` of its last event that was read, and when that arrived. */
  heard: number
  heardUs: number
  /** The dials whose dialplan extension its next event shows: the number of the last dial's event, and its time. */
  dialledFrom: { readonly after: number; readonly atSeconds: number } | null
  /** FusionPBX's directory forwards all calls of the extension that it called. */
  isForwarded: boolean
  /** FusionPBX's id of the ring group that rings several phones for it. */
  ringGroup: string
  /** All its ring groups: the extension of each id. */
  readonly ringGroups: Map<string, string>
  /** The extension whose group it rang when a list showed it first: its events go on with that group. */
  listedGroup: string | null
  /** That its `bridge` rings several parties became a signal, and the end of it did not yet. */
  rings: boolean
  /** The numbers and users that it dialled. */
  reached: Set<string>
  unreached: Set<string>
  /** It was listed while it may have dialled: until its next bridge its variables may tell of parties from before. */
  dialledUnseen: boolean
  hungUpItself: boolean
  gone: boolean
  /** A party that was handed over has replaced it. */
  replaced: boolean
  /** The last values of variables that became signals, by name. */
  readonly reportedVariables: Map<string, string>
}

export type EslContext = {
  readonly legs: Map<string, Leg>
  /** Legs of calls that are not followed. */
  readonly unfollowed: Set<string>
  /** Returns whether as many calls are open as are followed. */
  readonly isFull: () => boolean
  /** The latest ended legs: their late events wait for nothing, and their state may explain events of other legs. */
  readonly ended: Map<string, Leg>
  /** Callers that entered a queue, or were listed and may be in one: the queue's id of each visit, `''` without one. */
  readonly queued: Map<string, Set<string>>
  /** Legs that are reported as dialled and not read yet, because their creation waits for a prerequisite. */
  readonly dialling: Map<string, { readonly source: string; readonly place: number }>
  /** The callers that wait in each mod_fifo queue, in order. */
  readonly waiting: Map<string, string[]>
  readonly endpoints: Endpoints
  readonly variables: readonly string[]
  /** The fact that is the tenant value of a leg, if the PBX serves several customers. */
  readonly tenants: TenantRule | undefined
  /** The subclasses of the dialplan's events that are passed on. */
  readonly custom: ReadonlySet<string>
  /** How often a queue offered a caller to an agent without a leg (so far), by session and agent. */
  readonly offers: Map<string, number>
  /** The parties that were rung for agents of queues, by agent name. */
  readonly agents: Map<string, Endpoint>
  /** The customers (`null` on a PBX with one) whose conferences have events on this connection. */
  readonly inConferences: Set<string | null>
  count: number
  /** When the event that is being read arrived. */
  nowUs: number
  /** The PBX's clock at the connection's first list, in microseconds; 0: unknown clock. `null` before the list. */
  listedUs: number | null
}

/** FreeSWITCH's default timeout for ringing. */
const DEFAULT_TIMEOUT_SECONDS = 60

/** Returns a time-out that an event shows, else the default. */
export function secondsIn(event: EslEvent, ...names: readonly string[]): number {
  const set = names.map((name) => Number(variableOf(event, name))).filter((seconds) => seconds > 0)
  return Math.min(DEFAULT_TIMEOUT_SECONDS, ...set)
}

/** Adds a leg without any other facts. */
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
    calls: '',
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
    lacksNumber: false,
    lacksName: false,
    takesCaller: null,
    pendingDestination: null,
    isTransferArranged: false,
    sentTo: null,
    handedOverBy: new Set(),
    created: { place: 0, stamp: '' },
    heard: 0,
    heardUs: 0,
    dialledFrom: null,
    isForwarded: false,
    ringGroup: '',
    ringGroups: new Map(),
    listedGroup: null,
    reached: new Set(),
    unreached: new Set(),
    dialledUnseen: false,
    rings: false,
    hungUpItself: false,
    gone: false,
    replaced: false,
    reportedVariables: new Map(),
  }
  dropOldest(context.legs)
  context.legs.set(leg.id, added)
  return added
}

/** Notes that a caller entered a queue. */
export function noteQueued(context: EslContext, caller: string, entry = ''): void {
  const entries = context.queued.get(caller) ?? new Set()
  context.queued.set(caller, entries.add(entry))
}

/** Some seconds of the busiest PBX, some 1 MB. */
const MAX_ENDED = 2_000

/** Moves a leg to the ended ones, and drops its queues and offers. */
export function dropLeg(context: EslContext, id: string): void {
  context.queued.delete(id)
  const leg = context.legs.get(id)
  context.legs.delete(id)
  if (leg !== undefined) context.ended.set(id, leg)
  if (context.ended.size > MAX_ENDED) context.ended.delete(context.ended.keys().next().value ?? '')
  for (const key of context.offers.keys()) if (key.startsWith(`${id} `)) context.offers.delete(key)
}

/** Returns the party for which `source` dials, behind loopback halves. */
function diallerOf(context: EslContext, source: string | null): string | null {
  const leg = source === null ? undefined : context.legs.get(source)
  if (leg === undefined || !leg.virtual) return source
  // The second half dials for the same party as the first.
  return leg.first === null ? leg.dialler : (context.legs.get(leg.first)?.dialler ?? null)
}

/** Returns a leg, ended or not. */
export const everLeg = (context: EslContext, id: string | null): Leg | undefined =>
  id === null ? undefined : (context.legs.get(id) ?? context.ended.get(id))

/** Returns the party behind a leg: itself, or the party with which the other half of a loopback channel talks. */
export function partyBehind(context: EslContext, leg: Leg | undefined): Leg | undefined {
  let behind = leg
  for (let depth = 0; depth < MAX_NESTING && behind?.virtual === true; depth++) {
    behind = everLeg(context, everLeg(context, behind.pair ?? '')?.peer ?? '')
  }
  return behind?.virtual === true ? undefined : behind
}

const MAX_NESTING = 16

/** Returns the number of an event among all events of this FreeSWITCH, 0 if it has none. */
export const placeOf = (event: EslEvent): number => Number(event.get('Event-Sequence')) || 0

/** Returns the tenant value of a leg in one of its events; `null` if it shows none. */
export function tenantIn({ tenants }: EslContext, event: EslEvent): string | null {
  switch (tenants?.by) {
    case undefined:
      return null
    case 'domain':
      // A dialled phone has the domain in which it was found.
      return cleanValue(variableOf(event, 'domain_name') || variableOf(event, 'dialed_domain'))
    case 'accountcode':
      return cleanValue(variableOf(event, 'accountcode'))
    case 'context':
      return cleanValue(event.get('Caller-Context'))
    case 'variable':
      return cleanValue(variableOf(event, tenants.variable ?? ''))
  }
}

/** Returns whether two legs belong to one customer; always on a PBX with one. Customers may have the same numbers. */
export const areOfOneCustomer = (context: EslContext, one: Leg, other: Leg): boolean =>
  customerOf(context, one) === customerOf(context, other)

/** Returns the tenant value of a leg: its own, else the value of the party for which it was dialled. */
export const customerOf = (context: EslContext, { tenant, dialler }: Leg): string | null =>
  (tenant ?? everLeg(context, dialler)?.tenant)?.toLowerCase() ?? null
