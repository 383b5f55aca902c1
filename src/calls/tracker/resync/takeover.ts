import { newCall, newChannel } from '../initial-state.ts'
import { addToConference, consult, enterBridge } from '../registry.ts'
import type { Call, Channel, TrackerState } from '../state.ts'

/** Takes over the live calls that an earlier process, or another node, left in the store. */

/** A live call as it is stored: it survives JSON. */
export type StoredCall = { readonly call: Call; readonly channels: readonly Channel[] }

/** Puts stored calls back, before the first signal. The first list then closes those that are over. */
export function restore(state: TrackerState, stored: readonly StoredCall[]): void {
  for (const { call: known, channels } of stored) {
    const { account } = state
    // What an earlier version did not store yet is as in a new call.
    const call = { ...newCall({ ...known, account }), ...known }
    state.calls.set(call.id, call)
    for (const linkedId of call.linkedIds) state.byLinkedId.set(linkedId, call.id)
    if (call.consultedBy !== null) consult(state, call, call.consultedBy)
    for (const one of channels) {
      const channel = { ...newChannel(one.id, one.endpoint), ...one, bridge: null }
      state.channels.set(channel.id, channel)
      if (one.bridge !== null) enterBridge(state, channel, one.bridge)
      if (channel.onHold && channel.goneUs === null) state.onHold.add(channel.id)
      if (channel.slot !== null && channel.goneUs === null) state.parked.add(channel.id)
      if (channel.conference !== null) addToConference(state, channel, channel.conference)
    }
    state.dirty.add(call.id)
  }
}
