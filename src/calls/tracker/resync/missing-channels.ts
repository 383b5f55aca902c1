import type { At, SnapshotChannel } from '../../signal.ts'
import { channelsOf, dropChannel, markChanged, talkersWith } from '../state/registry.ts'
import type { Call, Channel, TrackerState } from '../state/state.ts'
import { isUp, SECOND_LIST_US } from '../state/state.ts'

/**
 * Channels that a snapshot lacks ended unseen. A snapshot may be older than the last events, so a channel counts as
 * gone only when two lack it, `SECOND_LIST_US` apart, and nothing was heard of it in between; on the first connection
 * of the process, and after a restart of the PBX, at once.
 */

/**
 * Closes the calls of an earlier run of the PBX: they ended with it, regardless of any snapshot, and no right to
 * request one is needed.
 */
export function closeCallsOfEarlierRun(
  state: TrackerState,
  signal: At & { first: boolean; boot: string | null },
): void {
  const { boot } = signal
  const known = state.boot
  state.closeAtOnce = signal.first || (boot !== null && known !== null && boot !== known)
  state.boot = boot ?? known
  state.lostUs = state.heardUs
  if (boot === null) return
  for (const call of state.calls.values()) {
    const before = call.boot ?? known
    if (call.ended || before === null || before === boot) continue
    for (const channel of channelsOf(state, call)) {
      if (isUp(channel)) loseChannel(state, call, channel, { at: signal, cause: 'pbx_restart' })
    }
  }
}

/** The channels of a snapshot, and those that it may lack though they are up. */
type Snapshot = { readonly channels: readonly SnapshotChannel[]; readonly uncertain?: readonly string[] }

const upIn = ({ channels, uncertain = [] }: Snapshot): Set<string> =>
  new Set([...channels.map((row) => row.id), ...uncertain])

/** Marks the channels that a snapshot lacks, before its rows are applied. */
export function markMissing(state: TrackerState, at: At, listed: Snapshot): void {
  const up = upIn(listed)
  const isLacking = (channel: Channel): boolean => isUp(channel) && !up.has(channel.id) && channel.missingUs === null
  const missing = [...state.channels.values()].filter(isLacking)
  // They may have left at any time since the PBX was last heard before this list. Of two that talked with each other
  // neither is there.
  const talking = missing.filter((channel) => talkersWith(state, channel).length > 0)
  for (const channel of talking) channel.talkedUs = state.lostUs ?? at.atUs
  for (const channel of missing) channel.missingUs = at.arrivedUs
}

/** Ends the channels that are known to be gone: at once, or since a second snapshot lacks them. */
export function closeMissingChannels(state: TrackerState, at: At, listed: Snapshot): void {
  const up = upIn(listed)
  const atOnce = state.closeAtOnce
  state.closeAtOnce = false
  for (const call of state.calls.values()) {
    if (call.ended) continue
    for (const channel of channelsOf(state, call)) {
      if (!isUp(channel) || up.has(channel.id)) continue
      if (atOnce || isConfirmedMissing(channel, at)) loseChannel(state, call, channel, { at, cause: 'unknown' })
    }
  }
  // Plumbing that never became part of a call.
  for (const channel of state.channels.values()) {
    if (channel.callId !== null || up.has(channel.id)) continue
    if (atOnce || isConfirmedMissing(channel, at)) dropChannel(state, channel)
  }
}

/** Returns whether the last snapshot lacked a channel of which nothing was heard since: the next snapshot decides. */
export function isAnyMissing(state: TrackerState): boolean {
  for (const channel of state.channels.values()) if (channel.missingUs !== null && isUp(channel)) return true
  return false
}

type Lost = 'pbx_restart' | 'unknown'

function isConfirmedMissing(channel: Channel, at: At): boolean {
  return channel.missingUs !== null && at.arrivedUs - channel.missingUs >= SECOND_LIST_US
}

/** Ends a channel whose end was not seen. */
export function loseChannel(
  state: TrackerState,
  call: Call,
  channel: Channel,
  { at, cause }: { at: At; cause: Lost },
): void {
  channel.goneUs = at.atUs
  channel.goneArrivedUs = at.arrivedUs
  channel.end = { code: null, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null }
  call.partial = true
  const alive = channelsOf(state, call).some(isUp)
  if (!alive) call.lost = cause
  markChanged(state, call)
}
