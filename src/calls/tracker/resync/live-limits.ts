import type { At } from '../../signal.ts'
import { callOf, channelsOf, dropChannel } from '../state/registry.ts'
import type { Call, Channel, TrackerState } from '../state/state.ts'
import { isUp } from '../state/state.ts'
import { loseChannel } from './missing-channels.ts'

/**
 * The most that is kept of one PBX. A PBX that never ends a call would fill the memory of all: beyond this its oldest
 * calls end as `unknown`. 10,000 calls take some 150 MB, and an Asterisk can list 25,000 at the most; no single PBX of
 * either kind carries as many.
 */
export const MAX_LIVE_CALLS = 20_000
export const MAX_LIVE_CHANNELS = 100_000
/** As many make place at once, so that the oldest are not searched for at each call. */
const STEP = 1_000

/** Ends the oldest calls, and drops the oldest channels of no call, where there are too many. */
export function limitLive(state: TrackerState, at: At): void {
  if (state.calls.size <= MAX_LIVE_CALLS && state.channels.size <= MAX_LIVE_CHANNELS) return
  // What ends stays until its record is saved: the oldest live calls are not searched at each signal until then.
  state.signalsUntilLimit -= 1
  if (state.signalsUntilLimit > 0) return
  state.signalsUntilLimit = STEP
  if (state.calls.size > MAX_LIVE_CALLS) endOldestCalls(state, at)
  if (state.channels.size > MAX_LIVE_CHANNELS) endOldestChannels(state, at)
}

const isLive = (call: Call): boolean => !call.ended && call.lost === null

function endOldestCalls(state: TrackerState, at: At): void {
  const live = [...state.calls.values()].filter(isLive)
  for (const call of live.slice(0, Math.max(0, live.length - MAX_LIVE_CALLS + STEP))) endCall(state, call, at)
}

function endOldestChannels(state: TrackerState, at: At): void {
  const live = [...state.channels.values()].filter(isUp)
  for (const channel of live.slice(0, Math.max(0, live.length - MAX_LIVE_CHANNELS + STEP))) {
    const call = callOf(state, channel)
    if (call === undefined) dropChannel(state, channel)
    // It may have ended with a channel before it.
    else if (isUp(channel)) endCall(state, call, at)
  }
}

function endCall(state: TrackerState, call: Call, at: At): void {
  const up: readonly Channel[] = channelsOf(state, call).filter(isUp)
  for (const channel of up) loseChannel(state, call, channel, { at, cause: 'unknown' })
  if (up.length > 0) state.endedEarly += 1
}
