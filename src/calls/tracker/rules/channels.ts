import type { At, ChannelSignal, End } from '../../signal.ts'
import { newChannel } from '../state/initial-state.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  channelsOf,
  claimLinkedId,
  consultationsOf,
  dropChannel,
  isBeyondLimit,
  leaveBridge,
  leaveConference,
  markChanged,
  markIfLate,
  markUnplaced,
  openCall,
  placeInCall,
  putChannel,
} from '../state/registry.ts'
import { type Call, type Channel, isUp, isVirtual, type QueueState, type TrackerState } from '../state/state.ts'
import { noteExtension, tenantOf } from '../state/tenants.ts'
import { noteLost, noteUnseen } from '../state/unseen.ts'
import { END_SETTLING_US, isStill } from '../state/waits.ts'
import { startWith, startWithoutCaller } from './call-start.ts'
import { beginDial } from './dials.ts'
import { forgetHold } from './holds.ts'
import { unpark } from './parking.ts'
import { endRecordings } from './recordings.ts'

/** Channels come and go, and with them calls. */

/** How long the end of an unknown channel is kept: it may have come before the channel. */
const EARLY_END_US = 5_000_000

type Begin = { readonly unseen?: true | undefined }

/**
 * Adds a channel, and begins a call if it belongs to none. Returns the channel, which may have been known before;
 * `undefined` if its call is not followed.
 */
export function addChannel(
  state: TrackerState,
  signal: At & Extract<ChannelSignal, { kind: 'channel' }>,
): Channel | undefined {
  const earlier = state.channels.get(signal.id)
  if (earlier !== undefined) return earlier
  const call = callByLinkedId(state, signal.linkedId)
  if (call === undefined && signal.linkedId !== null && isBeyondLimit(state, signal.linkedId)) return undefined
  const { linkedId, dialledNumber, shown, originated } = signal
  const tenant = tenantOf(state, signal.tenant)
  const known = { linkedId, tenant, seenSeq: state.seq, dialledNumber, shown, originated }
  const channel = newChannel(signal.id, signal.endpoint, known)
  putChannel(state, channel)
  noteExtension(state, channel)
  if (call !== undefined && !call.ended) joinCall(state, signal, channel, call)
  else if (signal.linkedId !== null) beginCall(state, signal, channel, signal.linkedId)
  // A leg without a call ends once its dialler is known.
  if (channel.callId !== null) applyEarlyEnd(state, channel)
  return channel
}

/** Adds a channel to a call that began without its caller, as the caller or as a further party. */
function joinCall(state: TrackerState, signal: At & Begin, channel: Channel, call: Call): void {
  placeInCall(state, channel, call)
  if (signal.unseen === true) noteUnseen(call)
  if (isVirtual(channel) || call.root !== null) return
  if (isCaller(channel)) startWith(state, call, channel, signal.arrivedUs)
}

/**
 * Begins a call for a channel without one; a virtual channel begins a call that may become visible later. One that the
 * PBX counts to the call of another channel is rung in it, and the caller was not seen.
 */
function beginCall(state: TrackerState, signal: At & Begin, channel: Channel, linkedId: string): void {
  const call = openCall(state, linkedId, signal.atUs, signal.atUs)
  claimLinkedId(state, call, linkedId)
  placeInCall(state, channel, call)
  if (signal.unseen === true) noteUnseen(call)
  if (isVirtual(channel)) return
  if (linkedId === channel.id) startWith(state, call, channel, signal.arrivedUs)
  else startWithoutCaller(call, channel, signal.arrivedUs)
}

/** Returns whether the PBX counts a channel to its own call: it calls, or the PBX rings it by itself. */
const isCaller = ({ id, linkedId }: Channel): boolean => linkedId === id

/** Notes that the PBX made a channel by itself, for no caller. */
export function noteOriginated(channel: Channel): void {
  channel.originated = true
}

/** Corrects a channel that was taken for originated, and the call that it began. */
export function callIn(state: TrackerState, at: At, channel: Channel): void {
  if (!channel.originated || channel.upUs !== null) return
  channel.originated = false
  const call = callOf(state, channel)
  if (call !== undefined && call.root === channel.id && !call.emitted) startWith(state, call, channel, at.arrivedUs)
}

/** The end of a channel may come before its beginning. */
function applyEarlyEnd(state: TrackerState, channel: Channel): void {
  const tombstone = state.earlyEnds.get(channel.id)
  if (tombstone === undefined) return
  state.earlyEnds.delete(channel.id)
  if (!isStill(state, tombstone.arrivedUs + EARLY_END_US)) return
  hangup(state, tombstone, channel.id, tombstone.end)
}

/** Forgets ends whose channels did not follow in time. */
export function purgeEarlyEnds(state: TrackerState): void {
  for (const [id, tombstone] of state.earlyEnds) {
    if (isStill(state, tombstone.arrivedUs + EARLY_END_US)) break
    state.earlyEnds.delete(id)
  }
}

/** Begins a dial, of a channel that may be unknown so far. A dial by an unknown caller begins a `partial` call. */
export function applyDialBegin(state: TrackerState, signal: At & Extract<ChannelSignal, { kind: 'dial_begin' }>): void {
  const known = channelOf(state, signal.dest)
  const begins = known === undefined && channelOf(state, signal.source) === undefined
  if (begins && isBeyondLimit(state, signal.source ?? signal.dest)) return
  const dest =
    known ??
    addChannel(state, {
      ...signal,
      kind: 'channel',
      id: signal.dest,
      linkedId: null,
      dialledNumber: null,
      originated: signal.source === null,
    })
  if (dest === undefined) return
  noteExtension(state, { endpoint: signal.endpoint, tenant: dest.tenant })
  beginDial(state, signal, signal, dest)
  if (dest.callId === null && !isVirtual(dest)) beginUnseen(state, signal, dest)
  applyEarlyEnd(state, dest)
}

function beginUnseen(
  state: TrackerState,
  signal: At & Extract<ChannelSignal, { kind: 'dial_begin' }>,
  dest: Channel,
): void {
  // Without a source the PBX rings it by itself; otherwise the call began before this connection.
  beginCall(state, signal, dest, signal.source ?? dest.id)
}

/** Pairs two virtual channels once both are known. */
export function pairHalves(state: TrackerState, oneId: string, twoId: string): void {
  const one = channelOf(state, oneId)
  const two = channelOf(state, twoId)
  if (one === undefined || two === undefined || one === two) return
  one.pair = two.id
  one.half = 1
  two.pair = one.id
  two.half = 2
  const call = callOf(state, one)
  markUnplaced(state, call)
  if (call !== undefined && two.callId === null) placeInCall(state, two, call)
  markChanged(state, callOf(state, one))
  markChanged(state, callOf(state, two))
}

/**
 * Ends a channel, and takes it out of its bridge and conference. The end of an unknown channel is kept in case the
 * channel follows.
 */
export function hangup(state: TrackerState, at: { atUs: number; arrivedUs: number }, id: string, end: End): void {
  const channel = channelOf(state, id)
  if (channel === undefined) {
    purgeEarlyEnds(state)
    // Deleted first to move it to the end: ends are forgotten in the order of their arrival.
    state.earlyEnds.delete(id)
    state.earlyEnds.set(id, { atUs: at.atUs, arrivedUs: at.arrivedUs, end })
    return
  }
  if (!isUp(channel)) return
  channel.goneUs = at.atUs
  channel.goneSeq = state.seq
  markIfLate(state, callOf(state, channel), at.atUs)
  channel.goneArrivedUs = at.arrivedUs
  channel.end = end
  leaveBridge(state, channel)
  leaveConference(state, channel)
  forgetHold(state, channel)
  unpark(state, channel)
  const call = callOf(state, channel)
  if (call === undefined) {
    dropChannel(state, channel)
    return
  }
  endRecordings(state, channel, at.atUs)
  markChanged(state, call)
  for (const other of consultationsOf(state, id)) markChanged(state, other)
}

/**
 * Ends the channels of a call that the last snapshot lacked, a moment after its caller and all others have ended since:
 * phones that stopped ringing unseen, and parties that left by a transfer, do not outlive a call whose end was seen.
 */
export function endMissingWithCall(state: TrackerState, call: Call): void {
  const channels = channelsOf(state, call)
  const up = channels.filter(isUp)
  const isCaller = ({ id, leftUs }: Channel): boolean => id === call.root && leftUs === null
  if (up.length === 0 || up.length === channels.length || up.some(isCaller)) return
  if (up.some(({ missingUs }) => missingUs === null)) return
  const missingUs = Math.max(...up.map((channel) => channel.missingArrivedUs ?? 0))
  const lastUs = Math.max(...channels.map(({ goneArrivedUs }) => goneArrivedUs ?? 0))
  if (lastUs < missingUs || isStill(state, lastUs + END_SETTLING_US)) return
  const isSeen = ({ goneArrivedUs, end }: Channel): boolean => (goneArrivedUs ?? 0) >= missingUs && end?.unseen !== true
  // Its last parties left unseen, too.
  if (!channels.some(isSeen)) noteLost(call, 'unknown')
  // They ended with the call at the latest, whose end was seen.
  const endedUs = Math.max(...channels.map(({ goneUs }) => goneUs ?? 0))
  for (const channel of up) endUnseen(state, channel, { atUs: endedUs, arrivedUs: state.nowUs })
}

/** Ends a channel whose end was not seen. */
export function endUnseen(state: TrackerState, channel: Channel, at: At): void {
  channel.goneUs = at.atUs
  channel.goneSeq = state.seq
  channel.goneArrivedUs = at.arrivedUs
  channel.end = { code: null, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null, unseen: true }
}

/** Ends the phones of a queue that a snapshot lacked, once the caller has left: they rang no longer than that. */
export function endMissingMembers(state: TrackerState, caller: Channel, { stageId }: QueueState, at: At): void {
  for (const { parentId, answered, legs } of callOf(state, caller)?.stages ?? []) {
    if (parentId !== stageId || answered) continue
    const missing = legs.flatMap((id) => channelOf(state, id) ?? []).filter((one) => one.missingUs !== null)
    for (const channel of missing.filter(isUp)) endUnseen(state, channel, at)
  }
}
