import { CONSULTATION_SETTLING_US } from '../rules/dials.ts'
import { isResuming } from '../rules/holds.ts'
import { membersOf } from '../rules/parent-stages.ts'
import { isKept } from '../state/payload.ts'
import { channelsOf, stageOf } from '../state/registry.ts'
import { type Call, type Channel, isUp, isVirtual, type QueueState, type TrackerState } from '../state/state.ts'

/** A settling event is checked again after this time. */
const RECHECK_US = 50_000
/** All deadlines are shorter: what settles longer waits for a signal, which may be one of another call. */
const LONG_US = 10_000_000
/** What settles long is checked after a further part of its age: some fifty times in an hour, not 72,000. */
const PART_OF_AGE = 1 / 8

/** Returns when a call that has a settling event is to be checked without another signal; `null` if it has none. */
export function nextCheckUs(state: TrackerState, call: Call): number | null {
  const ageUs = settlingAgeUs(state, call)
  if (ageUs === null) return null
  return state.nowUs + (ageUs < LONG_US ? RECHECK_US : Math.round(ageUs * PART_OF_AGE))
}

/** Returns the age of the latest settling event that may become due without another signal of the call. */
function settlingAgeUs(state: TrackerState, call: Call): number | null {
  if (call.parking !== null || call.holds.some((hold) => isResuming(state, hold))) return 0
  if (call.queues.some((queue) => isQueueSettling(call, queue))) return 0
  const stages = call.stages.flatMap(({ ended, settlingSinceUs }) => (ended ? [] : (settlingSinceUs ?? [])))
  const dials = channelsOf(state, call).flatMap((channel) =>
    isDialOpen(state, channel) ? (channel.dial?.beganArrivedUs ?? []) : [],
  )
  const sinceUs = [...stages, ...dials]
  return sinceUs.length === 0 ? null : state.nowUs - Math.max(...sinceUs)
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
