import { channelsOf, consultationsOf } from '../state/registry.ts'
import { settlingSince } from '../state/stage-moves.ts'
import { type Call, type Channel, isUp, isVirtual, type Stage, type TrackerState } from '../state/state.ts'
import { isStill } from '../state/waits.ts'
import { EXPLANATION_US } from './stage-results.ts'

/**
 * Delays the `dial_ended` of a party that may have transferred the call: a PBX reports the transfer shortly after that
 * party's channel has ended, and receivers must get the transfer first.
 */

/**
 * Returns whether the end of an answered stage has to wait for a transfer: for a moment, while the other party is still
 * there.
 */
export function awaitsTransfer(state: TrackerState, call: Call, stage: Stage, leg: Channel): boolean {
  const sinceUs = settlingSince(state, stage)
  const others = channelsOf(state, call).filter((one) => isUp(one) && !isVirtual(one) && one.id !== leg.id)
  if (others.length === 0) return false
  // Another party made a transfer before this leg answered.
  const isKnown = call.transferred.some((one) => one.atUs >= (stage.answeredUs ?? 0))
  const asking = consultationsOf(state, leg.id).some((other) => !other.ended && other.endDueUs === null)
  if (asking) return true
  return !isKnown && isStill(state, sinceUs + EXPLANATION_US)
}
