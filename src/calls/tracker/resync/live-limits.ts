import type { At } from '../../signal.ts'
import { callOf, channelsOf, dropChannel } from '../state/registry.ts'
import { type Call, type Channel, isUp, type TrackerState } from '../state/state.ts'
import { loseChannel } from './missing-channels.ts'

/**
 * The most calls of one PBX that are followed, unless the operator says otherwise: a PBX that never ends a call cannot
 * fill the memory. 10,000 calls take some 150 MB. An Asterisk can list 25,000 at most, and no single PBX carries as
 * many.
 */
export const MAX_CALLS = 20_000
const MAX_LIVE_CHANNELS = 100_000
/** Ends this many at a time, so that the oldest are not searched for at each new call. */
const STEP = 1_000

/** Ends the calls of the oldest channels, and drops the oldest without a call, above the limit of channels. */
export function limitLive(state: TrackerState, at: At): void {
  if (state.channels.size <= MAX_LIVE_CHANNELS) return
  // An ended call stays until its record is saved: until then the oldest live ones are not searched for at each signal.
  state.signalsUntilLimit -= 1
  if (state.signalsUntilLimit > 0) return
  state.signalsUntilLimit = STEP
  endOldestChannels(state, at)
}

function endOldestChannels(state: TrackerState, at: At): void {
  const live = [...state.channels.values()].filter(isUp)
  for (const channel of live.slice(0, Math.max(0, live.length - MAX_LIVE_CHANNELS + STEP))) {
    const call = callOf(state, channel)
    if (call === undefined) dropChannel(state, channel)
    // The call may have ended with an earlier channel.
    else if (isUp(channel)) endCall(state, call, at)
  }
}

function endCall(state: TrackerState, call: Call, at: At): void {
  const up: readonly Channel[] = channelsOf(state, call).filter(isUp)
  for (const channel of up) loseChannel(state, call, channel, { at, cause: 'unknown' })
  if (up.length > 0) state.endedEarly += 1
}
