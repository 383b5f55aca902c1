import { CONSULTATION_SETTLING_US } from '../rules/dials.ts'
import { isResuming } from '../rules/holds.ts'
import { membersOf } from '../rules/parent-stages.ts'
import { isKept } from '../state/payload.ts'
import { channelsOf, stageOf } from '../state/registry.ts'
import { type Call, type Channel, isUp, isVirtual, type QueueState, type TrackerState } from '../state/state.ts'

/** Returns whether the call has a settling event that may become due without another signal of the call. */
export function isSettling(state: TrackerState, call: Call): boolean {
  if (call.parking !== null || call.holds.some((hold) => isResuming(state, hold))) return true
  if (call.stages.some((stage) => !stage.ended && stage.settlingSinceUs !== null)) return true
  if (call.queues.some((queue) => isQueueSettling(call, queue))) return true
  return channelsOf(state, call).some((channel) => isDialOpen(state, channel))
}

/**
 * Returns whether the end of a queue is settling. While a member still rings or talks, the next signal decides: a
 * conversation of an hour is not checked again all the time.
 */
function isQueueSettling(call: Call, { stageId, leftArrivedUs }: QueueState): boolean {
  if (leftArrivedUs === null && call.endDueUs === null) return false
  return stageOf(call, stageId)?.ended === false && membersOf(call, stageId).every(({ ended }) => ended)
}

/** Returns whether it is still unknown for whom a channel dials. A dial that is over at once gets the same time. */
function isDialOpen(state: TrackerState, channel: Channel): boolean {
  const { dial } = channel
  if (dial === null || dial.stageId !== null || isVirtual(channel)) return false
  return isUp(channel) || state.nowUs - dial.beganArrivedUs <= 2 * CONSULTATION_SETTLING_US
}

/** Returns whether the start of a call is due: its account and direction are decided, or their deadline has passed. */
export function isStartDue(state: TrackerState, call: Call): boolean {
  if (call.direction === null || call.accountDueUs !== null) return false
  // A phone may refuse before the pager is in the conference.
  if (call.paged) return isDue(state, call.startDueUs)
  if (call.directionKnown) return true
  if (call.clickToCall && call.to.number !== null) return true
  if (call.stages.some((stage) => !stage.own && (stage.rang || stage.answered))) return true
  return isDue(state, call.endDueUs) || call.startDueUs === null || state.nowUs >= call.startDueUs
}

/** Returns whether the record of an ended call is due: its recordings are complete, or their deadline has passed. */
export function isSaveDue(state: TrackerState, call: Call): boolean {
  if (isDue(state, call.saveLatestUs)) return true
  const complete = call.recordings.every((one) => !isKept(one) || one.path !== null)
  return complete && isDue(state, call.saveDueUs)
}

const isDue = (state: TrackerState, dueUs: number | null): boolean => dueUs !== null && state.nowUs >= dueUs
