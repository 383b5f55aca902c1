import type { At, SnapshotChannel } from '../../signal.ts'
import { noteFoundAnswered } from '../facts/dials.ts'
import { destination } from '../facts/places.ts'
import { startNow } from '../rules/call-start.ts'
import { endUnseen } from '../rules/channels.ts'
import { isFeatureCode } from '../rules/direction.ts'
import { expectLink, expectUnseenTransfer, joinUnseenTransfer } from '../rules/linked-calls.ts'
import { isOver, mayBecomeOne } from '../rules/merges.ts'
import { markLeft, talkedWith } from '../state/conversations.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  channelsOf,
  heardBy,
  legsOf,
  markChanged,
  stageOf,
} from '../state/registry.ts'
import { type Call, type Channel, isUp, isVirtual, type TrackerState } from '../state/state.ts'
import { noteUnseen } from '../state/unseen.ts'
import type { Listing } from './listing.ts'

/** Transfers and bridges that were missed: a snapshot shows where the parties are now. */

/**
 * Joins two calls if a party now talks with a party of the other call, and the PBX counts it to that call: a transfer
 * or bridge was missed.
 */
export function joinUnseen(state: TrackerState, row: SnapshotChannel): void {
  const channel = channelOf(state, row.id)
  const own = callOf(state, channel)
  if (channel === undefined || own === undefined) return
  const other = callByLinkedId(state, row.linkedId)
  if (isUp(channel) && !isVirtual(channel))
    for (const heard of heardBy(state, channel)) if (!isVirtual(heard)) expectUnseenTransfer(state, channel, heard)
  if (other === undefined || own === other) return
  if (!isUp(channel) || isVirtual(channel) || isOver(own) || isOver(other)) return
  // A call that was settling because it may be a pick-up was one, wherever its channel is now.
  if (!own.emitted && own.root === channel.id && own.stages.length === 0) {
    expectLink(state, channel, other, true)
    return
  }
  // A party that asks in a consultation belongs to the other call too, and talks with this party.
  const isJoined = heardBy(state, channel).some((one) => callOf(state, one) === other && one.id !== own.consultedBy)
  if (isJoined) expectLink(state, channel, other, true)
}

/**
 * Returns the call that a listed caller picked up in a lost connection, although its caller has left since: the
 * list names the party with which the feature code connected it.
 */
export function pickedUpBy(state: TrackerState, row: SnapshotChannel): Call | undefined {
  if (row.callee || row.answeredBy === undefined || !isFeatureCode(row.dialledNumber ?? '')) return undefined
  const isIts = (call: Call): boolean => {
    const root = channelOf(state, call.root)
    const isGone = root !== undefined && isUp(root) && root.missingUs !== null
    return isGone && root.endpoint.number === row.answeredBy && call.answeredUs === null && !isOver(call)
  }
  const [call, ...others] = [...state.calls.values()].filter(isIts)
  return others.length === 0 ? call : undefined
}

/**
 * Joins the call of a caller from outside that a list shows for the first time with the call of the party with which it
 * talks: a transfer was missed.
 */
export function joinFound(state: TrackerState, row: SnapshotChannel): void {
  const channel = channelOf(state, row.id)
  const own = callOf(state, channel)
  if (channel === undefined || own?.root !== channel.id || channel.endpoint.kind !== 'external') return
  if (row.activity?.kind === 'conference' || channel.conference !== null) return
  const other = heardBy(state, channel).flatMap((one) => (isVirtual(one) ? [] : (callOf(state, one) ?? [])))[0]
  if (other === undefined || other === own || isOver(other)) return
  startNow(state, own)
  expectLink(state, channel, other, true)
}

/**
 * Joins a consultation with the call for which it was made, if a party of that call now stands where the party that
 * asked stood: in a queue, menu or conference to which it was transferred. With a pause after each call and row.
 */
export function* joinReplaced(state: TrackerState, rows: readonly SnapshotChannel[]): Generator<void> {
  const left = new Map<string, Call[]>()
  for (const call of state.calls.values()) {
    yield
    const asking = channelOf(state, call.root)
    if (call.parentId === null || isOver(call) || asking === undefined || asking.missingUs === null) continue
    left.set(call.parentId, [...(left.get(call.parentId) ?? []), call])
  }
  if (left.size === 0) return
  for (const row of rows) {
    yield
    const channel = channelOf(state, row.id)
    const first = callOf(state, channel)
    const place = destination(row.place ?? null)
    if (channel === undefined || first === undefined || isOver(first) || row.callee || place === null) continue
    const isReplaced = ({ root }: Call): boolean =>
      root === row.insteadOf || (place !== channel.dialledNumber && channelOf(state, root)?.dialledNumber === place)
    const consultation = left.get(first.id)?.find(isReplaced)
    if (consultation === undefined || !mayBecomeOne(consultation, first)) continue
    joinUnseenTransfer(state, consultation, first)
  }
}

/**
 * Notes that parties which a snapshot lacks have left, before the next snapshot confirms it: their partner in the
 * conversation, or the caller for whom they rang, is elsewhere. Pauses after each channel.
 */
export function* markWhoLeft(state: TrackerState, at: At, { byId }: Listing): Generator<void> {
  for (const channel of state.channels.values()) {
    yield
    if (channel.missingArrivedUs !== at.arrivedUs || !isUp(channel) || isVirtual(channel)) continue
    const hasAnswered = hasAnsweredUnseen(state, channel, byId)
    if (hasAnswered) noteFoundAnswered(state, channel)
    if (hasAnswered || hasLostTalkers(state, channel)) markLeft(channel, at.atUs)
    else if (isRungNoMore(state, at, channel)) {
      noteCallerUp(state, at, channel)
      endUnseen(state, channel, at)
    } else continue
    markChanged(state, callOf(state, channel))
  }
}

/** Returns whether a phone that rang answered the caller unseen, who is elsewhere now: the list names who answered. */
function hasAnsweredUnseen(state: TrackerState, { dial, callId, endpoint }: Channel, byId: Listing['byId']): boolean {
  const call = state.calls.get(callId ?? '')
  if (call === undefined || dial === null || dial.answeredUs !== null || dial.endedUs !== null) return false
  const source = stageOf(call, dial.stageId)?.source ?? ''
  return endpoint.number !== null && byId.get(source)?.answeredBy === endpoint.number
}

/** Notes that somebody answered unseen, if the caller of a phone that rings no more has come up meanwhile. */
function noteCallerUp(state: TrackerState, at: At, { dial, callId }: Channel): void {
  const call = state.calls.get(callId ?? '')
  if (call === undefined) return
  const caller = channelOf(state, stageOf(call, dial?.stageId ?? null)?.source ?? null)
  if (caller?.upUs === at.atUs) noteUnseen(call)
}

const isListed = (one: Channel): boolean => isUp(one) && one.missingUs === null

/** Returns whether a party with which a channel talked is up, and nobody is where they talked. */
function hasLostTalkers(state: TrackerState, channel: Channel): boolean {
  const beside = channel.bridge === null ? [] : (state.bridges.get(channel.bridge) ?? [])
  const isAlone = !beside.flatMap((id) => channelOf(state, id) ?? []).some(isListed)
  return isAlone && [...talkedWith(state, channel), ...answeredUnseen(state, channel)].some(isListed)
}

/** Returns the parties that, by a list, have answered a caller, without a seen conversation. */
function answeredUnseen(state: TrackerState, caller: Channel): Channel[] {
  const call = callOf(state, caller)
  if (call === undefined) return []
  return channelsOf(state, call).filter(({ dial }) => dial?.source === caller.id && dial.foundAnswered)
}

/**
 * Returns whether a phone rings anew, or the caller for whom it rang talks now, is at another place of the dialplan, or
 * rings another phone.
 */
function isRungNoMore(state: TrackerState, at: At, { callId, dial }: Channel): boolean {
  if (dial === null || dial.answeredUs !== null) return false
  const call = state.calls.get(callId ?? '')
  const stage = call === undefined ? undefined : stageOf(call, dial.stageId)
  if (stage?.again === true) return true
  const caller = channelOf(state, stage?.source ?? null)
  if (call === undefined || caller === undefined || !isListed(caller)) return false
  return caller.moves.at(-1)?.us === at.atUs || heardBy(state, caller).some(isListed) || ringsAnew(state, call, caller)
}

/** Returns whether a caller rings a party that this snapshot shows for the first time. */
function ringsAnew(state: TrackerState, call: Call, caller: Channel): boolean {
  const isFound = ({ dial }: Channel): boolean => dial?.beganUs === null && dial.beganSeq === state.seq
  return call.stages.some((stage) => stage.source === caller.id && legsOf(state, stage).some(isFound))
}
