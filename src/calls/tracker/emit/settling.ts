import { channelsOf } from '../registry.ts'
import type { Call, TrackerState } from '../state.ts'
import { isUp, isVirtual } from '../state.ts'

/** Returns whether an event of the call is settling. */
export function isSettling(state: TrackerState, call: Call): boolean {
  if (call.parking !== null || call.holds.length > 0) return true
  if (call.stages.some((stage) => !stage.ended && stage.settlingSinceUs !== null)) return true
  if (
    call.queues.some(
      (queue) => queue.leftArrivedUs !== null && call.stages.some((s) => s.id === queue.stageId && !s.ended),
    )
  )
    return true
  return channelsOf(state, call).some(
    (channel) => channel.dial !== null && channel.dial.stageId === null && !isVirtual(channel) && isUp(channel),
  )
}
