import type { At, ChannelSignal } from '../signal.ts'
import { callOf, stageOf } from './calls.ts'
import { addStage } from './dial-stages.ts'
import type { Channel, TrackerState } from './state.ts'

/** A caller's way into a queue and out of it. */

export function joinQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_joined' }>,
): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const open = call.queues.some((queue) => queue.name === signal.queue && queue.leftUs === null)
  if (open) return
  const stage = addStage(state, call, {
    kind: 'queue',
    target: signal.queue,
    source: channel.id,
    name: null,
    startedUs: signal.atUs,
  })
  call.queues.push({
    stageId: stage.id,
    name: signal.queue,
    position: signal.position,
    joinedUs: signal.atUs,
    leftUs: null,
    leftArrivedUs: null,
    result: null,
    answeredUs: null,
  })
}

export function leaveQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_left' }>,
): void {
  const call = callOf(state, channel)
  const queue = call?.queues.findLast((one) => stageOf(call, one.stageId)?.ended === false)
  if (queue === undefined) return
  queue.leftUs ??= signal.atUs
  queue.leftArrivedUs ??= signal.arrivedUs
  // "Abandoned" is what a time-out looks like at first; what comes later knows better.
  if (signal.result !== null) queue.result = signal.result
}
