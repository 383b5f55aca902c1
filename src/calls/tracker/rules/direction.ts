import type { Direction } from '../../../events/enums.ts'
import type { Endpoint } from '../../signal.ts'
import { learnEndpoint, withLearned } from '../facts/endpoints.ts'
import { destination } from '../facts/places.ts'
import { callOf, channelOf } from '../state/registry.ts'
import {
  ANONYMOUS,
  type Call,
  type Channel,
  isPartyStage,
  isVirtual,
  type Party,
  partyOf,
  partyOfNumber,
  type TrackerState,
} from '../state/state.ts'
import { originatedHalf } from './dial-origin.ts'

/**
 * The direction of a call, its caller (`root`, `from`) and its called party (`to`, `did`). Only this file writes them:
 * a call begins with its caller, with a party that the PBX rings by itself, with a called party alone, or as a
 * consultation; until the direction is known, dials change it.
 */

/** Returns whether a number may be one of the PBX's own, as a guess: at most six digits, a name, or a feature code. */
export const isInternalNumber = (number: string): boolean => OWN_NUMBER.test(number) || isFeatureCode(number)

const OWN_NUMBER = /^(\d{1,6}|[a-z][^\d]*\d{0,6}[^\d]*)$/i

/** Returns whether a number may be a feature code: a pick-up, a retrieval or another service of the PBX. */
export const isFeatureCode = (number: string): boolean => /^[*#]/.test(number)

/** Sets the direction of a call. After it was emitted, only an originated call changes it, when it dials. */
export function setDirection(call: Call, direction: Direction): void {
  if (!call.emitted || (call.clickToCall && call.direction !== 'inbound')) call.direction = direction
  if (call.direction !== 'inbound') call.did = null
}

/**
 * Begins a call with its caller. The direction is known if that is a trunk's channel and shows the called number; the
 * direction of an extension's call is a guess until it dials.
 */
export function beginWithCaller(call: Call, root: Channel): void {
  call.root = root.id
  const dialled = destination(root.dialledNumber)
  // The dial of an originated channel shows its purpose.
  if (root.originated) return
  call.from = partyOf(root.endpoint)
  if (dialled !== null) call.to = partyOfNumber(dialled)
  const isInbound = root.endpoint.kind === 'external'
  call.directionKnown = isInbound && dialled !== null
  const isInternal = dialled === null || isInternalNumber(dialled)
  setDirection(call, isInbound ? 'inbound' : isInternal ? 'internal' : 'outbound')
  // A call that was emitted keeps its direction.
  if (call.direction === 'inbound') call.did = dialled
}

/** Notes the extension that the dialplan chose for a caller who dialled no number. */
export function noteChosen(call: Call, place: string): void {
  call.to = partyOfNumber(place)
}

/** Begins a consultation: the number that was dialled, if that is not the rung party's, and the party that asks. */
export function beginConsultation(call: Call, asking: Channel, dialled: string | null, rung: Party | null): void {
  call.root = null
  call.from = partyOf(asking.endpoint)
  const isRung = rung !== null && (dialled === null || dialled === rung.number)
  call.to = isRung ? rung : dialled === null ? ANONYMOUS : partyOfNumber(dialled)
}

/** Gives a call of virtual channels only the beginning of the call that is merged into it. */
export function inheritBeginning(from: Call, into: Call): void {
  if (into.direction !== null) return
  into.direction = from.direction
  into.directionKnown = from.directionKnown
  into.root = from.root
  into.from = from.from
  into.to = from.to
  into.did = from.did
}

/** Notes the number and name that the PBX has learned of a caller, where none was known before. */
export function learnCaller(call: Call | undefined, caller: Channel, learned: Pick<Endpoint, 'number' | 'name'>): void {
  learnEndpoint(caller, learned)
  const isAgent = call?.from.extension !== null && call?.from.extension === caller.endpoint.number
  if (call?.root === caller.id && (isAgent || !call.clickToCall)) call.from = withLearned(call.from, learned)
}

/** Names the extensions that call and are called, where only their own stages have a name. */
export function nameParties(call: Call): void {
  const nameOf = ({ extension, name }: Party): string | null =>
    name ?? call.stages.find((stage) => stage.kind === 'user' && stage.target === extension && stage.name)?.name ?? null
  for (const side of ['from', 'to'] as const) {
    const party = call[side]
    if (party.extension !== null && party.name === null) call[side] = { ...party, name: nameOf(party) }
  }
}

/** Notes the extension that the caller of an internal call dialled: the PBX may forward the call before it rings. */
export function noteCalledExtension(call: Call | undefined, caller: Channel, endpoint: Endpoint): void {
  const { number, name } = endpoint
  caller.calls = endpoint
  if (call?.root !== caller.id || call.direction !== 'internal' || call.to.number !== number) return
  call.to = { number, name: call.to.name ?? name, extension: number }
}

/** Begins a call in which the PBX rang a party by itself: the agent, or the outside party (a dialler, a call-back). */
export function beginClickToCall(call: Call, root: Channel): void {
  call.clickToCall = true
  call.root ??= root.id
  if (root.endpoint.kind !== 'extension') call.customerFirst = true
  if (isVirtual(root) || call.directionKnown || call.emitted) return
  const other = shownTo(root)
  if (root.endpoint.kind === 'external') {
    setDirection(call, 'outbound')
    call.from = other
    call.to = partyOf(root.endpoint)
    return
  }
  setDirection(call, other.number === null || isInternalNumber(other.number) ? 'internal' : 'outbound')
  call.from = partyOf(root.endpoint)
  call.to = other
}

/** Returns the party with the number that the rung party sees, unless that is its own number. */
function shownTo(rung: Channel | undefined): Party {
  const shown = destination(rung?.shown ?? null)
  if (shown === null || shown === rung?.endpoint.number) return ANONYMOUS
  return rung?.calls?.number === shown ? partyOf(rung.calls) : partyOfNumber(shown)
}

/** Notes which of the devices that were rung for the agent answered: that one makes the call. */
export function noteAgentAnswered(call: Call, leg: Channel): void {
  call.root = leg.id
  if (call.clickToCall) call.from = partyOf(leg.endpoint)
}

/** Begins a call without a caller: the PBX calls a party into a conference or to an announcement. */
export function beginCallOfNobody(call: Call, dest: Channel): void {
  beginWithCallee(call, dest, null)
}

/**
 * Begins a call with a party that is rung in it, for a caller that was not seen. The PBX sets the numbers of its own
 * phones, so a caller whose events cannot be read is an outside one.
 */
export function beginWithoutCaller(call: Call, rung: Channel): void {
  setDirection(call, rung.endpoint.kind === 'external' ? 'outbound' : 'inbound')
  call.to = partyOf(rung.endpoint)
}

/** Begins a call that was found with its called party alone, which stands for the caller. */
export function beginUnseen(call: Call, callee: Channel): void {
  beginWithCallee(call, callee, callee.id)
}

function beginWithCallee(call: Call, dest: Channel, root: string | null): void {
  call.root = root
  setDirection(call, dest.endpoint.kind === 'external' ? 'outbound' : 'internal')
  call.to = partyOf(dest.endpoint)
  call.directionKnown = true
}

/**
 * Decides the direction by a dial. After it was emitted, the called party may still be open; the direction too, if the
 * call is originated.
 */
export function decideDirectionByDial(state: TrackerState, call: Call, dest: Channel, party: Channel | null): void {
  if (call.customerFirst) {
    nameAgent(state, call)
    return
  }
  if (call.directionKnown) return
  if (isFromOutside(state, call)) {
    // The extension that was reached stands for a number that was not dialled.
    if (call.did === null && isNumberOf(call.to, dest)) call.to = partyOf(dest.endpoint)
    call.directionKnown = true
    return
  }
  if (call.emitted && !call.clickToCall) {
    if (party?.id !== call.root) return
    const dialled = call.to.number
    if (call.direction === 'outbound' && dest.endpoint.kind === 'external') call.to = partyOf(dest.endpoint)
    else if (call.direction === 'internal' && isByFeatureCode(dialled, dest)) call.to = partyOf(dest.endpoint)
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
  // The agent's channel dials the other party of click-to-call; otherwise the caller dials.
  const dialler = call.clickToCall ? party : (channelOf(state, call.root) ?? party)
  if (callOf(state, dialler) !== call) return
  const dialled = call.clickToCall
    ? (destination(dialler.dialledNumber) ?? dialledThrough(state, dialler))
    : (call.to.number ?? destination(dialler.dialledNumber))
  // The called extension is known: it forwards to the outside.
  const isOfExtension = dialled !== null && call.to.extension === dialled
  if (dest.endpoint.kind === 'external' && !isOfExtension && !isForward(dest, dialled, party)) {
    setDirection(call, 'outbound')
    call.to = partyOf(dest.endpoint)
  } else {
    setDirection(call, 'internal')
    const number = dialled ?? dest.endpoint.number
    if (number !== null) {
      const isParty =
        number === dest.endpoint.number || isByFeatureCode(number, dest) || isSentOn(number, dialler, dest)
      if (isParty)
        call.to = { ...partyOf(dest.endpoint), name: dest.endpoint.name ?? nameAt(call, dest.endpoint.number) }
      else if (call.to.number !== number) call.to = partyOfNumber(number)
    }
  }
  call.directionKnown = true
}

/** Returns whether a call came from a trunk: whom it dials says nothing about the number that was called. */
function isFromOutside(state: TrackerState, call: Call): boolean {
  const root = channelOf(state, call.root)
  return root?.endpoint.kind === 'external' && root.dial === null && !root.originated && !call.clickToCall
}

const isNumberOf = ({ number }: Party, { endpoint }: Channel): boolean =>
  endpoint.kind === 'extension' && number !== null && number === endpoint.number

/** Returns the name of the called party if it has a number. */
const nameAt = ({ to }: Call, number: string | null): string | null => (to.number === number ? to.name : null)

/** Decides the direction of a call that only lets the party that the PBX rang listen in on another one. */
export function decideDirectionByListening(call: Call, listener: Channel): void {
  if (!call.clickToCall || call.customerFirst || call.root !== listener.id || call.directionKnown) return
  setDirection(call, 'internal')
  call.directionKnown = true
}

/** Returns the extension that the PBX dials for an agent whom it rang through a virtual channel, if it is known. */
function dialledThrough(state: TrackerState, agent: Channel): string | null {
  const place = destination(originatedHalf(state, agent)?.dialledNumber ?? null)
  return place === agent.endpoint.number ? null : place
}

/** Returns whether a number is a feature code followed by that phone's number (an intercom): it calls that phone. */
export function isByFeatureCode(dialled: string | null, { endpoint: { kind, number } }: Channel): boolean {
  return (
    dialled !== null && isFeatureCode(dialled) && kind === 'extension' && number !== null && dialled.endsWith(number)
  )
}

/**
 * Notes that an intercom rings: a number that ends with that phone's, dialled with a prefix, called the phone. The call
 * began with the number as it was dialled.
 */
export function noteIntercom(call: Call, { endpoint, dial }: Channel): void {
  const { number } = endpoint
  if (dial?.intercom !== true || dial.source !== call.root || call.direction !== 'internal' || number === null) return
  if (call.to.extension === null && call.to.number?.endsWith(number) === true) call.to = partyOf(endpoint)
}

/** Returns whether a feature code (redial, a speed dial) sent its caller on to the party that is dialled. */
const isSentOn = (dialled: string, dialler: Channel, { endpoint }: Channel): boolean =>
  isFeatureCode(dialled) && endpoint.number !== null && destination(dialler.dialledNumber) === endpoint.number

/**
 * Names the caller of a call that began with its outside party: the agent who answered first, else the only agent who
 * is rung, else the number shown.
 */
export function nameAgent(state: TrackerState, call: Call): void {
  if (!call.customerFirst) return
  const agents = call.stages.filter((stage) => isPartyStage(stage) && stage.source !== null)
  const [first] = agents
    .filter(({ answered }) => answered)
    .toSorted((a, b) => (a.answeredUs ?? 0) - (b.answeredUs ?? 0))
  const open = agents.filter(({ ended }) => !ended)
  const [rung, ...others] = open.length > 0 ? open : agents.slice(-1)
  // Before it rings it may turn out to be the first of several.
  const isOne = others.length === 0 && rung?.parentId === null && (rung.rang || rung.ended)
  const agent = first ?? (isOne ? rung : undefined)
  const leg = channelOf(
    state,
    agent?.legs.find((id) => (channelOf(state, id)?.dial?.answeredUs ?? null) !== null) ?? agent?.legs[0] ?? null,
  )
  if (leg !== undefined) call.from = partyOf(leg.endpoint)
  else call.from = shownTo(channelOf(state, call.root))
}

/** A called extension forwards to the outside: the call stays internal. */
function isForward(dest: Channel, dialled: string | null, party: Channel): boolean {
  const sent = dest.endpoint.number
  if (dialled === null || sent === null) return false
  if (dest.dial?.forwarded === true) return isInternalNumber(dialled)
  return (
    dest.dial?.source !== party.id && isInternalNumber(dialled) && !dialled.endsWith(sent) && !sent.endsWith(dialled)
  )
}
