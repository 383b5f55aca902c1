import type { StageResult } from '../../../events/enums.ts'
import type { At, ChannelSignal, Endpoint } from '../../signal.ts'
import { type DialEnd, noteDialAnswered, noteDialled, noteDialOver } from '../facts/dials.ts'
import { noteDialledEndpoint } from '../facts/endpoints.ts'
import { destination } from '../facts/places.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  heardBy,
  markChanged,
  markIfLate,
  markUnplaced,
  placeInCall,
  wakeConsultations,
} from '../state/registry.ts'
import { addStage, closeStage, noteFailed, ringFor } from '../state/stage-moves.ts'
import { type Call, type Channel, type Dial, isVirtual, partyOf, type TrackerState } from '../state/state.ts'
import { isStill } from '../state/waits.ts'
import { awaitPager, awaitShown } from './call-start.ts'
import { consultation } from './consultations.ts'
import { isRungThroughSame, originatedHalf, originOf, partyFor } from './dial-origin.ts'
import { assignStage, ringAgain, rungBefore } from './dial-stages.ts'
import { beginCallOfNobody, beginClickToCall, decideDirectionByDial, isInternalNumber } from './direction.ts'
import { noteGoesOn } from './queues.ts'
import { placeRecall } from './transfer-recall.ts'

/**
 * Dials, from begin to end. A dial is one attempt at one channel; a stage is what people see: one for each party,
 * whatever the number of devices that ring and of virtual halves between the caller and the phone.
 */

/** A dial from a channel in a conversation is a consultation, unless the conversation ends within this time. */
const CONSULTATION_SETTLING_US = 150_000

/** Notes a dial on the rung channel, and places it if its origin is known. A channel is dialled once. */
export function beginDial(
  state: TrackerState,
  at: At,
  signal: Extract<ChannelSignal, { kind: 'dial_begin' }>,
  dest: Channel,
): void {
  if (dest.dial !== null && dest.dial.beganUs !== null) return
  const { source, endpoint, shown } = signal
  noteDialledEndpoint(dest, endpoint)
  dest.shown = shown
  noteDialled(state, at, dest, signal)
  const call = callOf(state, dest) ?? callOf(state, channelOf(state, source))
  if (call !== undefined && source !== null) noteGoesOn(call, source)
  if (call !== undefined && dest.callId === null) placeInCall(state, dest, call)
  markChanged(state, call)
  if (isVirtual(dest) && call !== undefined) findCallers(state, call)
  placeDial(state, dest)
}

/** Notes for whom parties ring that were dialled through virtual halves, if those were reported as dialled too late. */
function findCallers(state: TrackerState, call: Call): void {
  for (const stage of call.stages) {
    const leg = channelOf(state, stage.legs[0] ?? null)
    if (stage.source !== null || stage.own || stage.ended || leg?.dial == null) continue
    const origin = originOf(state, leg.dial)
    if (origin.kind !== 'party' || origin.consulting || origin.channel === leg) continue
    ringFor(stage, origin.channel.id)
    markUnplaced(state, call)
  }
}

/** Gives a dial its call and stage, once the party for which it is made is known. */
export function placeDial(state: TrackerState, dest: Channel): void {
  const dial = dest.dial
  if (dial === null || dial.stageId !== null || isVirtual(dest)) return
  const origin = originOf(state, dial)
  const isSettling = () => isStill(state, dial.beganArrivedUs + CONSULTATION_SETTLING_US)
  if (origin.kind === 'unknown') {
    if (isSettling()) return
    const call = callOf(state, dest)
    // An originated half rings the party: there is no party behind it.
    if (call !== undefined && call.root === null && call.direction === null) beginCallOfNobody(call, dest)
    assignStage(state, call, dest, { party: null })
    // The other half rings the agent, who has not answered yet: this party is the one that the agent calls.
    const agent = channelOf(state, call?.root ?? null)
    if (call?.clickToCall === true && agent !== undefined) decideDirectionByDial(state, call, dest, agent)
    return
  }
  if (origin.kind === 'nobody') {
    // An extension's outside number is rung beside its phone, which shows the agent.
    if (isOutsideNumberOf(originatedHalf(state, dest), dest) && isSettling()) return
    if (!placeRecall(state, dest)) placeOriginated(state, dest, dial)
    return
  }
  const party = origin.channel
  const first = callOf(state, party)
  if (first === undefined) return
  const others = party.spoke ? heardBy(state, party).filter((other) => other.id !== dest.id) : []
  const talks = others.length > 0
  const busy = origin.consulting || (talks && !origin.replacing)
  if (busy && !origin.consulting && isSettling()) return
  const to = { dialled: origin.through?.dialledNumber ?? null, party: partyOf(dest.endpoint) }
  const asked = { through: origin.through, to, startedUs: dial.beganUs }
  // The transferer has left, although the end of the bridge was not seen.
  const isAsking = origin.consulting || (busy && others.some(({ leftUs }) => leftUs === null))
  const call = isAsking ? consultation(state, party, first, asked) : first
  placeInCall(state, dest, call)
  assignStage(state, call, dest, { party })
}

/** Places a dial that the PBX makes by itself, for no existing call. */
function placeOriginated(state: TrackerState, dest: Channel, dial: Dial): void {
  const call = callOf(state, dest) ?? callByLinkedId(state, dest.linkedId)
  if (call === undefined) return
  placeInCall(state, dest, call)
  const root = channelOf(state, call.root)
  if (root !== undefined && root !== dest) {
    const isRootRung = root.dial !== null && originOf(state, root.dial).kind === 'nobody'
    const isTwin = isRootRung && root.endpoint.number === dest.endpoint.number
    // Several phones are rung for the agent: the one that answers makes the call.
    const isRival = call.clickToCall && !call.customerFirst && isRootRung && root.upUs === null
    const isExtension = dest.endpoint.kind === 'extension'
    // An outside number behind the half that rings the agent is the agent's own, too (a follow-me).
    const isOwn = isExtension ? isTwin || isRival : isRival && isRungThroughSame(state, root, dest)
    assignStage(state, call, dest, { party: isTwin || isOwn ? null : root, own: isOwn })
    return
  }
  if (dial.paged) {
    beginCallOfNobody(call, dest)
    call.paged = true
    awaitPager(state, call)
    assignStage(state, call, dest, { party: null })
    return
  }
  if (dest.dial?.forConference === true) {
    beginCallOfNobody(call, dest)
    assignStage(state, call, dest, { party: null })
    return
  }
  const isAgent = dest.endpoint.kind === 'extension'
  beginClickToCall(call, dest)
  awaitShown(state, call)
  assignStage(state, call, dest, { party: null, own: isAgent })
}

/** Returns whether a virtual channel to an extension rings an outside party. */
const isOutsideNumberOf = (half: Channel | undefined, { endpoint }: Channel): boolean =>
  endpoint.kind === 'external' && isInternalNumber(destination(half?.dialledNumber ?? null) ?? '')

/** Notes the end of a dial: an answer, or else the first reported result. */
export function endDial(state: TrackerState, at: At, dest: Channel, end: DialEnd): void {
  const dial = dest.dial
  if (dial === null) return
  markIfLate(state, callOf(state, dest), at.atUs)
  if (end.result !== 'answered') noteDialOver(state, at, dest, end)
  else if (isGivenUp(channelOf(state, dial.source)))
    noteDialOver(state, at, dest, { result: 'cancelled', forwardedTo: null })
  else noteDialAnswered(state, dest, at.atUs)
  const call = callOf(state, dest)
  markChanged(state, call)
  if (call !== undefined && isVirtual(dest)) wakeConsultations(state, call)
}

/**
 * Returns whether a caller hung up before being connected. A party that picks up meanwhile, and is asked to confirm or
 * hears an announcement first, has not answered.
 */
const isGivenUp = (caller: Channel | undefined): boolean =>
  caller !== undefined && !isVirtual(caller) && caller.hungUpItself && caller.upUs === null

/** Ends a dial without a channel: only its end is emitted. */
export function failDial(
  state: TrackerState,
  at: At,
  source: Channel,
  { endpoint, result }: { endpoint: Endpoint; result: StageResult },
): void {
  const call = callOf(state, source)
  if (call === undefined) return
  const party = partyFor(state, source)
  const kind = endpoint.kind === 'external' ? ('external' as const) : ('user' as const)
  const of = { kind, target: endpoint.number, source: party?.id ?? null }
  const before = rungBefore(state, call, of)
  const isOver = before?.emitted.ended === true
  if (before !== undefined && isOver) ringAgain(state, call, before, at.atUs)
  const stage =
    before !== undefined && isOver ? before : addStage(state, call, { ...of, name: endpoint.name, startedUs: at.atUs })
  noteFailed(state, stage, party === undefined ? undefined : source)
  closeStage(stage, at.atUs, result)
  if (party !== undefined) {
    markUnplaced(state, call)
    const dest: Channel = { ...source, id: stage.id, endpoint, dial: null }
    decideDirectionByDial(state, call, dest, party)
  }
  markChanged(state, call)
}
