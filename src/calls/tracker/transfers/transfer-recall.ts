import { assignStage } from '../dials/dial-stages.ts'
import { callOf, channelOf, heardBy, placeInCall } from '../registry.ts'
import type { Call, Channel, TrackerState } from '../state.ts'
import { isUp } from '../state.ts'
import { isOver, merge } from './merges.ts'

/**
 * A transfer to somebody who does not answer: the PBX rings the transferer back (or the target again) for the party that waits. It makes such
 * a channel for no call, like any other that it originates; whom it rings, and the number it shows, tell for whom it is.
 */
export function placeRecall(state: TrackerState, dest: Channel): boolean {
  const { number } = dest.endpoint
  if (number === null) return false
  for (const call of state.calls.values()) {
    const waiting = waitingParty(state, call)
    if (waiting === undefined || waiting === dest) continue
    const { by, to } = call.recall ?? { by: null, to: null }
    if (number !== by && number !== to) continue
    if (!isSameNumber(dest.shown, waiting.endpoint.number)) continue
    const own = callOf(state, dest)
    if (own !== undefined && own !== call) {
      if (own.emitted) continue
      merge(state, own, call)
    }
    placeInCall(state, dest, call)
    assignStage(state, call, dest, waiting, false)
    return true
  }
  return false
}

/** The party that was transferred and talks to nobody: whoever left the call is no company. */
function waitingParty(state: TrackerState, call: Call): Channel | undefined {
  if (call.recall === null || isOver(call)) return undefined
  const waiting = channelOf(state, call.recall.waiting)
  if (waiting === undefined || !isUp(waiting) || callOf(state, waiting) !== call) return undefined
  const isAlone = heardBy(state, waiting).every((other) => other.dial?.leftUs !== null && other.dial !== null)
  return isAlone ? waiting : undefined
}

/** Of an outbound call the number that is shown may have the access code before it; what is not known is no other. */
function isSameNumber(one: string | null, other: string | null): boolean {
  return one === null || other === null || one.endsWith(other) || other.endsWith(one)
}
