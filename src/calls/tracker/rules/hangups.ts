import { callOf, channelOf, stageOf } from '../state/registry.ts'
import { type Call, type Channel, isVirtual, type TrackerState } from '../state/state.ts'

/** Who hung up: the first party that did, since the call last went on. */

/** Notes that a party hung up by itself. */
export function noteHangupRequest(state: TrackerState, channel: Channel): void {
  channel.hungUpItself = true
  const call = callOf(state, channel)
  if (call === undefined || isVirtual(channel)) return
  const answered = channel.dial === null || channel.dial.answeredUs !== null
  if (channel.id === call.root || tookCallersPlace(state, call, channel)) call.hungUpBy ??= 'caller'
  else if (answered) call.hungUpBy ??= 'callee'
}

/** Returns whether a party was dialled for the called one, to whom the caller had transferred it. */
function tookCallersPlace(state: TrackerState, call: Call, { dial }: Channel): boolean {
  const source = channelOf(state, stageOf(call, dial?.stageId ?? null)?.source ?? null)
  const hasLeft = (channelOf(state, call.root)?.leftUs ?? null) !== null
  return hasLeft && source !== undefined && source.id !== call.root && source.dial !== null
}

/** Notes that a call goes on (a dial, an answer, a transfer): a party that hung up before did not end it. */
export function noteCallGoesOn(call: Call): void {
  call.hungUpBy = null
}
