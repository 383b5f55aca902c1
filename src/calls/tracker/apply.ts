import type { At, ChannelSignal, End, Endpoint, Signal } from '../signal.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  claimLinkedId,
  enterBridge,
  heardBy,
  leaveBridge,
  openCall,
  place,
  stageOf,
  touch,
} from './calls.ts'
import { addStage, beginDial, endDial, failDial } from './dials.ts'
import { beginDirection, destination } from './direction.ts'
import { enterRoom, linkCalls, settleLinks } from './links.ts'
import { record, setRecordingPath, stopRecording } from './recordings.ts'
import { closeMissing, resync } from './resync.ts'
import type { Channel, TrackerState } from './state.ts'
import { isUp, isVirtual, newChannel } from './state.ts'
import { attendedTransfer, blindTransfer, join } from './transfers.ts'

/** What each signal changes. Nothing is told here, and no signal of a channel that was never seen does any harm. */

/** A call by an extension waits so long for a dial to show where it goes, or for it to turn out to be a pick-up. */
const EXTENSION_START_US = 500_000
/** A call from a trunk so long for the number that was called. */
const TRUNK_START_US = 250_000
/** An end that came before its channel is remembered so long. */
const TOMBSTONE_US = 5_000_000

export function apply(state: TrackerState, signal: Signal): void {
  if (state.links.length > 0) settleLinks(state)
  switch (signal.kind) {
    case 'tick':
      purge(state)
      return
    case 'connected':
      state.restarted = state.boot !== null && signal.boot !== null && state.boot !== signal.boot
      state.closeAtOnce = signal.first || state.restarted
      state.boot = signal.boot ?? state.boot
      return
    case 'disconnected':
      return
    case 'listed':
      resync(state, signal, signal.channels)
      closeMissing(state, signal, signal.channels)
      return
    case 'channel':
      addChannel(state, signal)
      return
    case 'dial':
      dial(state, signal)
      return
    default:
      applyToChannel(state, signal)
  }
}

/** Signals about one channel that must be known. */
function applyToChannel(state: TrackerState, signal: At & Exclude<ChannelSignal, { kind: 'channel' | 'dial' }>): void {
  switch (signal.kind) {
    case 'pair':
      pair(state, signal.one, signal.two)
      return
    case 'dialed':
      dialed(state, signal)
      return
    case 'dial_failed': {
      const source = channelOf(state, signal.source)
      if (source !== undefined) failDial(state, signal, source, signal.endpoint, signal.result)
      return
    }
    case 'blind_transfer':
      blindTransfer(state, signal, signal.transferer, signal.transferee, signal.to)
      return
    case 'attended_transfer':
      attendedTransfer(state, signal, signal.transferers, signal.transferee, signal.target)
      return
    case 'joined': {
      const joiner = channelOf(state, signal.id)
      const into = channelOf(state, signal.into)
      if (joiner !== undefined && into !== undefined && isUp(joiner)) join(state, signal, joiner, into)
      return
    }
    case 'member': {
      const dest = channelOf(state, signal.dest)
      if (dest !== undefined && signal.name !== null) nameMember(state, dest, signal.name)
      return
    }
    case 'hangup':
      hangup(state, signal, signal.id, signal.end)
      return
    default: {
      const channel = channelOf(state, signal.id)
      if (channel !== undefined) applyToKnown(state, channel, signal)
    }
  }
}

type KnownKinds =
  | 'pair'
  | 'dialed'
  | 'dial_failed'
  | 'blind_transfer'
  | 'attended_transfer'
  | 'joined'
  | 'member'
  | 'hangup'
type Known = At & Exclude<ChannelSignal, { kind: 'channel' | 'dial' | KnownKinds }>

function applyToKnown(state: TrackerState, channel: Channel, signal: Known): void {
  const call = callOf(state, channel)
  switch (signal.kind) {
    case 'linked':
      linkCalls(state, channel, signal.linkedId)
      break
    case 'dialled':
      moveTo(state, channel, signal.dialled)
      break
    case 'ringing':
      if (channel.dial !== null && channel.dial.answeredUs === null) channel.dial.rangUs ??= signal.atUs
      break
    case 'up':
      channel.upUs ??= signal.atUs
      if (call !== undefined && channel.dial === null && !isVirtual(channel)) call.pbxAnswered = true
      break
    case 'bridged':
      bridged(state, channel, signal)
      break
    case 'unbridged':
      if (channel.bridge === signal.bridge) leaveBridge(state, channel)
      state.rooms.get(signal.bridge)?.delete(channel.id)
      break
    case 'held':
      channel.held = signal.held
      break
    case 'queue_joined':
      joinQueue(state, channel, signal)
      break
    case 'queue_left':
      leaveQueue(state, channel, signal)
      break
    case 'voicemail':
      if (call !== undefined && call.answeredUs === null) call.voicemail = true
      break
    case 'room':
      enterRoom(state, signal, channel, signal.room)
      break
    case 'recording_started':
      record(state, channel, signal.atUs, signal.path)
      break
    case 'recording_stopped':
      stopRecording(state, channel, signal)
      break
    case 'recording_path':
      setRecordingPath(state, channel, signal.path)
      break
    case 'variable':
      if (call !== undefined) call.variables[signal.name] = signal.value
      break
    case 'hangup_requested':
      hungUp(state, channel)
      break
    default:
      signal satisfies never
  }
  touch(state, callOf(state, channel))
}

function addChannel(state: TrackerState, signal: At & Extract<ChannelSignal, { kind: 'channel' }>): Channel {
  const known = state.channels.get(signal.id)
  if (known !== undefined) return known
  const channel = newChannel(signal.id, signal.endpoint)
  channel.linkedId = signal.linkedId
  channel.dialled = signal.dialled
  channel.shown = signal.shown
  channel.originated = signal.originated
  state.channels.set(channel.id, channel)
  const call = callByLinkedId(state, signal.linkedId)
  if (call !== undefined && !call.ended) place(state, channel, call)
  else if (signal.linkedId !== null) begin(state, signal, channel, signal.linkedId)
  bury(state, channel)
  return channel
}

/** A channel that belongs to no call yet begins one; a virtual one begins what may become one. */
function begin(state: TrackerState, at: At, channel: Channel, linkedId: string): void {
  const call = openCall(state, linkedId, at.atUs, at.atUs)
  claimLinkedId(state, call, linkedId)
  place(state, channel, call)
  if (isVirtual(channel)) return
  call.root = channel.id
  beginDirection(call, channel)
  parentOf(state, call, channel)
  const waitUs =
    channel.endpoint.kind === 'external'
      ? destination(channel.dialled) === null
        ? TRUNK_START_US
        : null
      : EXTENSION_START_US
  call.startDueUs = waitUs === null ? null : at.arrivedUs + waitUs
  if (waitUs !== null) call.settled = false
}

/** A party that has another call on hold makes this one for it. */
function parentOf(state: TrackerState, call: Call, channel: Channel): void {
  if (channel.endpoint.kind !== 'extension' || channel.originated) return
  for (const other of state.channels.values()) {
    if (!other.held || !isUp(other) || other.id === channel.id) continue
    if (other.endpoint.kind === 'extension' && other.endpoint.number === channel.endpoint.number)
      call.parentId = other.callId
  }
}

type Call = NonNullable<ReturnType<typeof callOf>>

/** The end of a channel may come before its beginning. */
function bury(state: TrackerState, channel: Channel): void {
  const tombstone = state.tombstones.get(channel.id)
  if (tombstone === undefined) return
  state.tombstones.delete(channel.id)
  hangup(state, tombstone, channel.id, tombstone.end)
}

function purge(state: TrackerState): void {
  for (const [id, tombstone] of state.tombstones) {
    if (state.nowUs - tombstone.arrivedUs < TOMBSTONE_US) break
    state.tombstones.delete(id)
  }
}

function dial(state: TrackerState, signal: At & Extract<ChannelSignal, { kind: 'dial' }>): void {
  const known = channelOf(state, signal.dest)
  const dest =
    known ??
    addChannel(state, {
      ...signal,
      kind: 'channel',
      id: signal.dest,
      linkedId: null,
      dialled: null,
      originated: signal.source === null,
    })
  beginDial(state, signal, signal.source, dest, signal.endpoint, signal.shown)
  if (dest.callId !== null || isVirtual(dest)) return
  // Who dials was never seen: the call began before we listened.
  begin(state, signal, dest, signal.source ?? dest.id)
  const call = callOf(state, dest)
  if (call !== undefined) call.partial = signal.source !== null
}

function pair(state: TrackerState, oneId: string, twoId: string): void {
  const one = channelOf(state, oneId)
  const two = channelOf(state, twoId)
  if (one === undefined || two === undefined || one === two) return
  one.pair = two.id
  one.half = 1
  two.pair = one.id
  two.half = 2
  touch(state, callOf(state, one))
  touch(state, callOf(state, two))
}

function dialed(state: TrackerState, signal: At & Extract<ChannelSignal, { kind: 'dialed' }>): void {
  const dest = channelOf(state, signal.dest)
  if (dest === undefined) return
  if (dest.dial !== null) endDial(state, signal, dest, signal.result, signal.forwardedTo)
  else if (signal.result === 'answered' && !isVirtual(dest)) {
    // Answered without having been dialled: it took the call over.
    const source = channelOf(state, signal.source)
    if (source !== undefined) join(state, signal, dest, source)
  }
}

/** The channel is elsewhere in the dialplan; a group that it rings right now is named after the place. */
function moveTo(state: TrackerState, channel: Channel, dialled: string): void {
  const place = destination(dialled)
  if (place === null) return
  channel.dialled = place
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const stage of call.stages) {
    if (stage.kind === 'group' && stage.source === channel.id && !stage.ended) stage.target = place
  }
  if (!call.told && call.root === channel.id && call.did === null) beginDirection(call, channel)
}

function bridged(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'bridged' }>,
): void {
  enterBridge(state, channel, signal.bridge)
  channel.room = signal.room
  channel.waiting = signal.waiting
  if (signal.room) enterRoom(state, signal, channel, signal.bridge)
  for (const other of heardBy(state, channel)) {
    other.spoke = true
    if (!isVirtual(channel)) channel.spoke = true
    touch(state, callOf(state, other))
  }
}

function joinQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_joined' }>,
): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const open = call.queues.some((queue) => queue.name === signal.queue && queue.leftUs === null)
  if (open) return
  const stage = addStage(state, call, {
    kind: 'queue',
    target: signal.queue,
    source: channel.id,
    name: null,
    startedUs: signal.atUs,
  })
  call.queues.push({
    stageId: stage.id,
    name: signal.queue,
    position: signal.position,
    joinedUs: signal.atUs,
    leftUs: null,
    leftArrivedUs: null,
    result: null,
    answeredUs: null,
  })
}

function leaveQueue(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'queue_left' }>,
): void {
  const call = callOf(state, channel)
  const queue = call?.queues.findLast((one) => stageOf(call, one.stageId)?.ended === false)
  if (queue === undefined) return
  queue.leftUs ??= signal.atUs
  queue.leftArrivedUs ??= signal.arrivedUs
  // "Abandoned" is what a time-out looks like at first; what comes later knows better.
  if (signal.result !== null) queue.result = signal.result
}

function nameMember(state: TrackerState, dest: Channel, name: string): void {
  dest.endpoint = { ...dest.endpoint, name } satisfies Endpoint
  const call = callOf(state, dest)
  const stage = call === undefined ? undefined : stageOf(call, dest.dial?.stageId ?? null)
  if (stage !== undefined) stage.name = name
}

function hungUp(state: TrackerState, channel: Channel): void {
  channel.hungUpItself = true
  const call = callOf(state, channel)
  if (call === undefined || isVirtual(channel)) return
  const answered = channel.dial === null || channel.dial.answeredUs !== null
  if (channel.id === call.root) call.hungUpBy ??= 'caller'
  else if (answered) call.hungUpBy ??= 'callee'
}

function hangup(state: TrackerState, at: { atUs: number; arrivedUs: number }, id: string, end: End): void {
  const channel = channelOf(state, id)
  if (channel === undefined) {
    state.tombstones.set(id, { atUs: at.atUs, arrivedUs: at.arrivedUs, end })
    return
  }
  if (!isUp(channel)) return
  channel.goneUs = at.atUs
  channel.goneArrivedUs = at.arrivedUs
  channel.end = end
  leaveBridge(state, channel)
  for (const room of state.rooms.values()) room.delete(id)
  const call = callOf(state, channel)
  if (call === undefined) {
    state.channels.delete(id)
    return
  }
  for (const recording of call.recordings) {
    if (recording.channel === id) recording.endedUs ??= at.atUs
  }
  touch(state, call)
  for (const other of state.calls.values()) if (other.consultedBy === id) touch(state, other)
}
