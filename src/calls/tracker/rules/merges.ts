import type { CallRecord } from '../../../events/bodies.ts'
import { rfc3339 } from '../../../lib/time.ts'
import { answerCall } from '../state/call-answer.ts'
import { callPayload, keptRecordings, stagesPayload } from '../state/payload.ts'
import {
  channelOf,
  channelsOf,
  claimLinkedId,
  dropCall,
  endConsultation,
  heardBy,
  markChanged,
  markUnplaced,
  placeInCall,
  stageOf,
} from '../state/registry.ts'
import { noteConnected, ringFor } from '../state/stage-moves.ts'
import { type Call, type Channel, isUp, isVirtual, partyOf, type Stage, type TrackerState } from '../state/state.ts'
import { setAccount } from '../state/tenants.ts'
import { isPartial, noteUnseen } from '../state/unseen.ts'
import { place } from './arrange.ts'
import { inheritBeginning } from './direction.ts'
import { moveTransfers } from './due-transfers.ts'
import { closeGroup } from './parent-stages.ts'

/** Calls that become one. The older call survives with its id; open stages of the other go on in it. */

/** Returns whether a call ends inside another: receivers know both, and the transfer names both. */
export const endsInside = (from: Call, into: Call): boolean => from.emitted && from.account === into.account

/** Returns whether receivers know a call, or a call that was merged into it. */
export const isKnown = (call: Call): boolean => call.emitted || call.mergedFrom.length > 0

/**
 * Returns whether two calls may become one. Calls of two accounts never do, since no account may see another's calls; a
 * call that was not emitted goes with the call that it joins.
 */
export const mayBecomeOne = (from: Call, into: Call): boolean =>
  !isKnown(from) || into.accountDueUs !== null || from.account === into.account

/**
 * Merges two calls by an attended transfer, which names both: nothing more is emitted of `from`. If the target was
 * reached `through` a virtual channel, the group behind it is over.
 */
export function mergeTransferred(state: TrackerState, from: Call, into: Call, through: boolean): void {
  if (isOver(from) || isOver(into) || !mayBecomeOne(from, into)) return
  const over = through ? closeGroups(state, from) : []
  if (from.account !== null) state.merged.push({ account: from.account, record: mergedRecord(state, from, into) })
  if (over.length > 0) state.parting.push({ call: from, stages: over })
  moveInto(state, from, into)
  dropCall(state, from)
}

/** Closes the groups of a call in which a member answered: that member's stage goes on by itself. */
function closeGroups(state: TrackerState, from: Call): Stage[] {
  const over = from.stages.filter((group) => {
    if (group.kind !== 'group' || group.ended) return false
    const members = from.stages.filter((stage) => stage.parentId === group.id)
    return members.some((one) => one.answered) && members.every((one) => one.answered || one.ended)
  })
  for (const group of over) {
    const members = from.stages.filter((stage) => stage.parentId === group.id)
    closeGroup(state, group, members, state.atUs)
    for (const member of members) if (!member.ended) place(member, null)
  }
  return over
}

/** Merges two calls in any other way: if `from` was emitted it ends at once, so that no receiver shows it as open. */
export function merge(state: TrackerState, from: Call, into: Call, atUs = state.atUs): void {
  if (from === into || isOver(from) || isOver(into) || !mayBecomeOne(from, into)) return
  joinOwnPhone(state, from, { into, atUs })
  // Open stages go on in the other call, while events of this one show them as they are now.
  const asOfNow = from.stages.map((stage) => ({ ...stage }))
  const ended = from.recordings.filter((one) => one.endedUs !== null)
  from.recordings = from.recordings.filter((one) => one.endedUs === null)
  moveInto(state, from, into)
  if (!from.emitted) {
    into.recordings = [...into.recordings, ...ended]
    dropCall(state, from)
    return
  }
  endConsultation(state, from)
  Object.assign(from, { stages: asOfNow, queues: [], recordings: ended, holds: [] })
  from.mergedInto = { id: into.id, result: null }
  from.endedUs = atUs
  from.endDueUs = state.nowUs
  markChanged(state, from)
}

/** Returns whether the end of a call was emitted, or is about to be. */
export const isOver = (call: Call): boolean => call.ended || call.mergedInto !== null

/** Makes a virtual half and its other half internal parts of a call: they ask nothing. */
export function adopt(state: TrackerState, half: Channel): void {
  for (const one of [half, channelOf(state, half.pair)]) if (one !== undefined) one.adopted = true
}

function moveInto(state: TrackerState, from: Call, into: Call): void {
  if (into.accountDueUs !== null && isKnown(from)) setAccount(state, into, from)
  const openQueues = from.queues.filter((queue) => stageOf(from, queue.stageId)?.ended === false)
  const over = state.parting.find((one) => one.call === from)?.stages ?? []
  const openStages = from.stages.filter((stage) => (!stage.ended || !stage.emitted.ended) && !over.includes(stage))
  for (const channel of channelsOf(state, from)) {
    // From now on the halves of a consultation are internal parts of the one call.
    if (isVirtual(channel)) channel.adopted = true
    placeInCall(state, channel, into)
  }
  into.stages.push(...openStages)
  markUnplaced(state, into)
  into.queues = [...into.queues, ...openQueues]
  into.recordings = [...into.recordings, ...from.recordings]
  moveTransfers(from, into)
  into.holds = [...into.holds, ...from.holds]
  into.recorded ||= from.recorded
  if (isPartial(from)) noteUnseen(into)
  into.variables = { ...from.variables, ...into.variables }
  // Those who handled the two calls are listed anew, in the order in which they joined.
  if (from.emitted) into.handled = []
  into.mergedFrom = [...into.mergedFrom, ...(from.emitted ? [from.id] : []), ...from.mergedFrom]
  inheritBeginning(from, into)
  inheritAnswer(state, openStages, into)
  for (const linkedId of from.linkedIds) claimLinkedId(state, into, linkedId)
  for (const stage of openStages) {
    // A phone that rings for the transferer rings for the transferred party from now on.
    ringFor(stage, replaced(state, into, stage.source))
  }
  into.endDueUs = null
  markChanged(state, into)
}

/** Returns the record of a call that ends here, inside another. */
function mergedRecord(state: TrackerState, from: Call, into: Call): CallRecord {
  const call = {
    ...callPayload(state, from),
    merged_into: into.id,
    state: 'ended' as const,
    ended_at: rfc3339(state.atUs),
  }
  return { call, stages: stagesPayload(from), recordings: keptRecordings(from) }
}

/**
 * Joins a phone that the PBX rang by itself, and whose party now talks with a party of the other call: each has
 * answered the other.
 */
function joinOwnPhone(state: TrackerState, from: Call, { into, atUs }: { into: Call; atUs: number }): void {
  const stage = from.stages.find((one) => one.own && one.answered && !one.ended)
  const leg = channelOf(state, stage?.legs.find((id) => channelOf(state, id)?.bridge != null) ?? null)
  if (stage === undefined || leg === undefined) return
  const other = heardBy(state, leg).find((one) => one.callId === into.id)
  if (other === undefined) return
  noteConnected(stage)
  answerCall(from, atUs, partyOf(other.endpoint))
  answerCall(into, atUs, partyOf(leg.endpoint))
}

/** The call was answered unseen: the party that joins it now is the first known one. */
function inheritAnswer(state: TrackerState, stages: readonly Stage[], into: Call): void {
  const stage = stages.find((one) => one.answered && !one.own && one.legs.length > 0)
  const leg = channelOf(state, stage?.legs[0] ?? null)
  if (leg !== undefined) answerCall(into, null, partyOf(leg.endpoint))
}

function replaced(state: TrackerState, call: Call, source: string | null): string | null {
  const channel = channelOf(state, source)
  const stays = source === call.root || source === call.recall?.transferee
  if (stays && channel !== undefined && isUp(channel) && !isVirtual(channel)) return source
  return call.root ?? source
}
