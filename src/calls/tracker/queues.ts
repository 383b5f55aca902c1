import type { At, ChannelSignal } from '../signal.ts'
import { callOf, stageOf } from './calls.ts'
import { addStage } from './dial-stages.ts'
import { partyFor } from './origin.ts'
import type { Call, Channel, TrackerState } from './state.ts'

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
    source: partyFor(state, channel)?.id ?? channel.id,
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
  const queue = call?.queues.findLast(
    (one) => (signal.queue === null || signal.queue === one.name) && stageOf(call, one.stageId)?.ended === false,
  )
  if (queue === undefined) return
  queue.leftUs ??= signal.atUs
  queue.leftArrivedUs ??= signal.arrivedUs
  // "Abandoned" is what a time-out looks like at first; what comes later knows better.
  if (signal.result !== null) queue.result = signal.result
}

/** The queues that a virtual channel entered in `from` are those of the party which asks through it in `into`. */
export function moveQueues(channelId: string, from: Call, into: Call, partyId: string): void {
  for (const queue of from.queues) {
    const stage = stageOf(from, queue.stageId)
    if (stage === undefined || stage.ended || stage.source !== channelId) continue
    stage.source = partyId
    from.stages = from.stages.filter((one) => one !== stage)
    from.queues = from.queues.filter((one) => one !== queue)
    into.stages.push(stage)
    into.queues.push(queue)
  }
}
