import type { At, SnapshotChannel } from '../../signal.ts'
import { compareHold } from '../rules/holds.ts'
import { expectLink } from '../rules/linked-calls.ts'
import { isOver } from '../rules/merges.ts'
import { noteAnswer } from '../rules/stages.ts'
import { callByLinkedId, callOf, channelOf, heardBy, markChanged } from '../state/registry.ts'
import type { Channel, TrackerState } from '../state/state.ts'
import { isUp, isVirtual } from '../state/state.ts'
import { noteTenant } from '../state/tenants.ts'
import { addListed, addUnseenStage, callerRow, enterListed } from './unseen-calls.ts'

/**
 * Applies a snapshot: channels that are unknown began unseen; of those that are known an answer, a ring or a transfer
 * may have been missed.
 */
export function resync(state: TrackerState, at: At, listed: readonly SnapshotChannel[]): void {
  for (const row of listed) {
    const channel = channelOf(state, row.id)
    if (channel === undefined) continue
    channel.missingUs = null
    noteTenant(state, channel, row.tenant ?? null)
    if (row.onHold !== undefined) compareHold(state, at, channel, row.onHold)
    if (row.bridge !== null && row.bridge !== channel.bridge && isUp(channel))
      enterListed(state, at, channel, row.bridge)
    if (isUnseenCallee(state, channel, row)) missedDial(state, channel, row, listed)
    else catchUp(state, channel, row)
  }
  for (const row of listed) joinUnseen(state, row)
  const unknown = listed.filter((row) => !state.channels.has(row.id) && !state.earlyEnds.has(row.id))
  // The dialled channel is found through its dialler, and that through the virtual channels between them.
  const rank = (row: SnapshotChannel): number => (row.callee ? (row.endpoint.kind === 'virtual' ? 1 : 2) : 0)
  for (const row of unknown.toSorted((a, b) => rank(a) - rank(b))) addListed(state, at, row, listed)
}

/**
 * A party that now talks with one of another call, and that the PBX counts to that: it was transferred, or bridged,
 * unseen.
 */
function joinUnseen(state: TrackerState, row: SnapshotChannel): void {
  const channel = channelOf(state, row.id)
  const own = callOf(state, channel)
  const other = callByLinkedId(state, row.linkedId)
  if (channel === undefined || own === undefined || other === undefined || own === other) return
  if (!isUp(channel) || isVirtual(channel) || isOver(own) || isOver(other)) return
  // A call that is settling since it may be a pick-up was one, wherever its channel is now.
  if (!own.emitted && own.root === channel.id && own.stages.length === 0) {
    expectLink(state, channel, other, true)
    return
  }
  // The party that asks in a consultation belongs to the other call too, and talks with this one.
  const isJoined = heardBy(state, channel).some((one) => callOf(state, one) === other && one.id !== own.consultedBy)
  if (isJoined) expectLink(state, channel, other, true)
}

/** The channel was seen, and that it was dialled was not. */
function isUnseenCallee(state: TrackerState, channel: Channel, row: SnapshotChannel): boolean {
  const call = callOf(state, channel)
  if (!row.callee || channel.dial !== null || isVirtual(channel) || !isUp(channel)) return false
  // Else its dial may be about to be reported.
  if (!row.ringing && !(row.up && row.bridge !== null)) return false
  return call !== undefined && !call.ended && call.root !== channel.id
}

function missedDial(
  state: TrackerState,
  channel: Channel,
  row: SnapshotChannel,
  listed: readonly SnapshotChannel[],
): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  call.partial = true
  addUnseenStage(state, call, channel, row, row.source ?? callerRow(row, listed))
}

/** An answer or a ringing that was not seen. */
function catchUp(state: TrackerState, channel: Channel, row: SnapshotChannel): void {
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
    noteAnswer(state, call, stage, { leg: channel, enteredUs: state.atUs })
    call.partial = true
    markChanged(state, call)
  } else if (row.ringing && !stage.rang) {
    stage.rang = true
    dial.rangUs ??= state.atUs
    markChanged(state, call)
  }
}
