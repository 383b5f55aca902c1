import type { At, ChannelSignal } from '../../signal.ts'
import { newDial } from '../state/initial-state.ts'
import { callOf, channelOf, markChanged, markIfLate, markUnplaced, placeInCall, stageOf } from '../state/registry.ts'
import { addStage, noteBegin } from '../state/stage-moves.ts'
import { type Call, type Channel, isVirtual, type QueueState, type TrackerState } from '../state/state.ts'
import { consultation } from './consultations.ts'
import { originOf } from './dial-origin.ts'

/** A caller's way into a queue and out of it. A virtual half may stand in the queue for the caller. */

/** Puts a caller into a queue, once the caller behind the channel is known. */
export function joinQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_joined' }>,
): void {
  const { queue, name = null, position, entry = null, atUs } = signal
  channel.queuing = { queue, name, position, entry, atUs }
  placeQueue(state, channel)
}

/** Gives a queue its call and stage, once the caller is known. */
export function placeQueue(state: TrackerState, channel: Channel): void {
  const { queuing } = channel
  if (queuing === null) return
  const caller = callerIn(state, channel)
  const call = caller?.call
  if (call === undefined || caller === undefined) return
  channel.queuing = null
  const earlier = call.queues.filter((queue) => queue.name === queuing.queue && isIn(call, queue))
  const known = earlier.find(({ entry }) => entry === queuing.entry || entry === null)
  if (known !== undefined) {
    // The list of the PBX had shown this visit first.
    known.position ??= queuing.position
    const stage = stageOf(call, known.stageId)
    if (stage === undefined || stage.startedUs !== null) return
    noteBegin(stage, queuing.atUs)
    known.joinedUs = queuing.atUs
    return
  }
  // A caller that enters a queue again has left it before.
  for (const queue of earlier) if (queue.channel === channel.id) queue.leftUs = queuing.atUs
  const stage = addStage(state, call, {
    kind: 'queue',
    target: queuing.queue,
    source: caller.party?.id ?? null,
    name: queuing.name ?? null,
    startedUs: queuing.atUs,
  })
  const queue = {
    stageId: stage.id,
    channel: channel.id,
    name: queuing.queue,
    place: channel.dialledNumber,
    entry: queuing.entry,
    position: queuing.position,
    joinedUs: queuing.atUs,
    leftUs: null,
    leftArrivedUs: null,
    result: null,
    leftByKey: false,
    final: false,
    answeredUs: null,
  }
  call.queues = [...call.queues, queue]
  markUnplaced(state, call)
  markChanged(state, call)
}

const isOpen = (call: Call, queue: QueueState): boolean => stageOf(call, queue.stageId)?.ended === false

/** Returns whether the caller is still in a queue; a PBX may not report that a transferred caller left it. */
const isIn = (call: Call, queue: QueueState): boolean => queue.leftUs === null && isOpen(call, queue)

/** Returns the caller for whom a channel is in a queue (`null`: the PBX put it there by itself), and the call. */
function callerIn(
  state: TrackerState,
  channel: Channel,
): { party: Channel | null; call: Call | undefined } | undefined {
  if (!isVirtual(channel)) return { party: channel, call: callOf(state, channel) }
  const origin = originOf(state, newDial(channel.id, null, state.nowUs))
  if (origin.kind === 'nobody') return { party: null, call: callOf(state, channel) }
  if (origin.kind !== 'party') return undefined
  const { channel: party, through } = origin
  const first = callOf(state, party)
  if (!origin.consulting || first === undefined) return { party, call: first }
  const to = { dialled: through?.dialledNumber ?? null, party: null }
  const call = consultation(state, party, first, { through, to, startedUs: channel.queuing?.atUs ?? null })
  for (const half of [channel, channelOf(state, channel.pair)]) if (half !== undefined) placeInCall(state, half, call)
  return { party, call }
}

/**
 * Notes that the caller goes on in the dialplan. A queue that was left without another reason was given up: the caller
 * pressed a key, or an operator took the caller out.
 */
export function noteGoesOn(call: Call, channelId: string): void {
  for (const queue of call.queues) {
    const isIts = queue.channel === channelId || stageOf(call, queue.stageId)?.source === channelId
    if (isIts && queue.leftUs !== null) noteGivenUp(queue)
  }
}

function noteGivenUp(queue: QueueState): void {
  if (queue.leftUnseen === true) return
  if (queue.answeredUs !== null || (queue.result !== null && queue.result !== 'abandoned')) return
  queue.result = 'abandoned'
  queue.leftByKey = true
}

/**
 * Notes that a snapshot shows a caller elsewhere than in a queue; returns the queue. Why it left was not seen if
 * nothing was heard since the connection was made; later the PBX may be about to report it.
 */
export function noteLeftUnseen(state: TrackerState, channel: Channel, at: At, name: string): QueueState | undefined {
  const result = state.heardUs === state.lostUs ? 'other' : null
  const queue = leaveQueue(state, channel, { ...at, kind: 'queue_left', id: channel.id, queue: name, result })
  if (queue !== undefined && result === null) queue.leftUnseen = true
  return queue
}

/** Notes that a caller left a queue, and the reason if the PBX reports it; returns the queue. */
export function leaveQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_left' }>,
): QueueState | undefined {
  const call = callOf(state, channel)
  const { entry = null } = signal
  const isEntry = (one: QueueState) => entry === null || one.entry === null || one.entry === entry
  const isIt = (one: QueueState) => (signal.queue === null || signal.queue === one.name) && isEntry(one)
  const open = call?.queues.filter((one) => isIt(one) && (one.leftUs === null || isOpen(call, one))) ?? []
  const queue = open.findLast((one) => one.channel === channel.id) ?? open.at(-1)
  if (queue === undefined) return undefined
  queue.leftUs ??= signal.atUs
  markIfLate(state, call, signal.atUs)
  queue.leftArrivedUs ??= signal.arrivedUs
  // A time-out is reported as "abandoned" at first; a later report is more precise.
  if (signal.result !== null) {
    queue.result = signal.result
    queue.leftUnseen = false
  }
  queue.final ||= signal.final === true
  // The channel is elsewhere in the dialplan already.
  if (queue.channel === channel.id && queue.place !== undefined && queue.place !== channel.dialledNumber)
    noteGivenUp(queue)
  markChanged(state, call)
  return queue
}
