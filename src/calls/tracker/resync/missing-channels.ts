import type { At, SnapshotChannel } from '../../signal.ts'
import { endUnseen } from '../rules/channels.ts'
import { channelOf, channelsOf, dropChannel, markChanged, talkersWith } from '../state/registry.ts'
import { type Call, type Channel, isUp, SECOND_LIST_US, type TrackerState } from '../state/state.ts'
import { noteLost } from '../state/unseen.ts'

/**
 * Ends channels that a snapshot lacks: their end was missed. A snapshot may be older than the last events, so a channel
 * counts as gone only if two snapshots lack it, `SECOND_LIST_US` apart, with no signal of it in between. On the first
 * connection of the process, and after a restart of the PBX, one snapshot is enough.
 */

/**
 * Closes the calls of an earlier run of the PBX, which ended with it. Needs no snapshot, so it works without the right
 * to request one.
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
  state.connectedArrivedUs = signal.arrivedUs
  state.connectedSeq = state.seq
  if (boot === null) return
  for (const call of state.calls.values()) {
    const before = call.boot ?? known
    if (call.ended || before === null || before === boot) continue
    for (const channel of channelsOf(state, call)) {
      if (isUp(channel)) loseChannel(state, call, channel, { at: signal, cause: 'pbx_restart' })
    }
  }
}

/** The channels of a snapshot, and channels that may be up although it lacks them. */
type Snapshot = { readonly channels: readonly SnapshotChannel[]; readonly uncertain?: readonly string[] }

const upIn = ({ channels, uncertain = [] }: Snapshot): Set<string> =>
  new Set([...channels.map((row) => row.id), ...uncertain])

/** Marks the channels that a snapshot lacks, before its rows are applied. With a pause after each channel. */
export function* markMissing(state: TrackerState, at: At, listed: Snapshot): Generator<void> {
  const up = upIn(listed)
  const missing: Channel[] = []
  for (const channel of state.channels.values()) {
    if (isUp(channel) && !up.has(channel.id) && channel.missingUs === null) missing.push(channel)
    yield
  }
  // They may have left at any time after the last signal before this snapshot, so their conversations count until then.
  // Two that talked with each other are both missing: find them all before marking one.
  const talking: Channel[] = []
  for (const channel of missing) {
    if (talkersWith(state, channel).length > 0) talking.push(channel)
    yield
  }
  for (const channel of talking) channel.talkedUs = state.lostUs ?? at.atUs
  for (const channel of missing) {
    channel.missingUs = at.atUs
    channel.missingArrivedUs = at.arrivedUs
  }
}

/**
 * Ends the channels that are gone: missing in two snapshots, or in the first one of a connection. With a pause after
 * each call.
 */
export function* closeMissingChannels(state: TrackerState, at: At, listed: Snapshot): Generator<void> {
  const up = upIn(listed)
  const atOnce = state.closeAtOnce
  state.closeAtOnce = false
  for (const call of state.calls.values()) {
    yield
    if (call.ended) continue
    for (const channel of channelsOf(state, call)) {
      if (!isUp(channel) || up.has(channel.id)) continue
      if (atOnce || isConfirmedMissing(channel, at)) loseChannel(state, call, channel, { at, cause: 'unknown' })
    }
  }
  // Channels that never became part of a call.
  for (const channel of state.channels.values()) {
    yield
    if (channel.callId !== null || up.has(channel.id)) continue
    if (atOnce || isConfirmedMissing(channel, at)) dropChannel(state, channel)
  }
}

/** Returns whether the last snapshot lacked a channel without a signal since: the next snapshot decides. */
export function isAnyMissing(state: TrackerState): boolean {
  for (const channel of state.channels.values()) if (channel.missingUs !== null && isUp(channel)) return true
  return false
}

/** Returns whether nothing was heard of a live call since this arrival time. */
export function isAnySilent(state: TrackerState, sinceUs: number): boolean {
  for (const call of state.calls.values()) if (!call.ended && (state.heardOf.get(call.id) ?? 0) <= sinceUs) return true
  return false
}

type Lost = 'pbx_restart' | 'unknown'

function isConfirmedMissing({ missingArrivedUs }: Channel, at: At): boolean {
  return missingArrivedUs !== null && at.arrivedUs - missingArrivedUs >= SECOND_LIST_US
}

/** Ends a channel whose end was not seen. */
export function loseChannel(
  state: TrackerState,
  call: Call,
  channel: Channel,
  { at, cause }: { at: At; cause: Lost },
): void {
  endUnseen(state, channel, at)
  const alive = channelsOf(state, call).some(isUp)
  // A party that left a call which goes on is no part of the call that was not seen: rule 9 names them.
  if (!alive && !isEndSeen(state, call, channel, at)) noteLost(call, cause)
  markChanged(state, call)
}

/**
 * Returns whether the call's end was seen: after the snapshot that lacked a channel, the end of the caller was
 * reported, or, if the missing party had left by a transfer, the end of another one.
 */
function isEndSeen(state: TrackerState, call: Call, { missingArrivedUs, leftUs }: Channel, at: At): boolean {
  const enders = leftUs === null ? [channelOf(state, call.root)] : channelsOf(state, call)
  return enders.some((one) => {
    const goneUs = one?.goneArrivedUs ?? null
    return missingArrivedUs !== null && goneUs !== null && goneUs >= missingArrivedUs && goneUs < at.arrivedUs
  })
}
