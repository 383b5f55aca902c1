import { type AccountDecision, decideAccount } from './account-decision.ts'
import { callOf, channelsOf, markChanged } from './registry.ts'
import type { Call, Channel, TrackerState } from './state.ts'
import { isDue } from './waits.ts'

/**
 * Customers that share a PBX. Their extensions, parking slots and numbers may be equal, so a search by number is
 * limited to channels of one customer.
 */

/** Returns the tenant value that a channel shows, if the PBX serves several customers. */
export const tenantOf = ({ tenants }: TrackerState, value: string | null | undefined): string | null =>
  tenants === null ? null : value || null

/** Notes the tenant value of a channel. */
export function noteTenant(state: TrackerState, channel: Channel | undefined, value: string | null): void {
  if (channel === undefined || state.tenants === null || value === null || value === '') return
  channel.tenant = value
  noteExtension(state, channel)
  const call = callOf(state, channel)
  if (call !== undefined && call.accountDueUs !== null) markChanged(state, call)
}

/** Once a phone rings, a call waits at most this much longer for its account to show. */
const RINGING_WAIT_US = 1_000_000

/** Decides the account of a call, if it shows by now. Returns whether it was decided just now. */
export function placeInAccount(state: TrackerState, call: Call): boolean {
  if (call.accountDueUs === null || state.tenants === null) return false
  const channels = channelsOf(state, call)
  const isCaller = (channel: Channel): boolean => channel.dial === null || channel.dial.source === null
  const dialled = channels.filter((channel) => !isCaller(channel))
  const shown = ({ tenant }: Channel): string[] => (tenant === null ? [] : [tenant])
  const isOver = isDue(state, call.endDueUs)
  // Users are waiting for the notice of a ringing call: give the dialplan little more time.
  const isRinging = dialled.some(({ dial }) => dial !== null && (dial.rangUs !== null || dial.answeredUs !== null))
  if (isRinging) call.accountDueUs = Math.min(call.accountDueUs, state.nowUs + RINGING_WAIT_US)
  const facts = {
    caller: channels.filter(isCaller).flatMap(shown)[0] ?? null,
    dialled: dialled.flatMap(shown),
    isDialled: dialled.length > 0,
    isLate: isOver || isDue(state, call.accountDueUs),
  }
  const decision = decideAccount(facts, state.tenants, state.account)
  if (decision === undefined) return false
  setAccount(state, call, decision)
  return true
}

/** Gives a call its account, for good, and removes its relation to another customer's call. */
export function setAccount(state: TrackerState, call: Call, { account, tenant }: AccountDecision): void {
  call.account = account
  call.tenant = tenant
  call.accountDueUs = null
  const parent = state.calls.get(call.parentId ?? '')
  if (parent?.account !== account || parent.accountDueUs !== null) call.parentId = null
}

/** Returns whether two calls are known to be of one account. Calls without an account may be of two customers. */
export const areOfOneAccount = (one: Call, other: Call): boolean =>
  one.account !== null && one.accountDueUs === null && other.accountDueUs === null && one.account === other.account

/**
 * Returns whether a channel belongs to the account of this call; always on a PBX with one account. A channel that shows
 * no customer yet may turn out to be of any, so it does not count.
 */
export function isOfSameAccount(state: TrackerState, call: Call, channel: Channel): boolean {
  if (state.tenants === null) return true
  const own = callOf(state, channel)
  if (own?.accountDueUs === null) return areOfOneAccount(own, call)
  const account = channel.tenant === null ? undefined : state.tenants.accountOf(channel.tenant)
  return account !== undefined && call.accountDueUs === null && account === call.account
}

/** More than any PBX has. Callers cannot make the set grow, since extensions are endpoints of the PBX. */
const MAX_EXTENSIONS = 100_000

/**
 * Notes that a number turned out to be an extension of the channel's customer. A channel of a shared PBX that shows no
 * customer is skipped: other customers' calls would find it.
 */
export function noteExtension(state: TrackerState, { endpoint, tenant }: Pick<Channel, 'endpoint' | 'tenant'>): void {
  const { kind, number } = endpoint
  if (state.tenants !== null && tenant === null) return
  if (kind === 'extension' && number !== null && state.extensions.size < MAX_EXTENSIONS)
    state.extensions.add(extensionKey(number, tenant))
}

/** Returns whether a number turned out to be an extension of this call's customer. */
export const isExtensionOf = (state: TrackerState, call: Call, number: string): boolean =>
  state.extensions.has(extensionKey(number, call.tenant))

const extensionKey = (number: string, tenant: string | null): string =>
  tenant === null ? number : `${tenant.toLowerCase()} ${number}`
