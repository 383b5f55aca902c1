import { isKept } from '../state/payload.ts'
import type { Call, TrackerState } from '../state/state.ts'
import { isDue } from '../state/waits.ts'

/** Returns whether the start of a call is due: its account and direction are decided, or their deadline has passed. */
export function isStartDue(state: TrackerState, call: Call): boolean {
  if (call.direction === null || call.accountDueUs !== null) return false
  // A phone may refuse before the pager is in the conference.
  if (call.paged) return isDue(state, call.startDueUs)
  if (call.directionKnown) return true
  if (call.clickToCall && call.to.number !== null) return true
  if (call.stages.some((stage) => !stage.own && (stage.rang || stage.answered))) return true
  return isDue(state, call.endDueUs) || call.startDueUs === null || isDue(state, call.startDueUs)
}

/** Returns whether the record of an ended call is due: its recordings are complete, or their deadline has passed. */
export function isSaveDue(state: TrackerState, call: Call): boolean {
  if (isDue(state, call.saveLatestUs)) return true
  const complete = call.recordings.every((one) => !isKept(one) || one.path !== null)
  return complete && isDue(state, call.saveDueUs)
}
