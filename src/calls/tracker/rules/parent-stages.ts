import type { StageResult } from '../../../events/enums.ts'
import { channelOf, stageOf } from '../state/registry.ts'
import { closeStage, noteMemberAnswered, noteMemberRang, settlingSince } from '../state/stage-moves.ts'
import { type Call, isUp, type QueueState, type Stage, type TrackerState } from '../state/state.ts'
import { isStill } from '../state/waits.ts'
import { bestOf, EXPLANATION_US, HANGUP_US } from './stage-results.ts'

/**
 * Groups and queues, the parents of their members' stages. A group ends with its last member; a queue when the caller
 * has left it and its members have ended.
 */

/** How long a queue that the caller left waits for the reason. */
const QUEUE_SETTLING_US = 1_000_000

/** Updates the groups and queues of a call from their members. */
export function updateParents(state: TrackerState, call: Call): void {
  // A group inside a group ends first.
  for (let open = openGroups(call), before = -1; open.length !== before; open = openGroups(call)) {
    before = open.length
    for (const stage of open) updateGroup(state, call, stage)
  }
  // A queue inside a queue was entered later, and ends first.
  for (const queue of call.queues.toReversed()) updateQueue(state, call, queue)
}

const openGroups = (call: Call): Stage[] => call.stages.filter((stage) => !stage.ended && stage.kind === 'group')

/** Returns the stages in a group or queue. */
export function membersOf(call: Call, id: string): Stage[] {
  return call.stages.filter((stage) => stage.parentId === id)
}

/**
 * Returns whether a group that the PBX shows continues with another member: nobody answered, and the caller is still
 * there.
 */
function isGoingOn(state: TrackerState, group: Stage, members: readonly Stage[]): boolean {
  const channel = channelOf(state, group.shownBy)
  if (channel === undefined || !isUp(channel) || group.rungOut) return false
  if (group.answered || members.some(({ answered }) => answered)) return false
  return !isElsewhere(channel.dialledNumber, group.target)
}

const isElsewhere = (dialled: string | null, place: string | null): boolean => dialled !== null && dialled !== place

function updateGroup(state: TrackerState, call: Call, group: Stage): void {
  const members = membersOf(call, group.id)
  if (members.length === 0 || !members.every((member) => member.ended)) return
  if (group.shownBy === null ? awaitsName(state, group) : isGoingOn(state, group, members)) return
  const endedUs = members.reduce((last, member) => Math.max(last, member.endedUs ?? 0), 0)
  closeGroup(state, group, members, endedUs === 0 ? null : endedUs)
}

/** Returns whether the dialplan extension that names a group may still be reported. */
function awaitsName(state: TrackerState, group: Stage): boolean {
  const dialler = channelOf(state, group.dialler)
  if (dialler === undefined || !isUp(dialler)) return false
  return isStill(state, settlingSince(state, group) + EXPLANATION_US)
}

/** Ends a group with the result that follows from its members' results. */
export function closeGroup(state: TrackerState, group: Stage, members: readonly Stage[], atUs: number | null): void {
  const answered = members.find((member) => member.answered || member.result === 'answered')
  const gaveUp = channelOf(state, group.source)?.hungUpItself !== false
  noteMemberAnswered(group, answered?.answeredUs ?? null)
  noteMemberRang(group, firstRing(members))
  // Its phones stop ringing a moment before the party that picks it up is connected.
  const overUs = group.answered && atUs !== null ? Math.max(atUs, group.answeredUs ?? atUs) : atUs
  closeStage(group, overUs, group.answered || answered !== undefined ? 'answered' : groupResult(members, gaveUp))
}

const firstRing = (members: readonly Stage[]): number | null =>
  members.reduce<number | null>(
    (first, one) => (one.rangUs !== null && (first === null || one.rangUs < first) ? one.rangUs : first),
    null,
  )

/** A group has the best result of its members, or `cancelled` if the caller gave up. */
function groupResult(members: readonly Stage[], gaveUp: boolean): StageResult {
  if (gaveUp && members.some((member) => member.result === 'cancelled')) return 'cancelled'
  return bestOf(members.map((member) => member.result)) ?? 'other'
}

function updateQueue(state: TrackerState, call: Call, queue: QueueState): void {
  const stage = stageOf(call, queue.stageId)
  if (stage === undefined || stage.ended) return
  const caller = channelOf(state, stage.source ?? queue.channel)
  const callerGone = caller === undefined || !isUp(caller)
  const members = membersOf(call, stage.id)
  const answered = members.find((member) => member.answered || member.result === 'answered')
  noteMemberRang(stage, firstRing(members))
  if (stage.answered) {
    if (members.every((member) => member.ended)) closeStage(stage, stage.answeredUs, 'answered')
    return
  }
  if (answered !== undefined) {
    if (!members.every((member) => member.ended)) return
    noteMemberAnswered(stage, answered.answeredUs)
    closeStage(stage, answered.endedUs, 'answered')
    return
  }
  if (!callerGone && queue.leftUs === null) return
  if (!members.every((member) => member.ended)) return
  const gaveUp = caller === undefined || caller.hungUpItself || caller.end?.result === 'cancelled'
  const isClear = queue.leftByKey || (!callerGone && queue.final && queue.result !== null)
  const isExplained = isClear || gaveUp || call.lost !== null || queue.result === 'timeout' || queue.result === 'other'
  const sinceUs = (callerGone ? caller?.goneArrivedUs : queue.leftArrivedUs) ?? state.nowUs
  // That the caller hung up may be reported a moment after the end of its channel.
  if (!isExplained && isStill(state, sinceUs + (callerGone ? HANGUP_US : QUEUE_SETTLING_US))) return
  const isLost = call.lost !== null && queue.leftUs === null
  const result = isLost ? 'other' : visitResult(queue, { gaveUp, callerGone })
  closeStage(stage, queue.leftUs ?? caller?.goneUs ?? null, result)
}

/** Returns how a visit to a queue ended that nobody answered: as the PBX reports, unless its caller is gone. */
function visitResult(
  { result }: QueueState,
  { gaveUp, callerGone }: { gaveUp: boolean; callerGone: boolean },
): StageResult {
  if (result === 'timeout' || result === 'other') return result
  if (gaveUp) return 'abandoned'
  return callerGone ? 'other' : (result ?? 'other')
}
