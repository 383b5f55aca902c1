import type { At, ListedChannel } from '../signal.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  claimLinkedId,
  enterBridge,
  heardBy,
  openCall,
  place,
  touch,
} from './calls.ts'
import { addStage } from './dial-stages.ts'
import { beginDirection, decide, settleDirection } from './direction.ts'
import { enterRoom, expectLink } from './links.ts'
import { isOver } from './merges.ts'
import { newChannel, newDial } from './new-state.ts'
import { partyFor } from './origin.ts'
import { noteAnswer } from './stages.ts'
import type { Call, Channel, TrackerState } from './state.ts'
import { isUp, isVirtual } from './state.ts'

/** After a (re)connect: what is up and unknown began unseen; an answer, a ringing or a joining of what is known may have been missed. */
export function resync(state: TrackerState, at: At, listed: readonly ListedChannel[]): void {
  for (const row of listed) {
    const channel = channelOf(state, row.id)
    if (channel === undefined) continue
    channel.missingUs = null
    if (row.bridge !== null && row.bridge !== channel.bridge && isUp(channel))
      enterListed(state, at, channel, row.bridge)
    if (isUnseenCallee(state, channel, row)) missedDial(state, channel, row, listed)
    else catchUp(state, channel, row)
  }
  for (const row of listed) joinUnseen(state, row)
  const unknown = listed.filter((row) => !state.channels.has(row.id) && !state.tombstones.has(row.id))
  // Who was dialled is found through who dialled, and that through the virtual channels between them.
  const rank = (row: ListedChannel): number => (row.callee ? (row.endpoint.kind === 'virtual' ? 1 : 2) : 0)
  for (const row of unknown.toSorted((a, b) => rank(a) - rank(b))) addListed(state, at, row, listed)
}

/** A list does not say what a bridge is; that it is a conference is known from who entered it before. */
function enterListed(state: TrackerState, at: At, channel: Channel, bridge: string): void {
  enterBridge(state, channel, bridge)
  channel.room = state.rooms.has(bridge)
  channel.waiting = false
  if (channel.room) enterRoom(state, at, channel, bridge)
}

/** A party that now talks with one of another call, and that the PBX counts to that: it was transferred, or bridged, unseen. */
function joinUnseen(state: TrackerState, row: ListedChannel): void {
  const channel = channelOf(state, row.id)
  const own = callOf(state, channel)
  const other = callByLinkedId(state, row.linkedId)
  if (channel === undefined || own === undefined || other === undefined || own === other) return
  if (!isUp(channel) || isVirtual(channel) || isOver(own) || isOver(other)) return
  // Whose call is held back since it may be a pick-up did pick up, wherever it is now.
  if (!own.told && own.root === channel.id && own.stages.length === 0) {
    expectLink(state, channel, other, true)
    return
  }
  // Whoever asks in a consultation is of the other call too, and talks with this one.
  const isJoined = heardBy(state, channel).some((one) => callOf(state, one) === other && one.id !== own.consultedBy)
  if (isJoined) expectLink(state, channel, other, true)
}

/** The channel was seen, and that it was dialled was not. */
function isUnseenCallee(state: TrackerState, channel: Channel, row: ListedChannel): boolean {
  const call = callOf(state, channel)
  if (!row.callee || channel.dial !== null || isVirtual(channel) || !isUp(channel)) return false
  // Else its dial may be about to be told.
  if (!row.ringing && !(row.up && row.bridge !== null)) return false
  return call !== undefined && !call.ended && call.root !== channel.id
}

function missedDial(state: TrackerState, channel: Channel, row: ListedChannel, listed: readonly ListedChannel[]): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  call.partial = true
  addUnseenStage(state, call, channel, row, row.source ?? callerRow(row, listed))
}

/** An answer or a ringing that was not seen. */
function catchUp(state: TrackerState, channel: Channel, row: ListedChannel): void {
  if (row.up && isUp(channel)) channel.upUs ??= state.atUs
  const dial = channel.dial
  const call = callOf(state, channel)
  if (dial === null || call === undefined || !isUp(channel) || dial.answeredUs !== null || isVirtual(channel)) return
  const stage = call.stages.find((one) => one.legs.includes(channel.id))
  if (stage === undefined || stage.ended || stage.answered) return
  if (row.up && row.bridge !== null) {
    stage.rang = true
    stage.answered = true
    dial.answeredUs = state.atUs
    noteAnswer(call, stage, channel, state.atUs)
    call.partial = true
    touch(state, call)
  } else if (row.ringing && !stage.rang) {
    stage.rang = true
    dial.rangUs ??= state.atUs
    touch(state, call)
  }
}

function addListed(state: TrackerState, at: At, row: ListedChannel, listed: readonly ListedChannel[]): void {
  // A list that holds it twice.
  if (state.channels.has(row.id)) return
  const channel = newChannel(row.id, row.endpoint)
  channel.linkedId = row.linkedId
  channel.dialled = row.dialled
  state.channels.set(channel.id, channel)
  channel.spoke = row.bridge !== null
  const sourceId = row.source ?? (row.callee ? callerRow(row, listed) : null)
  const call =
    callByLinkedId(state, row.linkedId) ?? callOf(state, channelOf(state, sourceId)) ?? openUnseen(state, at, row)
  place(state, channel, call)
  call.partial = true
  if (row.bridge !== null) enterListed(state, at, channel, row.bridge)
  if (isVirtual(channel)) {
    pairUnseen(state, channel, row, sourceId)
    return
  }
  if (row.callee) {
    addUnseenStage(state, call, channel, row, partyOfSource(state, sourceId))
    return
  }
  if (call.root !== null) {
    // It took over a call that there was: picked it up, or retrieved it, wherever it is now.
    const party = heardBy(state, channel).find((one) => callOf(state, one) === call)
    if (row.up) addUnseenStage(state, call, channel, row, party?.id ?? call.root)
    return
  }
  call.root = channel.id
  call.startedUs = startOf(row, at)
  beginDirection(call, channel)
  if (row.up && !row.callee) call.pbxAnswered = true
}

function pairUnseen(state: TrackerState, channel: Channel, row: ListedChannel, sourceId: string | null): void {
  const { pair } = row
  if (pair !== undefined) {
    channel.pair = pair.id
    channel.half = pair.half
    const other = channelOf(state, pair.id)
    if (other !== undefined && isVirtual(other))
      Object.assign(other, { pair: channel.id, half: pair.half === 1 ? 2 : 1 })
  }
  if (!row.callee) return
  channel.dial = newDial(sourceId, null, state.nowUs)
  if (row.up) channel.dial.answeredUs = state.atUs
}

/** For whom a channel dials: the party behind it, where it is virtual. */
function partyOfSource(state: TrackerState, sourceId: string | null): string | null {
  const source = channelOf(state, sourceId)
  if (source === undefined || !isVirtual(source)) return sourceId
  return partyFor(state, source)?.id ?? sourceId
}

function callerRow(row: ListedChannel, listed: readonly ListedChannel[]): string | null {
  const caller = listed.find(
    (one) => !one.callee && one.linkedId !== null && one.linkedId === row.linkedId && one.endpoint.kind !== 'virtual',
  )
  return caller?.id ?? null
}

/** What is listed began before it was listed, whatever the PBX's clock says. */
const startOf = ({ startedUs }: ListedChannel, at: At): number | null =>
  startedUs === null ? null : Math.min(startedUs, at.atUs)

function openUnseen(state: TrackerState, at: At, row: ListedChannel): Call {
  const startedUs = startOf(row, at)
  const call = openCall(state, row.linkedId ?? row.id, startedUs, startedUs ?? at.atUs)
  claimLinkedId(state, call, row.linkedId ?? row.id)
  return call
}

function addUnseenStage(
  state: TrackerState,
  call: Call,
  channel: Channel,
  row: ListedChannel,
  sourceId: string | null,
): void {
  const stage = addStage(state, call, {
    kind: channel.endpoint.kind === 'external' ? 'external' : 'user',
    target: channel.endpoint.number,
    source: sourceId,
    name: channel.endpoint.name,
    startedUs: null,
  })
  stage.startedUs = null
  stage.legs.push(channel.id)
  stage.rang = true
  channel.dial = newDial(sourceId, null, state.nowUs)
  channel.dial.stageId = stage.id
  const party = channelOf(state, sourceId) ?? null
  if (call.root === null && party === null) beginUnseen(call, channel)
  settleDirection(state, call, channel, party)
  if (row.up && (row.bridge !== null || !row.callee)) {
    channel.dial.answeredUs = state.atUs
    stage.answered = true
    noteAnswer(call, stage, channel, state.atUs)
    call.answeredBy ??= null
  }
  touch(state, call)
}

/** Only the party that was called is still there: all that can be said is whom it is. */
function beginUnseen(call: Call, channel: Channel): void {
  call.root = channel.id
  decide(call, channel.endpoint.kind === 'external' ? 'outbound' : 'internal')
  call.to = {
    number: channel.endpoint.number,
    name: channel.endpoint.name,
    extension: channel.endpoint.kind === 'extension' ? channel.endpoint.number : null,
  }
  call.settled = true
}
