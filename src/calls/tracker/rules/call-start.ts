import { callOf, channelOf } from '../state/registry.ts'
import type { Call, Channel, TrackerState } from '../state/state.ts'
import { areOfOneAccount } from '../state/tenants.ts'
import { decideDirectionByCaller, destination, isFeatureCode } from './direction.ts'
import { isParkedAt } from './parking.ts'

/** The start of a call by its first channel: for how long it waits, and for which other call it is made. */

/** The start of a call by an extension waits that long for a dial to show where it goes. */
const EXTENSION_START_US = 500_000
/**
 * One to a feature code or an occupied parking slot waits that long to turn out to be a pick-up: media may be late, an
 * announcement first.
 */
const JOIN_START_US = 10_000_000
/** A call from a trunk waits that long for the number that was called. */
const TRUNK_START_US = 250_000

/** Starts a call with its first channel, at once or when it is clear where it goes. */
export function startWith(state: TrackerState, call: Call, root: Channel, arrivedUs: number): void {
  decideDirectionByCaller(call, root)
  const waitUs = startWaitUs(root)
  call.startDueUs = waitUs === null ? null : arrivedUs + waitUs
  if (waitUs !== null) call.directionKnown = false
  if (call.accountDueUs === null) relateToOthers(state, call)
}

/** Returns for how long the start of a call waits until it is clear; `null`: it is clear. */
function startWaitUs({ endpoint, dialledNumber }: Channel): number | null {
  const place = destination(dialledNumber)
  if (endpoint.kind === 'external') return place === null ? TRUNK_START_US : null
  return place !== null && isFeatureCode(place) ? JOIN_START_US : EXTENSION_START_US
}

/**
 * Notes what other calls of the same account mean for one that an extension has begun. They are found by numbers, which
 * customers of a shared PBX have in common: so this has to wait until it is known whose the call is.
 */
export function relateToOthers(state: TrackerState, call: Call): void {
  const root = channelOf(state, call.root)
  if (root?.endpoint.kind !== 'extension' || root.originated || call.startDueUs === null) return
  call.parentId ??= callOnHold(state, call, root)
  const place = destination(root.dialledNumber)
  if (place !== null && isParkedAt(state, place, call))
    call.startDueUs = Math.max(call.startDueUs, state.nowUs + JOIN_START_US)
}

/** Returns the id of the call that the caller has on hold: it makes this one for that. */
function callOnHold(state: TrackerState, call: Call, { endpoint }: Channel): string | null {
  const holding = [...state.onHold].flatMap((id) => channelOf(state, id) ?? [])
  const own = holding.findLast((one) => {
    const other = callOf(state, one)
    if (other === undefined || other === call || !areOfOneAccount(other, call)) return false
    return one.endpoint.kind === 'extension' && one.endpoint.number === endpoint.number
  })
  return own?.callId ?? null
}
