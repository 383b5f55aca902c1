import { callOf, channelOf, heardBy, placeInCall } from '../state/registry.ts'
import { type Call, type Channel, isUp, type TrackerState } from '../state/state.ts'
import { isOfSameAccount } from '../state/tenants.ts'
import { assignStage } from './dial-stages.ts'
import { isOver, merge } from './merges.ts'

/**
 * Places the recall of an unanswered transfer: the PBX rings the transferer back (or the target again) for the waiting
 * party. It creates that channel for no call, like any originated channel; the rung party and the number shown to it
 * identify the call.
 */
export function placeRecall(state: TrackerState, dest: Channel): boolean {
  const { number } = dest.endpoint
  if (number === null) return false
  for (const call of state.calls.values()) {
    const transferee = waitingTransferee(state, call)
    if (transferee === undefined || transferee === dest || !isOfSameAccount(state, call, dest)) continue
    const { by, to } = call.recall ?? { by: null, to: null }
    if (number !== by && number !== to) continue
    if (!isSameNumber(dest.shown, transferee.endpoint.number)) continue
    const own = callOf(state, dest)
    if (own !== undefined && own !== call) {
      if (own.emitted) continue
      merge(state, own, call)
    }
    placeInCall(state, dest, call)
    assignStage(state, call, dest, { party: transferee })
    return true
  }
  return false
}

/** Returns the transferred party if it talks to nobody: parties that have left the call do not count. */
function waitingTransferee(state: TrackerState, call: Call): Channel | undefined {
  if (call.recall === null || isOver(call)) return undefined
  const transferee = channelOf(state, call.recall.transferee)
  if (transferee === undefined || !isUp(transferee) || callOf(state, transferee) !== call) return undefined
  const isAlone = heardBy(state, transferee).every((other) => other.leftUs !== null)
  return isAlone ? transferee : undefined
}

/**
 * Returns whether two numbers may be the same. The number shown in an outbound call may begin with the access code; an
 * unknown number matches any.
 */
function isSameNumber(one: string | null, other: string | null): boolean {
  return one === null || other === null || one.endsWith(other) || other.endsWith(one)
}
