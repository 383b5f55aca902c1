import type { At, SnapshotChannel } from '../../signal.ts'
import { noteDialledFrom, noteFoundAnswered, noteFoundRinging } from '../facts/dials.ts'
import { destination, noteMove } from '../facts/places.ts'
import { noteListedGroup, noteRungAll } from '../facts/ringing.ts'
import { openQueue } from '../rules/dial-stages.ts'
import { compareHold } from '../rules/holds.ts'
import { resyncRecordings } from '../rules/recordings.ts'
import { callOf, channelOf, leaveBridge, markChanged, markUnplaced, noteHeard } from '../state/registry.ts'
import { type Channel, isUp, isVirtual, type Stage, type TrackerState } from '../state/state.ts'
import { noteTenant } from '../state/tenants.ts'
import { type Listing, listingOf } from './listing.ts'
import { addListed, addUnseenStage, callerOf, enterListed, noteActivity } from './unseen-calls.ts'
import { relateConsultation } from './unseen-consultations.ts'
import { joinFound, joinReplaced, joinUnseen, markWhoLeft } from './unseen-transfers.ts'

/**
 * Applies a snapshot, with a pause after each row. An unknown channel began while there was no connection; a known one
 * may have been answered, rung or transferred meanwhile.
 */
export function* resync(state: TrackerState, at: At, rows: readonly SnapshotChannel[]): Generator<void> {
  const listed = yield* listingOf(rows)
  yield* joinReplaced(state, rows)
  for (const row of rows) {
    const channel = channelOf(state, row.id)
    if (channel === undefined) continue
    resyncKnown(state, at, { channel, row, listed })
    yield
  }
  for (const row of rows) {
    joinUnseen(state, row)
    yield
  }
  const unknown = rows.filter((row) => !state.channels.has(row.id) && !state.earlyEnds.has(row.id))
  // A dialled channel is found through its dialler, and the dialler through the virtual channels in between.
  // The party that asks in a consultation is older than the party that it asks.
  const rank = (row: SnapshotChannel): number => (row.callee ? (row.endpoint.kind === 'virtual' ? 1 : 2) : 0)
  const age = (row: SnapshotChannel): number => row.startedUs ?? 0
  for (const row of unknown.toSorted((a, b) => rank(a) - rank(b) || age(a) - age(b))) {
    addListed(state, at, row, listed)
    yield
  }
  for (const row of unknown) {
    relateConsultation(state, row, listed)
    joinFound(state, row)
    yield
  }
  yield* markWhoLeft(state, at, listed)
}

/** A known channel, and its row in a list. */
type Listed = { readonly channel: Channel; readonly row: SnapshotChannel; readonly listed: Listing }

function resyncKnown(state: TrackerState, at: At, { channel, row, listed }: Listed): void {
  const heardUs = state.heardOf.get(channel.callId ?? '') ?? 0
  noteHeard(state, channel)
  noteTenant(state, channel, row.tenant ?? null)
  // All of it was reported in this connection: a list, made between two events, adds nothing.
  if (channel.seenSeq <= state.connectedSeq) catchUpWith(state, at, { channel, row, listed })
  // Holds are not reported by every phone. A party that was answered unseen may hold the other one.
  if (row.onHold !== undefined)
    compareHold(state, at, channel, { onHold: row.onHold, isNews: heardUs <= (state.connectedArrivedUs ?? 0) })
}

/** Catches up with what happened to a channel while there was no connection. */
function catchUpWith(state: TrackerState, at: At, { channel, row, listed }: Listed): void {
  if (row.bridge !== channel.bridge && isUp(channel)) {
    resyncRecordings(state, channel, row.bridge !== null)
    if (row.bridge !== null) enterListed(state, at, channel, row)
    else leaveBridge(state, channel)
  }
  // A phone that the list shows for the first time is not rung by an earlier group.
  if (row.rungAll === true || dialsOthers(state, channel, row)) noteRungAll(state, channel, { us: at.atUs, seq: 0 })
  if (isUp(channel)) noteListedPlace(state, at, channel, row)
  if (isUnseenCallee(state, channel, row)) missedDial(state, channel, row, listed)
  else catchUp(state, channel, row)
  if (isUp(channel)) noteActivity(state, at, channel, row)
}

/** Returns whether a caller's extension dials others than the phones of its last group: the next group. */
function dialsOthers(state: TrackerState, channel: Channel, { dials }: SnapshotChannel): boolean {
  const stages = callOf(state, channel)?.stages ?? []
  const group = stages.findLast(({ kind, shownBy }) => kind === 'group' && shownBy === channel.id)
  const members = group === undefined ? [] : stages.filter(({ parentId }) => parentId === group.id)
  const isNamed = ({ kind, target }: Stage): boolean => kind !== 'user' || dials?.includes(target ?? '') === true
  const areDialled = members.every(({ legs }) => legs.some((id) => channelOf(state, id)?.dial?.source === channel.id))
  return dials !== undefined && members.length > 0 && areDialled && !members.some(isNamed)
}

/** Notes where in the dialplan a caller is now, and that it rings a group there. */
function noteListedPlace(state: TrackerState, at: At, channel: Channel, row: SnapshotChannel): void {
  const place = destination(row.group ?? row.place ?? null)
  if (place !== null && place !== channel.dialledNumber) noteMove(channel, place, { us: at.atUs, seq: state.seq })
  // Its next event would have shown from where it made its last dials.
  if (place !== null) noteDialledFrom(state, channel, place)
  if (row.group !== undefined) noteListedGroup(state, channel, row.group)
}

/** Returns whether a channel was seen but its dial was not. */
function isUnseenCallee(state: TrackerState, channel: Channel, row: SnapshotChannel): boolean {
  const call = callOf(state, channel)
  if (!row.callee || channel.dial !== null || isVirtual(channel) || !isUp(channel)) return false
  // Otherwise its dial may still be reported.
  if (!row.ringing && !(row.up && row.bridge !== null)) return false
  return call !== undefined && !call.ended && call.root !== channel.id
}

function missedDial(state: TrackerState, channel: Channel, row: SnapshotChannel, listed: Listing): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  addUnseenStage(state, channel, row, { call, diallerId: row.source ?? callerOf(state, row, listed) })
}

/** Catches up with an answer or ringing that was missed. */
function catchUp(state: TrackerState, channel: Channel, row: SnapshotChannel): void {
  if (row.up && isUp(channel)) channel.upUs ??= state.atUs
  const dial = channel.dial
  const call = callOf(state, channel)
  if (dial === null || call === undefined || !isUp(channel) || dial.answeredUs !== null || isVirtual(channel)) return
  const stage = call.stages.find((one) => one.legs.includes(channel.id))
  if (stage === undefined || stage.ended || stage.answered) return
  // A party that the PBX rang by itself has answered once it is up, and so has one that is in the dialplan: it was
  // transferred there. Another one has only when it is connected.
  const isOwn = !row.callee && !dial.paged
  if (row.up && (row.bridge !== null || isOwn)) {
    noteFoundRinging(channel, state.atUs)
    noteFoundAnswered(state, channel)
    const party = channelOf(state, stage.source)
    if (row.answeredGroup !== undefined && party !== undefined && openQueue(call, party) === undefined)
      noteListedGroup(state, party, row.answeredGroup)
    markUnplaced(state, call)
    markChanged(state, call)
  } else if (row.ringing && !stage.rang) {
    noteFoundRinging(channel, state.atUs)
    markChanged(state, call)
  }
}
