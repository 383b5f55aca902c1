import { newCall } from './initial-state.ts'
import { type Call, type Channel, isUp, isVirtual, type Stage, type TrackerState } from './state.ts'

/** Finds calls, channels, stages, bridges and conferences, and adds and drops them. Emits nothing. */

/** Returns the channel with an id, `undefined` if it is unknown. */
export function channelOf(state: TrackerState, id: string | null): Channel | undefined {
  return id === null ? undefined : state.channels.get(id)
}

/** Returns the call that a channel belongs to. */
export function callOf(state: TrackerState, channel: Channel | undefined): Call | undefined {
  return channel === undefined || channel.callId === null ? undefined : state.calls.get(channel.callId)
}

/** Notes that a channel is there: a signal or a row of a list names it. */
export function noteHeard(state: TrackerState, channel: Channel): void {
  channel.missingUs = null
  channel.missingArrivedUs = null
  if (channel.callId !== null && state.calls.has(channel.callId)) state.heardOf.set(channel.callId, state.nowUs)
}

/** Returns the channels of a call, ended ones included. */
export function channelsOf(state: TrackerState, call: Call): Channel[] {
  const channels: Channel[] = []
  for (const id of call.channels) {
    const channel = state.channels.get(id)
    if (channel !== undefined) channels.push(channel)
  }
  return channels
}

/** Returns the channels that tried to reach the party of a stage. */
export function legsOf(state: TrackerState, { legs }: Stage): Channel[] {
  const channels: Channel[] = []
  for (const id of legs) {
    const channel = state.channels.get(id)
    if (channel !== undefined) channels.push(channel)
  }
  return channels
}

/** Returns the real channels of a call that are up. */
export function liveParties(state: TrackerState, call: Call): Channel[] {
  return channelsOf(state, call).filter((channel) => isUp(channel) && !isVirtual(channel))
}

/** Returns the stage of a call with an id. */
export function stageOf(call: Call, id: string | null): Stage | undefined {
  return id === null ? undefined : call.stages.find((stage) => stage.id === id)
}

/** Marks a call as changed: after the signal its events are emitted, and its state is stored again. */
export function markChanged(state: TrackerState, call: Call | undefined): void {
  if (call === undefined) return
  state.dirty.add(call.id)
  state.changed.add(call.id)
}

/** Marks a call whose stored state is out of date. */
export function markStale(state: TrackerState, call: Call): void {
  state.changed.add(call.id)
}

/** Wakes the calls whose waits have ended. */
export function wakeDue(state: TrackerState): void {
  for (const id of state.timers.due(state.nowUs)) state.dirty.add(id)
}

/** Marks a call by a fact that may change the groups and queues of its stages. */
export function markUnplaced(state: TrackerState, call: Call | undefined): void {
  if (call !== undefined) state.unplaced.add(call.id)
}

/** Marks a call by the end of a ring: what began after it, but was reported before, did not ring at the same time. */
export function markIfLate(state: TrackerState, call: Call | undefined, atUs: number): void {
  if (call?.stages.some(({ startedUs }) => startedUs !== null && startedUs >= atUs) === true)
    state.unplaced.add(call.id)
}

/** How long the start of a call waits for its account to show, on a PBX with several accounts. */
const ACCOUNT_WAIT_US = 10_000_000

/** Further calls are not followed, but not counted one by one either. */
const MAX_UNFOLLOWED = 100_000

/** Returns whether a call that begins now, with this id of the PBX, is not followed because too many are. */
export function isBeyondLimit(state: TrackerState, linkedId: string): boolean {
  if (!isFull(state)) return false
  noteNotFollowed(state, linkedId)
  return true
}

/** Returns whether as many calls are open as are followed. */
export const isFull = ({ calls, maxCalls }: TrackerState): boolean => calls.size >= maxCalls

/** Counts a call that is not followed, by its id of the PBX. */
export function noteNotFollowed(state: TrackerState, linkedId: string): void {
  if (state.unfollowed.size >= MAX_UNFOLLOWED || state.unfollowed.has(linkedId)) return
  state.unfollowed.add(linkedId)
  state.notFollowed += 1
}

/** Opens a call without channels and returns it. */
export function openCall(state: TrackerState, pbxId: string, startedUs: number | null, atUs: number): Call {
  const isOpen = state.tenants !== null
  const account = isOpen ? null : state.account
  const call = newCall({ id: state.newId(atUs), account, boot: state.boot, pbxId, startedUs })
  if (isOpen) call.accountDueUs = state.nowUs + ACCOUNT_WAIT_US
  state.calls.set(call.id, call)
  state.heardOf.set(call.id, state.nowUs)
  markChanged(state, call)
  return call
}

/** Notes that a channel of another call consults a party of this call. */
export function addConsultation(state: TrackerState, call: Call, channelId: string): void {
  call.consultedBy = channelId
  const calls = state.consultations.get(channelId) ?? new Set<string>()
  calls.add(call.id)
  state.consultations.set(channelId, calls)
}

/** Returns the calls in which a channel of another call consults a party. */
export function consultationsOf(state: TrackerState, channelId: string): Call[] {
  return [...(state.consultations.get(channelId) ?? [])].flatMap((id) => state.calls.get(id) ?? [])
}

/** Wakes the consultations of a call's channels: halves through which they ring may belong to this call. */
export function wakeConsultations(state: TrackerState, call: Call): void {
  if (state.consultations.size === 0) return
  for (const id of call.channels) for (const other of state.consultations.get(id) ?? []) state.dirty.add(other)
}

/** Removes a call from the tracker, but not its channels. */
export function dropCall(state: TrackerState, call: Call): void {
  state.calls.delete(call.id)
  state.heardOf.delete(call.id)
  state.timers.delete(call.id)
  state.changed.delete(call.id)
  state.dirty.delete(call.id)
  // A call without an account was never stored.
  if (call.account !== null) state.removed.add(call.id)
  endConsultation(state, call)
}

/** Wakes the call of the party that asks in a consultation: its end waits for the end of the consultation. */
export function wakeAsking(state: TrackerState, { consultedBy }: Call): void {
  const call = callOf(state, channelOf(state, consultedBy))
  if (call !== undefined) state.dirty.add(call.id)
}

/** Ends the consultation in a call. */
export function endConsultation(state: TrackerState, call: Call): void {
  if (call.consultedBy === null) return
  wakeAsking(state, call)
  const calls = state.consultations.get(call.consultedBy)
  calls?.delete(call.id)
  if (calls?.size === 0) state.consultations.delete(call.consultedBy)
  call.consultedBy = null
}

/** Moves a channel into a call. */
export function placeInCall(state: TrackerState, channel: Channel, call: Call): void {
  if (channel.callId === call.id) return
  const before = callOf(state, channel)
  if (before !== undefined) before.channels = before.channels.filter((id) => id !== channel.id)
  channel.callId = call.id
  call.channels.push(channel.id)
  markChanged(state, before)
  markChanged(state, call)
}

/** Gives a call an id of the PBX. */
export function claimLinkedId(state: TrackerState, call: Call, linkedId: string): void {
  if (!call.linkedIds.includes(linkedId)) call.linkedIds.push(linkedId)
  state.byLinkedId.set(linkedId, call.id)
}

/** Returns the call with an id of the PBX. */
export function callByLinkedId(state: TrackerState, linkedId: string | null): Call | undefined {
  const id = linkedId === null ? undefined : state.byLinkedId.get(linkedId)
  return id === undefined ? undefined : state.calls.get(id)
}

/** Adds a channel, which has a place in no call, bridge or conference yet. */
export function putChannel(state: TrackerState, channel: Channel): void {
  state.channels.set(channel.id, channel)
}

/** Puts a stored call back. */
export function restoreCall(state: TrackerState, call: Call): void {
  state.calls.set(call.id, call)
  for (const linkedId of call.linkedIds) state.byLinkedId.set(linkedId, call.id)
  if (call.consultedBy !== null) addConsultation(state, call, call.consultedBy)
  state.unplaced.add(call.id)
  state.dirty.add(call.id)
}

/** Puts a channel of a stored call back, where it was. */
export function restoreChannel(state: TrackerState, stored: Channel): void {
  const channel = { ...stored, bridge: null }
  state.channels.set(channel.id, channel)
  const { bridge, inConference, inHoldingBridge } = stored
  if (bridge !== null) enterBridge(state, channel, { bridge, conference: inConference, holding: inHoldingBridge })
  if (channel.onHold && isUp(channel)) state.onHold.add(channel.id)
  if (channel.slot !== null && isUp(channel)) state.parked.add(channel.id)
  if (channel.conference !== null) addToConference(state, channel, channel.conference)
}

/** Removes channels of a call that no stage needs any more. */
export function dropChannelsOf(state: TrackerState, call: Call, ids: ReadonlySet<string>): void {
  call.channels = call.channels.filter((id) => !ids.has(id))
  for (const id of ids) {
    const channel = channelOf(state, id)
    if (channel?.callId === call.id) dropChannel(state, channel)
  }
}

/** Removes a channel from the tracker, with all references to it. */
export function dropChannel(state: TrackerState, channel: Channel): void {
  leaveBridge(state, channel)
  leaveConference(state, channel)
  state.onHold.delete(channel.id)
  state.parked.delete(channel.id)
  state.channels.delete(channel.id)
}

/** Removes a call and its channels from the tracker. */
export function forgetCall(state: TrackerState, call: Call): void {
  for (const id of call.channels) {
    const channel = state.channels.get(id)
    if (channel === undefined || channel.callId !== call.id) continue
    dropChannel(state, channel)
  }
  for (const linkedId of call.linkedIds) {
    if (state.byLinkedId.get(linkedId) === call.id) state.byLinkedId.delete(linkedId)
  }
  dropCall(state, call)
}

/** A bridge that a channel enters: a conference, a place to wait (`holding`), or a conversation. */
type Entered = { readonly bridge: string; readonly conference: boolean; readonly holding: boolean }

/** Moves a channel into a bridge. */
export function enterBridge(state: TrackerState, channel: Channel, { bridge, conference, holding }: Entered): void {
  leaveBridge(state, channel)
  channel.bridge = bridge
  channel.inConference = conference
  channel.inHoldingBridge = holding
  const members = state.bridges.get(bridge)
  if (members === undefined) state.bridges.set(bridge, [channel.id])
  else members.push(channel.id)
}

/** Takes a channel out of its bridge, and ends its conversations. */
export function leaveBridge(state: TrackerState, channel: Channel): void {
  if (channel.bridge === null) return
  noteSilence(state, channel)
  const members = state.bridges.get(channel.bridge) ?? []
  const place = members.indexOf(channel.id)
  if (place >= 0) members.splice(place, 1)
  if (members.length === 0) state.bridges.delete(channel.bridge)
  channel.bridge = null
}

/** Notes that the parties in a channel's bridge no longer talk with it. */
function noteSilence(state: TrackerState, channel: Channel): void {
  const near = isVirtual(channel) ? talkersWith(state, channel) : [channel, ...talkersWith(state, channel)]
  if (near.length > 1) for (const one of near) one.talkedUs = state.atUs
}

/** Returns the parties that hear a channel, except those that the last snapshot lacks: they may be gone. */
export function talkersWith(state: TrackerState, channel: Channel): Channel[] {
  return heardBy(state, channel).filter((other) => other.missingUs === null)
}

/** Moves a channel into a conference; returns the members. */
export function addToConference(state: TrackerState, channel: Channel, conference: string): Set<string> {
  if (channel.conference !== conference) leaveConference(state, channel)
  channel.conference = conference
  const members = state.conferences.get(conference) ?? new Set<string>()
  members.add(channel.id)
  state.conferences.set(conference, members)
  return members
}

/** Takes a channel out of its conference. */
export function leaveConference(state: TrackerState, channel: Channel): void {
  if (channel.conference === null) return
  const members = state.conferences.get(channel.conference)
  members?.delete(channel.id)
  if (members?.size === 0) state.conferences.delete(channel.conference)
  channel.conference = null
}

/**
 * Returns the parties that hear a channel: all real channels that bridges and pairs of virtual halves connect to it.
 * Bounded by the members of those bridges; conferences and holding bridges connect nobody.
 */
export function heardBy(state: TrackerState, start: Channel): Channel[] {
  if (start.bridge === null && !isVirtual(start)) return []
  const seen = new Set([start.id])
  const queue = [start]
  const parties: Channel[] = []
  for (let channel = queue.pop(); channel !== undefined; channel = queue.pop()) {
    const next: (string | null)[] =
      channel.inConference || channel.inHoldingBridge ? [] : [...(bridgeMembers(state, channel) ?? [])]
    if (isVirtual(channel)) next.push(channel.pair)
    for (const id of next) {
      const other = channelOf(state, id)
      if (other === undefined || seen.has(other.id) || !isUp(other)) continue
      seen.add(other.id)
      queue.push(other)
      if (!isVirtual(other)) parties.push(other)
    }
  }
  return parties
}

function bridgeMembers(state: TrackerState, channel: Channel): readonly string[] | undefined {
  return channel.bridge === null ? undefined : state.bridges.get(channel.bridge)
}
