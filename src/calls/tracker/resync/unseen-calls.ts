import type { At, SnapshotChannel } from '../../signal.ts'
import { noteDialPlace, noteFoundAnswered, noteFoundDialled } from '../facts/dials.ts'
import { destination, startAt } from '../facts/places.ts'
import { noteListedGroup } from '../facts/ringing.ts'
import { place } from '../rules/arrange.ts'
import { startNow } from '../rules/call-start.ts'
import { endMissingMembers, noteOriginated } from '../rules/channels.ts'
import { originatedHalf } from '../rules/dial-origin.ts'
import { openQueue, ringAgain, rungBefore, stageOfOtherDevice } from '../rules/dial-stages.ts'
import { placeDial } from '../rules/dials.ts'
import { beginClickToCall, beginUnseen, beginWithCaller, decideDirectionByDial } from '../rules/direction.ts'
import { enterConference } from '../rules/linked-calls.ts'
import { joinQueue, noteLeftUnseen } from '../rules/queues.ts'
import { takeOverUnseen } from '../rules/transfers.ts'
import { newChannel } from '../state/initial-state.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  claimLinkedId,
  enterBridge,
  heardBy,
  isBeyondLimit,
  markChanged,
  markUnplaced,
  openCall,
  placeInCall,
  putChannel,
  stageOf,
} from '../state/registry.ts'
import { addLeg, addStage, awaitEnd, noteBegin } from '../state/stage-moves.ts'
import {
  type Call,
  type Channel,
  isUp,
  isVirtual,
  type QueueState,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { tenantOf } from '../state/tenants.ts'
import { noteUnseen } from '../state/unseen.ts'
import type { Listing } from './listing.ts'
import { rungFor } from './unseen-consultations.ts'
import { pickedUpBy } from './unseen-transfers.ts'

/** Adds the channels and calls of a snapshot that began while there was no connection. */

/** Adds an unknown channel, with its call or stage. */
export function addListed(state: TrackerState, at: At, row: SnapshotChannel, listed: Listing): void {
  // The snapshot lists it twice.
  if (state.channels.has(row.id)) return
  const sourceId = row.source ?? (row.callee ? callerOf(state, row, listed) : null)
  const known =
    callByLinkedId(state, row.linkedId) ?? callOf(state, channelOf(state, sourceId)) ?? pickedUpBy(state, row)
  if (known === undefined && isBeyondLimit(state, row.linkedId ?? row.id)) return
  const dialledNumber = row.group ?? row.dialledNumber
  const tenant = tenantOf(state, row.tenant)
  const channel = newChannel(row.id, row.endpoint, { linkedId: row.linkedId, tenant, dialledNumber })
  putChannel(state, channel)
  if (row.group !== undefined) noteListedGroup(state, channel, row.group)
  const call = known ?? openUnseen(state, at, row)
  placeInCall(state, channel, call)
  if (known === undefined) noteUnseen(call)
  if (row.bridge !== null) enterListed(state, at, channel, row)
  channel.shown = row.shown ?? null
  if (isVirtual(channel)) {
    if (row.originated === true) noteOriginated(channel)
    pairUnseen(state, channel, row, sourceId)
    noteActivity(state, at, channel, row)
    return
  }
  if (row.callee) {
    addUnseenStage(state, channel, row, { call, diallerId: sourceId })
    return
  }
  if (row.originated === true && call.root === null) {
    addOriginated(state, at, { call, channel, row })
    noteActivity(state, at, channel, row)
    return
  }
  if (call.root !== null) {
    // It took over an existing call: a pick-up or a retrieved parking.
    const party = heardBy(state, channel).find((one) => callOf(state, one) === call)
    if (row.up) addUnseenStage(state, channel, row, { call, diallerId: party?.id ?? call.root })
    noteActivity(state, at, channel, row)
    return
  }
  // The call began with its caller, before the rung party that was seen first; its emitted events stay.
  if (!call.emitted) call.startedUs = earlierOf(known?.startedUs ?? null, startOf(row, at))
  beginWithCaller(call, { ...channel, dialledNumber: row.dialledNumber })
  if (row.up && !row.callee) call.pbxAnswered = true
  // Who was called is known: groups are named after the place that rings them.
  startAt(channel, destination(row.place ?? null) ?? row.dialledNumber)
  noteActivity(state, at, channel, row)
}

/** Notes where a caller is: in a queue, which rings for it from then on, or leaving a message. */
export function noteActivity(state: TrackerState, at: At, channel: Channel, row: SnapshotChannel): void {
  const { activity } = row
  const call = callOf(state, channel)
  if (call !== undefined) leaveQueues(state, at, channel, row)
  if (call === undefined || activity === undefined) return
  if (activity.kind === 'voicemail' && call.answeredUs === null) {
    call.voicemail = true
    markChanged(state, call)
  }
  if (activity.kind === 'conference' && activity.conference !== undefined && isUp(channel))
    enterConference(state, at, channel, activity.conference, true)
  if (activity.kind !== 'queue') return
  const { queue, name = null } = activity
  // A caller that was answered is still in the application.
  const sourceOf = ({ stageId }: QueueState) => stageOf(call, stageId)?.source
  // A caller that took the place of another one in the queue is the source of its stage.
  const isKnown = (one: QueueState) =>
    (one.channel === channel.id || sourceOf(one) === channel.id) && one.name === queue
  if (call.queues.some((one) => isKnown(one) && (one.leftUs === null || one.answeredUs !== null))) return
  joinQueue(state, channel, { ...at, kind: 'queue_joined', id: channel.id, queue, name, position: null })
  const joined = stageOf(call, call.queues.find(isKnown)?.stageId ?? null)
  // When it joined was not seen.
  if (joined !== undefined) noteBegin(joined, null)
}

/**
 * Takes a caller out of the queues that it has left unseen: it is at another place of the dialplan, or in another queue
 * or application.
 */
function leaveQueues(state: TrackerState, at: At, channel: Channel, { place, activity }: SnapshotChannel): void {
  const now = destination(place ?? null)
  for (const { name, channel: id, leftUs, answeredUs, place: joinedAt } of callOf(state, channel)?.queues ?? []) {
    if (id !== channel.id || leftUs !== null || answeredUs !== null) continue
    const isElsewhere = now !== null && joinedAt != null && joinedAt !== now
    const isThere = activity === undefined ? !isElsewhere : activity.kind === 'queue' && activity.queue === name
    const left = isThere ? undefined : noteLeftUnseen(state, channel, at, name)
    if (left !== undefined) endMissingMembers(state, channel, left, at)
  }
}

/** Adds a party that the PBX rang first: the agent in click-to-call, or a dialler's customer. */
function addOriginated(
  state: TrackerState,
  at: At,
  { call, channel, row }: { call: Call; channel: Channel; row: SnapshotChannel },
): void {
  const isAgent = channel.endpoint.kind === 'extension'
  call.startedUs = startOf(row, at)
  beginClickToCall(call, channel)
  addUnseenStage(state, channel, row, { call, diallerId: null, own: isAgent })
}

function pairUnseen(state: TrackerState, channel: Channel, row: SnapshotChannel, sourceId: string | null): void {
  const { pair } = row
  if (pair !== undefined) {
    channel.pair = pair.id
    channel.half = pair.half
    const other = channelOf(state, pair.id)
    if (other !== undefined && isVirtual(other))
      Object.assign(other, { pair: channel.id, half: pair.half === 1 ? 2 : 1 })
  }
  if (!row.callee) return
  noteFoundDialled(state, channel, sourceId, { rings: false })
  if (row.up) noteFoundAnswered(state, channel)
}

/**
 * Returns the id of the channel that calls a listed one in the same call, `null` if it is unknown. A party that the PBX
 * rang first is listed as dialled, and calls the next party once it has answered.
 */
export function callerOf(state: TrackerState, row: SnapshotChannel, { byId, callers }: Listing): string | null {
  const caller = row.linkedId === null ? undefined : callers.get(row.linkedId)
  if (caller !== undefined) return caller.id
  const call = callByLinkedId(state, row.linkedId)
  if (call?.clickToCall !== true || call.root === row.id) return null
  const root = byId.get(call.root ?? '')
  return root?.up === true ? root.id : null
}

/** A channel began before it was listed, whatever the PBX's clock shows. */
const startOf = ({ startedUs }: SnapshotChannel, at: At): number | null =>
  startedUs === null ? null : Math.min(startedUs, at.atUs)

const earlierOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

function openUnseen(state: TrackerState, at: At, row: SnapshotChannel): Call {
  const startedUs = startOf(row, at)
  const call = openCall(state, row.linkedId ?? row.id, startedUs, startedUs ?? at.atUs)
  claimLinkedId(state, call, row.linkedId ?? row.id)
  return call
}

/** Adds the stage of a channel whose dial was not seen; unknown times stay `null`. */
export function addUnseenStage(
  state: TrackerState,
  channel: Channel,
  row: SnapshotChannel,
  { call: listedIn, diallerId, own = false }: { call: Call; diallerId: string | null; own?: boolean },
): void {
  // Those who are paged wait for nobody: the pager asks none of them.
  const isRung = row.callee && row.paged !== true
  const rung = diallerId === null || !isRung ? undefined : rungFor(state, channel, diallerId, row)
  const call = rung?.call ?? listedIn
  const sourceId = rung?.party.id ?? diallerId
  placeInCall(state, channel, call)
  if (call !== listedIn && !call.emitted) noteUnseen(call)
  const of: Pick<Stage, 'kind' | 'target' | 'source'> = {
    kind: channel.endpoint.kind === 'external' ? 'external' : 'user',
    target: channel.endpoint.number,
    source: sourceId,
  }
  noteFoundDialled(state, channel, diallerId, { rings: row.callee || own, paged: row.paged })
  const same = row.callee && !row.up ? stageOfOtherDevice(state, call, of, channel) : undefined
  const before = row.callee && same === undefined ? rungBefore(state, call, of, channel) : undefined
  if (before?.emitted.ended === false && !row.up) {
    awaitEnd(before)
    markChanged(state, call)
    return
  }
  if (isRungByPbx(state, channel, row)) {
    placeDial(state, channel)
    if (callOf(state, channel) === call) startNow(state, call)
    return
  }
  if (before?.emitted.ended === true) ringAgain(state, call, before, null)
  const stage = same ?? before ?? addStage(state, call, { ...of, name: channel.endpoint.name, startedUs: null })
  addLeg(stage, channel, own)
  markUnplaced(state, call)
  const party = channelOf(state, sourceId) ?? null
  if (isRung && row.up && party !== null) {
    const queue = openQueue(call, party)
    if (queue !== undefined || row.answeredGroup === undefined) place(stage, queue?.id ?? null)
    else {
      if (diallerId === party.id) noteDialPlace(channel, row.answeredGroup)
      noteListedGroup(state, party, row.answeredGroup)
    }
  }
  if (call.root === null && party === null) beginUnseen(call, channel)
  decideDirectionByDial(state, call, channel, party)
  if (row.up && (row.bridge !== null || !row.callee)) {
    if (!row.callee && party !== null) takeOverUnseen(call, stage, party)
    noteFoundAnswered(state, channel)
  }
  markChanged(state, call)
}

/** Returns whether a listed phone is rung by the PBX itself: the agent's in click-to-call, or the customer's. */
function isRungByPbx(state: TrackerState, channel: Channel, { callee, up, originated }: SnapshotChannel): boolean {
  return callee && !up && (originated === true || originatedHalf(state, channel)?.originated === true)
}

/**
 * Puts a channel into the bridge that a snapshot shows. A snapshot does not report the kind of a bridge: it is a
 * conference if the tracker knows one by this name, or the dialplan shows it.
 */
export function enterListed(
  state: TrackerState,
  at: At,
  channel: Channel,
  { bridge, activity }: SnapshotChannel,
): void {
  if (bridge === null) return
  channel.spoke = true
  const conference = state.conferences.has(bridge) || activity?.kind === 'conference'
  enterBridge(state, channel, { bridge, conference, holding: false })
  if (conference) enterConference(state, at, channel, bridge, true)
}
