import { requestChannel } from '../../request-channel.ts'
import { callOf, channelOf } from './registry.ts'
import { isUp, isVirtual, type TrackerState } from './state.ts'

/** The call of a request, and whether its phone is still in it. `account`: `null` while it is undecided. */
export type RequestedCall = { readonly callId: string; readonly account: string | null; readonly isPhoneUp: boolean }

/** Returns the call that was made for a request, `undefined` if it was not seen, or is over. */
export function requestedCall(state: TrackerState, requestId: string): RequestedCall | undefined {
  const channel = channelOf(state, requestChannel(requestId))
  const call = channel && callOf(state, channel)
  if (channel === undefined || call === undefined || call.ended) return undefined
  // A virtual channel may leave the call while the phone behind it stays.
  const isPhoneUp = isVirtual(channel) || (isUp(channel) && channel.leftUs === null)
  return { callId: call.id, account: call.account, isPhoneUp }
}

/** Returns the channels of a call that are up, except virtual ones. */
export function channelsUp(state: TrackerState, callId: string): readonly string[] {
  const channels = state.calls.get(callId)?.channels ?? []
  return channels.filter((id) => {
    const channel = state.channels.get(id)
    return channel !== undefined && isUp(channel) && !isVirtual(channel)
  })
}
