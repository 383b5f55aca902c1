import type { Agent, DeviceState, Phone, Trunk, TrunkState } from '../../events/states.ts'
import { SECOND } from '../../lib/time.ts'
import { newTimers, type Timers } from '../../lib/timers.ts'
import type { ContactFact, DeviceFact, EndpointEntry } from '../signal.ts'
import type { Present } from './subject.ts'

/** Reported facts of an endpoint. `round`: the last list that had it. */
export type EndpointFacts = {
  device: { readonly fact: DeviceFact; round: number } | null
  readonly contacts: Map<string, { state: ContactFact; round: number }>
}

export type RegistrationFacts = { state: TrunkState; reason: string | null; round: number }

/** A member of a queue. `account`: the account of its phone. */
export type MemberFacts = {
  readonly queue: string
  readonly member: string
  readonly endpoint: string
  readonly extension: string
  readonly state: Agent['state']
  readonly reason: string | null
  readonly account: string | null
  readonly round: number
}

/**
 * Members and callers of a queue, and what is counted of them, so that an event of one costs the same in a queue of any
 * length. Written by `putMember`, `dropMember`, `putCaller` and `dropCaller` only.
 */
export type QueueFacts = {
  readonly members: Map<string, MemberFacts>
  /** The number of members in each state, and of each account. */
  readonly inState: Record<Agent['state'], number>
  readonly ofAccount: Map<string | null, number>
  /** The last list that had each caller. */
  readonly callers: Map<string, number>
  /** When each caller joined it. */
  readonly joined: Timers
  account: string | null
  round: number
}

/** Adds a member, or sets it anew. */
export function putMember(facts: QueueFacts, one: MemberFacts): void {
  countMember(facts, facts.members.get(one.member), -1)
  facts.members.set(one.member, one)
  countMember(facts, one, 1)
}

/** Removes a member. */
export function dropMember(facts: QueueFacts, member: string): void {
  countMember(facts, facts.members.get(member), -1)
  facts.members.delete(member)
}

function countMember({ inState, ofAccount }: QueueFacts, one: MemberFacts | undefined, by: 1 | -1): void {
  if (one === undefined) return
  inState[one.state] += by
  const count = (ofAccount.get(one.account) ?? 0) + by
  if (count > 0) ofAccount.set(one.account, count)
  else ofAccount.delete(one.account)
}

/** Adds a caller, or sets it anew. */
export function putCaller(facts: QueueFacts, caller: string, sinceUs: number, round: number): void {
  facts.callers.set(caller, round)
  facts.joined.set(caller, sinceUs)
}

/** Removes a caller. */
export function dropCaller(facts: QueueFacts, caller: string): void {
  facts.callers.delete(caller)
  facts.joined.delete(caller)
}

export const newEndpointFacts = (): EndpointFacts => ({ device: null, contacts: new Map() })
export const newQueueFacts = (round: number): QueueFacts => ({
  members: new Map(),
  inState: { available: 0, busy: 0, paused: 0, logged_out: 0, unreachable: 0 },
  ofAccount: new Map(),
  callers: new Map(),
  joined: newTimers(),
  account: null,
  round,
})

type PhoneFacts = Omit<Phone, 'since'>

const STATE_RANK = ['registered', 'unreachable', 'unregistered'] as const
const DEVICE_RANK = ['ringing', 'in_use', 'idle', 'unknown'] as const

/**
 * Returns the state of a phone by its endpoints (an extension may have several); `undefined` if nothing was reported of
 * them yet.
 */
export function phoneOf(
  { key, name }: Pick<EndpointEntry, 'key' | 'name'>,
  endpoints: readonly EndpointFacts[],
): PhoneFacts | undefined {
  const known = endpoints.filter(({ device, contacts }) => device !== null || contacts.size > 0)
  if (known.length === 0) return undefined
  const states = known.map(stateOf)
  const state = STATE_RANK.find((one) => states.includes(one)) ?? 'unregistered'
  const devices = known.map(deviceOf)
  const device = state === 'registered' ? (DEVICE_RANK.find((one) => devices.includes(one)) ?? 'unknown') : 'unknown'
  // If contacts cannot be listed, a phone that can be called has at least one.
  const contacts = known.reduce((sum, { contacts }) => sum + contacts.size, 0)
  return { extension: key, name, state, device, contacts: state === 'registered' ? Math.max(contacts, 1) : contacts }
}

function stateOf({ device, contacts }: EndpointFacts): Phone['state'] {
  if (contacts.size > 0)
    return [...contacts.values()].every(({ state }) => state === 'unreachable') ? 'unreachable' : 'registered'
  return device === null || device.fact === 'absent' || device.fact === 'unknown' ? 'unregistered' : 'registered'
}

function deviceOf({ device }: EndpointFacts): DeviceState {
  return device === null || device.fact === 'absent' ? 'unknown' : device.fact
}

type TrunkFacts = Omit<Trunk, 'since'>

/** Returns the state of a trunk by its registration and endpoints; `undefined` if neither was reported. */
export function trunkOf(
  trunk: string,
  registration: RegistrationFacts | undefined,
  endpoints: readonly EndpointFacts[],
): TrunkFacts | undefined {
  const known = endpoints.filter(({ device, contacts }) => device !== null || contacts.size > 0)
  if (registration === undefined && known.length === 0) return undefined
  const contacts = known.flatMap((one) => [...one.contacts.values()].map(({ state }) => state))
  const isAbsent = contacts.length === 0 && known.length > 0 && known.every(({ device }) => device?.fact === 'absent')
  const isSilent = isAbsent || (contacts.length > 0 && contacts.every((state) => state === 'unreachable'))
  // A silent provider cannot have refused: Asterisk reports both as "Rejected".
  if (isSilent) return { trunk, state: 'unreachable', reason: null }
  if (registration !== undefined) return { trunk, state: registration.state, reason: registration.reason }
  return { trunk, state: contacts.includes('reachable') ? 'reachable' : 'unknown', reason: null }
}

/** Returns the state of a queue at a moment, and since when its first caller has waited. */
export function queueOf(queue: string, { inState, callers, joined }: QueueFacts): Extract<Present, { kind: 'queue' }> {
  const { available, busy, paused } = inState
  return {
    kind: 'queue',
    state: { queue, waiting: callers.size, longest_wait: 0, available, busy, paused },
    waitingSinceUs: joined.earliest(),
  }
}

/** Returns a state with its waiting time as of now. */
export function atMoment(one: Present, nowUs: number): Present {
  if (one.kind !== 'queue' || one.waitingSinceUs === null) return one
  const longest_wait = Math.max(0, Math.floor((nowUs - one.waitingSinceUs) / SECOND))
  return { ...one, state: { ...one.state, longest_wait } }
}
