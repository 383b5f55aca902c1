import type { At, ChannelSignal, Signal } from '../signal.ts'
import {
  amendDial,
  noteDialAnswered,
  noteDialledFrom,
  noteFoundAnswered,
  noteFoundRinging,
  noteRinging,
} from './facts/dials.ts'
import { nameEndpoint } from './facts/endpoints.ts'
import { destination, noteMove } from './facts/places.ts'
import { noteGroup, noteRungAll } from './facts/ringing.ts'
import { closeCallsOfEarlierRun } from './resync/missing-channels.ts'
import {
  addChannel,
  applyDialBegin,
  callIn,
  endMissingMembers,
  hangup,
  pairHalves,
  purgeEarlyEnds,
} from './rules/channels.ts'
import { noteCustom } from './rules/customs.ts'
import { nameStage } from './rules/dial-stages.ts'
import { endDial, failDial } from './rules/dials.ts'
import {
  beginWithCaller,
  decideDirectionByListening,
  learnCaller,
  noteCalledExtension,
  noteChosen,
} from './rules/direction.ts'
import { noteHangupRequest } from './rules/hangups.ts'
import { setHold } from './rules/holds.ts'
import {
  enterConference,
  expectUnseenTransfer,
  joinDueLinks,
  joinUnseenLinks,
  linkCalls,
} from './rules/linked-calls.ts'
import { adopt } from './rules/merges.ts'
import { joinPageUnderWay } from './rules/pages.ts'
import { park, unpark } from './rules/parking.ts'
import { joinQueue, leaveQueue, noteGoesOn } from './rules/queues.ts'
import {
  pauseRecordings,
  resumeRecordings,
  setRecordingPath,
  startRecording,
  stopRecording,
} from './rules/recordings.ts'
import { waitAgain } from './rules/standby.ts'
import { attendedTransfer, blindTransfer, takeOverCall } from './rules/transfers.ts'
import { noteConversation } from './state/conversations.ts'
import {
  callOf,
  channelOf,
  enterBridge,
  heardBy,
  leaveBridge,
  leaveConference,
  markChanged,
  markIfLate,
  markUnplaced,
  noteHeard,
  noteNotFollowed,
  stageOf,
} from './state/registry.ts'
import { type Channel, isUp, isVirtual, type TrackerState } from './state/state.ts'
import { noteTenant } from './state/tenants.ts'

/**
 * Changes the state by one signal that is no snapshot. Emits nothing; a signal about an unknown channel changes
 * nothing.
 */
export function applySignal(state: TrackerState, signal: Exclude<Signal, { kind: 'snapshot' }>): void {
  if (state.pendingLinks.length > 0) joinDueLinks(state)
  const heard = channelOf(state, 'id' in signal ? signal.id : 'dest' in signal ? signal.dest : null)
  if (heard !== undefined) noteHeard(state, heard)
  switch (signal.kind) {
    case 'tick':
      purgeEarlyEnds(state)
      return
    case 'connected':
      closeCallsOfEarlierRun(state, signal)
      return
    case 'disconnected':
    case 'custom_without_call':
      return
    case 'channel':
      addChannel(state, signal)
      return
    case 'not_followed':
      state.heardUs = signal.atUs
      noteNotFollowed(state, signal.id)
      return
    case 'dial_begin':
      state.heardUs = signal.atUs
      applyDialBegin(state, signal)
      joinPageUnderWay(state, signal, callOf(state, channelOf(state, signal.dest)))
      meetBehind(state, signal, channelOf(state, signal.dest))
      return
    default:
      state.heardUs = signal.atUs
      applyToChannel(state, signal)
  }
}

/** The other half of a virtual channel may enter a conference before the dialler of this half is known. */
function meetBehind(state: TrackerState, at: At, dialled: Channel | undefined): void {
  const half = channelOf(state, dialled?.pair ?? null)
  if (half !== undefined && half.conference !== null) enterConference(state, at, half, half.conference)
}

/** Applies a signal about one channel, which must be known. */
function applyToChannel(state: TrackerState, signal: At & Exclude<ChannelSignal, { kind: UnknownKinds }>): void {
  switch (signal.kind) {
    case 'pair':
      pairHalves(state, signal.one, signal.two)
      return
    case 'dial_end':
      applyDialEnd(state, signal)
      return
    case 'dial_failed': {
      const source = channelOf(state, signal.source)
      if (source !== undefined) failDial(state, signal, source, signal)
      return
    }
    case 'blind_transfer':
      joinUnseenLinks(state, [signal.transferer])
      blindTransfer(state, signal, signal)
      return
    case 'attended_transfer':
      joinUnseenLinks(state, signal.transferers)
      attendedTransfer(state, signal, signal)
      return
    case 'joined': {
      const joiner = channelOf(state, signal.id)
      const into = channelOf(state, signal.into)
      if (joiner !== undefined && into !== undefined && isUp(joiner)) takeOverCall(state, signal, joiner, into)
      return
    }
    case 'member': {
      const dest = channelOf(state, signal.dest)
      if (dest !== undefined && signal.name !== null) nameMember(state, dest, signal.name)
      return
    }
    case 'hangup':
      joinWhoTalks(state, signal.id)
      hangup(state, signal, signal.id, signal.end)
      return
    case 'tenant':
      noteTenant(state, channelOf(state, signal.id), signal.value)
      return
    default: {
      const channel = channelOf(state, signal.id)
      if (channel !== undefined) applyToKnown(state, channel, signal)
    }
  }
}

/** Joins the calls of two parties that were found talking, before one of them leaves. */
function joinWhoTalks(state: TrackerState, id: string): void {
  if (state.pendingLinks.length === 0) return
  const channel = channelOf(state, id)
  const others = channel === undefined ? [] : heardBy(state, channel)
  joinUnseenLinks(state, [id, ...others.map((other) => other.id)])
}

/** Signals that need no known channel. */
type UnknownKinds = 'channel' | 'not_followed' | 'dial_begin' | 'custom_without_call'

type KnownKinds =
  | 'pair'
  | 'dial_end'
  | 'dial_failed'
  | 'blind_transfer'
  | 'attended_transfer'
  | 'joined'
  | 'member'
  | 'hangup'
  | 'tenant'
type Known = At & Exclude<ChannelSignal, { kind: UnknownKinds | KnownKinds }>

function applyToKnown(state: TrackerState, channel: Channel, signal: Known): void {
  const call = callOf(state, channel)
  switch (signal.kind) {
    case 'called_in':
      callIn(state, signal, channel)
      break
    case 'calls_extension':
      noteCalledExtension(call, channel, signal.endpoint)
      break
    case 'linked':
      linkCalls(state, channel, signal.linkedId)
      break
    case 'extension_changed':
      moveTo(state, channel, signal)
      break
    case 'caller_learned':
      learnCaller(call, channel, signal)
      break
    case 'group':
      noteGroup(state, channel, signal.place)
      break
    case 'rung_all':
      noteRungAll(state, channel)
      break
    case 'dialled_from':
      noteDialledFrom(state, channel, signal.place)
      break
    case 'ringing':
      noteRinging(channel, signal.atUs)
      break
    case 'up':
      channel.upUs ??= signal.atUs
      if (call !== undefined && channel.dial === null && !isVirtual(channel)) call.pbxAnswered = true
      break
    case 'bridged':
      applyBridged(state, channel, signal)
      break
    case 'unbridged':
      joinWhoTalks(state, channel.id)
      if (channel.bridge === signal.bridge) {
        if (channel.inHoldingBridge) unpark(state, channel)
        leaveBridge(state, channel)
        pauseRecordings(state, channel, signal.atUs)
      }
      if (channel.conference === signal.bridge) leaveConference(state, channel)
      break
    case 'hold':
      setHold(state, channel, signal)
      break
    case 'parked':
      park(state, signal, channel)
      break
    case 'listens':
      if (call !== undefined) decideDirectionByListening(call, channel)
      break
    case 'waits_again':
      waitAgain(state, signal, channel)
      break
    case 'queue_joined':
      joinQueue(state, channel, signal)
      break
    case 'queue_left': {
      const queue = leaveQueue(state, channel, signal)
      if (queue !== undefined) endMissingMembers(state, channel, queue, signal)
      break
    }
    case 'voicemail':
      if (call !== undefined) noteGoesOn(call, channel.id)
      if (call !== undefined && call.answeredUs === null) call.voicemail = true
      break
    case 'conference':
      enterConference(state, signal, channel, signal.conference)
      break
    case 'recording_started':
      startRecording(state, channel, signal)
      break
    case 'recording_stopped':
      stopRecording(state, channel, signal)
      break
    case 'recording_path':
      setRecordingPath(state, channel, signal.path)
      break
    case 'variable':
      if (call !== undefined) call.variables = { ...call.variables, [signal.name]: signal.value }
      break
    case 'custom':
      if (call !== undefined) noteCustom(call, signal.custom, signal.atUs)
      break
    case 'hangup_requested':
      noteHangupRequest(state, channel)
      break
    default:
      signal satisfies never
  }
  markChanged(state, callOf(state, channel))
}

function applyDialEnd(state: TrackerState, signal: At & Extract<ChannelSignal, { kind: 'dial_end' }>): void {
  const dest = channelOf(state, signal.dest)
  if (dest === undefined) return
  if (signal.unseen === true) {
    const call = callOf(state, dest)
    const isOpen = dest.dial?.answeredUs === null && dest.dial.endedUs === null && isUp(dest) && !isVirtual(dest)
    if (call === undefined || !isOpen) return
    noteFoundRinging(dest, signal.atUs)
    noteFoundAnswered(state, dest)
    markUnplaced(state, call)
    markChanged(state, call)
    return
  }
  if (signal.amends === true) {
    if (dest.dial?.result === 'no_answer') amendDial(dest, signal.result)
    markChanged(state, callOf(state, dest))
    return
  }
  // Asterisk 13 ends the transferer's dial although the same phone rings on for the transferee.
  if (signal.result !== 'answered' && signal.source !== null && dest.dial?.handedOverBy === signal.source) return
  if (dest.dial !== null) endDial(state, signal, dest, signal)
  else if (signal.result === 'answered' && !isVirtual(dest)) {
    // Answered without being dialled: it took the call over.
    const source = channelOf(state, signal.source)
    if (source !== undefined) takeOverCall(state, signal, dest, source)
  }
}

/** Notes that the channel has moved in the dialplan. */
function moveTo(
  state: TrackerState,
  channel: Channel,
  { extension, chosen }: Pick<Extract<ChannelSignal, { kind: 'extension_changed' }>, 'extension' | 'chosen'>,
): void {
  const place = destination(extension)
  if (place === null) return
  const isFirst = destination(channel.dialledNumber) === null
  noteMove(channel, place, { us: state.atUs, seq: state.seq })
  markIfLate(state, callOf(state, channel), state.atUs)
  const call = callOf(state, channel)
  if (call === undefined) return
  noteGoesOn(call, channel.id)
  // The caller's first extension decides the direction: the dialplan chooses later ones.
  if (!isFirst || call.emitted || call.root !== channel.id) return
  if (chosen === true) noteChosen(call, place)
  else beginWithCaller(call, channel)
}

function applyBridged(
  state: TrackerState,
  channel: Channel,
  signal: At & Extract<ChannelSignal, { kind: 'bridged' }>,
): void {
  if (!isUp(channel)) return
  enterBridge(state, channel, signal)
  resumeRecordings(state, channel, signal.atUs)
  takePlace(state, channel, channelOf(state, signal.insteadOf ?? null))
  if (!signal.holding) unpark(state, channel)
  if (signal.conference) enterConference(state, signal, channel, signal.bridge)
  const others = heardBy(state, channel)
  if (others.length > 0) answerByBridge(state, channel, signal.atUs)
  if (!isVirtual(channel)) noteConversation(channel, others)
  for (const other of others) {
    other.spoke = true
    noteConversation(other, isVirtual(channel) ? heardBy(state, other) : [channel])
    if (!isVirtual(channel)) {
      channel.spoke = true
      expectUnseenTransfer(state, channel, other)
    }
    markChanged(state, callOf(state, other))
  }
}

/** A virtual half replaces a party that transferred: a party dialled behind it is dialled for the other party. */
function takePlace(state: TrackerState, half: Channel, party: Channel | undefined): void {
  if (!isVirtual(half) || party === undefined || isVirtual(party)) return
  adopt(state, half)
}

/** A phone that is up and talks has answered, even if the end of its dial was not seen. */
function answerByBridge(state: TrackerState, channel: Channel, atUs: number): void {
  if (channel.upUs !== null && !isVirtual(channel)) noteDialAnswered(state, channel, atUs)
}

function nameMember(state: TrackerState, dest: Channel, name: string): void {
  nameEndpoint(dest, name)
  const call = callOf(state, dest)
  const stage = call === undefined ? undefined : stageOf(call, dest.dial?.stageId ?? null)
  if (stage !== undefined && !stage.emitted.ended) nameStage(state, stage, name)
}
