import type { Direction } from '../../lib/call-enums.ts'
import { callOf, channelOf } from './registry.ts'
import type { Call, Channel, TrackerState } from './state.ts'
import { ANONYMOUS, isVirtual, partyOf, partyOfNumber } from './state.ts'

/** The direction of a call, its caller and its called party. */

/**
 * Returns whether a number may be one of the PBX's own, where nothing better is known: digits, at most six, or a
 * feature code.
 */
export const isInternalNumber = (number: string): boolean => /^\d{1,6}$/.test(number) || isFeatureCode(number)

/** Returns whether a number may be a pick-up, a retrieval or another service of the PBX. */
export const isFeatureCode = (number: string): boolean => /^[*#]/.test(number)

/** Not destinations but places in a dialplan (Asterisk's s, i, t, h, failed). */
const isPlace = (dialled: string): boolean => /^(s|i|t|h|failed|)$/.test(dialled)

/** Returns the number that was dialled; `null` if it is a place in a dialplan. */
export const destination = (dialled: string | null): string | null =>
  dialled === null || isPlace(dialled) ? null : dialled

/** Sets the direction of a call, unless it was emitted: then it does not change any more. */
export function setDirection(call: Call, direction: Direction): void {
  if (!call.emitted) call.direction = direction
}

/**
 * Decides the direction by the first channel of a call: for good if it came in by a trunk, as a guess until a dial if
 * it is an extension's.
 */
export function decideDirectionByCaller(call: Call, root: Channel): void {
  const dialled = destination(root.dialledNumber)
  // An originated channel shows its purpose when it is dialled.
  if (root.originated) return
  call.from = partyOf(root.endpoint)
  if (root.endpoint.kind === 'external') {
    setDirection(call, 'inbound')
    call.directionKnown = true
    call.did = dialled
    call.to = dialled === null ? ANONYMOUS : partyOfNumber(dialled)
    return
  }
  setDirection(call, dialled === null || isInternalNumber(dialled) ? 'internal' : 'outbound')
  call.to = dialled === null ? ANONYMOUS : partyOfNumber(dialled)
}

/**
 * Begins a call in which the PBX rang one of the parties by itself: the agent, or (a dialler, a call-back) the outside
 * party.
 */
export function beginClickToCall(call: Call, root: Channel): void {
  if (isVirtual(root) || call.directionKnown || call.emitted) return
  call.clickToCall = true
  const shown = root.shown
  const other = shown === null || shown === root.endpoint.number ? ANONYMOUS : partyOfNumber(shown)
  if (root.endpoint.kind === 'external') {
    setDirection(call, 'outbound')
    call.from = other
    call.to = partyOf(root.endpoint)
    return
  }
  setDirection(call, other.number !== null && isInternalNumber(other.number) ? 'internal' : 'outbound')
  call.from = partyOf(root.endpoint)
  call.to = other
}

/** Begins a call in which a conference calls a party in: nobody called. */
export function beginConferenceCall(call: Call, dest: Channel): void {
  call.root = null
  setDirection(call, dest.endpoint.kind === 'external' ? 'outbound' : 'internal')
  call.to = partyOf(dest.endpoint)
  call.directionKnown = true
}

/**
 * Decides the direction by a dial. Of a call that was emitted only the party that a click-to-call reaches is still
 * open.
 */
export function decideDirectionByDial(state: TrackerState, call: Call, dest: Channel, party: Channel | null): void {
  if (call.directionKnown) return
  if (call.emitted && !call.clickToCall) {
    call.directionKnown = true
    return
  }
  if (call.consultedBy !== null) {
    setDirection(call, dest.endpoint.kind === 'external' ? 'outbound' : 'internal')
    if (call.direction === 'outbound') call.to = partyOf(dest.endpoint)
    call.directionKnown = true
    return
  }
  if (party === null) return
  if (call.customerFirst) {
    if (party.id !== call.root) return
    call.from = partyOf(dest.endpoint)
    call.directionKnown = true
    return
  }
  // In click-to-call the other party is whom the agent's channel dials; else whom the caller dials.
  const dialler = call.clickToCall ? party : (channelOf(state, call.root) ?? party)
  if (callOf(state, dialler) !== call) return
  const dialled = call.clickToCall
    ? destination(dialler.dialledNumber)
    : (call.to.number ?? destination(dialler.dialledNumber))
  if (dest.endpoint.kind === 'external' && !isForward(dest, dialled, party)) {
    setDirection(call, 'outbound')
    call.to = partyOf(dest.endpoint)
  } else {
    setDirection(call, 'internal')
    const number = dialled ?? dest.endpoint.number
    if (number !== null) {
      call.to = number === dest.endpoint.number ? partyOf(dest.endpoint) : partyOfNumber(number)
    }
  }
  call.directionKnown = true
}

/** An extension was called and forwards to the outside: the call stays internal. */
function isForward(dest: Channel, dialled: string | null, party: Channel): boolean {
  const sent = dest.endpoint.number
  if (dialled === null || sent === null) return false
  return (
    dest.dial?.source !== party.id && isInternalNumber(dialled) && !dialled.endsWith(sent) && !sent.endsWith(dialled)
  )
}
