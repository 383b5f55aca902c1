import { destination } from '../facts/places.ts'
import { callOf, channelOf } from '../state/registry.ts'
import type { Call, Channel, TrackerState } from '../state/state.ts'
import { areOfOneAccount } from '../state/tenants.ts'
import { noteUnseen } from '../state/unseen.ts'
import { relate } from './consultations.ts'
import { beginWithCaller, beginWithoutCaller, isFeatureCode, isInternalNumber } from './direction.ts'
import { isParkedAt } from './parking.ts'

/** The start of a call by its first channel: how long it waits, and which other call it is made for. */

/** How long the start of an extension's call waits for a dial that shows its destination. */
const EXTENSION_START_US = 500_000
/**
 * How long it waits if the dialled number is an outside one: only the dial shows it without the access code, and the
 * look-ups of a dialplan, or a busy PBX, delay that dial.
 */
const OUTBOUND_START_US = 3_000_000
/**
 * How long a call to a feature code or an occupied parking slot waits to turn out as a pick-up: media may be late, and
 * an announcement may come first.
 */
const JOIN_START_US = 10_000_000
/** How long a call from a trunk waits for the called number. */
const TRUNK_START_US = 250_000

/**
 * How long the start of a call waits whose agent is rung, and sees only the agent's own number, for the dial that shows
 * the called party.
 */
const SHOWN_LATER_US = 5_000_000
/** How long a call whose caller was not seen waits for the list that shows the caller, unless a phone rings in it. */
const UNSEEN_CALLER_US = 5_000_000
/** How long a phone that the PBX rings for a page waits for the conference that shows the pager. */
const PAGE_US = 5_000_000

/** Delays the start of a page until the pager is known. */
export function awaitPager(state: TrackerState, call: Call): void {
  call.startDueUs = state.nowUs + PAGE_US
}

/** Delays the start of a call in which the PBX rang the agent until the called party is known. */
export function awaitShown(state: TrackerState, call: Call): void {
  if (call.to.number === null) call.startDueUs = state.nowUs + SHOWN_LATER_US
}

/** Starts a call whose called party will not become known. */
export function startNow(state: TrackerState, call: Call): void {
  call.startDueUs = state.nowUs
}

/** Starts a call with its first channel: at once, or when its destination is clear. */
export function startWith(state: TrackerState, call: Call, root: Channel, arrivedUs: number): void {
  beginWithCaller(call, root)
  const waitUs = startWaitUs(root)
  call.startDueUs = waitUs === null ? null : arrivedUs + waitUs
  if (call.accountDueUs === null) relateToOthers(state, call)
}

/** Begins a call whose caller was not seen with a party that is rung in it. */
export function startWithoutCaller(call: Call, rung: Channel, arrivedUs: number): void {
  noteUnseen(call)
  beginWithoutCaller(call, rung)
  call.startDueUs = arrivedUs + UNSEEN_CALLER_US
}

/** Returns how long the start of a call waits for a clear destination; `null` if it is clear. */
function startWaitUs({ endpoint, dialledNumber }: Channel): number | null {
  const place = destination(dialledNumber)
  if (endpoint.kind === 'external') return place === null ? TRUNK_START_US : null
  if (place === null) return EXTENSION_START_US
  if (isFeatureCode(place)) return JOIN_START_US
  return isInternalNumber(place) ? EXTENSION_START_US : OUTBOUND_START_US
}

/**
 * Relates an extension's new call to other calls of the same account. They are found by numbers, which customers of a
 * shared PBX have in common, so this waits until the account is decided.
 */
export function relateToOthers(state: TrackerState, call: Call): void {
  const root = channelOf(state, call.root)
  if (root?.endpoint.kind !== 'extension' || root.originated || call.startDueUs === null) return
  relate(call, callOnHold(state, call, root))
  const place = destination(root.dialledNumber)
  if (place !== null && isParkedAt(state, place, call))
    call.startDueUs = Math.max(call.startDueUs, state.nowUs + JOIN_START_US)
}

/** Returns the id of the call that the caller has on hold: this call is a consultation for it. */
function callOnHold(state: TrackerState, call: Call, { endpoint }: Channel): string | null {
  const holding = [...state.onHold].flatMap((id) => channelOf(state, id) ?? [])
  const own = holding.findLast((one) => {
    const other = callOf(state, one)
    if (other === undefined || other === call || !areOfOneAccount(other, call)) return false
    return one.endpoint.kind === 'extension' && one.endpoint.number === endpoint.number
  })
  return own?.callId ?? null
}
