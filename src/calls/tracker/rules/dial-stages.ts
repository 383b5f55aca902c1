import type { StageResult } from '../../../lib/call-enums.ts'
import { diallersOf, isRungByQueue } from '../facts/diallers.ts'
import { newStage } from '../state/initial-state.ts'
import { channelOf, markChanged, markUnplaced, stageOf } from '../state/registry.ts'
import { type Call, type Channel, isPartyStage, isUp, type Stage, type TrackerState } from '../state/state.ts'
import { decideDirectionByDial } from './direction.ts'

/** The stages of dials. */

/** Gives a dial its stage: a new one, or the stage of another device of the same party. */
export function assignStage(
  state: TrackerState,
  call: Call | undefined,
  dest: Channel,
  party: Channel | null,
  own: boolean,
): void {
  const dial = dest.dial
  if (call === undefined || dial === null) return
  const sourceId = party?.id ?? null
  const kind = dest.endpoint.kind === 'external' ? 'external' : 'user'
  const target = dest.endpoint.number
  // Another device of the party, as long as one rings; a later dial is a new attempt, even if the first is not over
  // yet.
  const same = call.stages.find(
    (stage) =>
      stage.kind === kind &&
      stage.target === target &&
      stage.source === sourceId &&
      isOpen(stage) &&
      !stage.answered &&
      legsRinging(state, stage) &&
      !isOfLeftQueue(state, call, stage, dest),
  )
  const stage =
    same ?? addStage(state, call, { kind, target, source: sourceId, name: dest.endpoint.name, startedUs: dial.beganUs })
  stage.own = own
  if (!stage.legs.includes(dest.id)) stage.legs.push(dest.id)
  markUnplaced(state, call)
  nameStage(state, stage, stage.name ?? dest.endpoint.name)
  dial.stageId = stage.id
  call.hungUpBy = null
  if (!own) decideDirectionByDial(state, call, dest, party)
  markChanged(state, call)
}

/** Names the party of a stage, and its devices that show no name: FreeSWITCH shows it at one of them only. */
export function nameStage(state: TrackerState, stage: Stage, name: string | null): void {
  stage.name = name
  for (const id of stage.legs) {
    const device = channelOf(state, id)
    if (device !== undefined && device.endpoint.name === null) device.endpoint = { ...device.endpoint, name }
  }
}

/**
 * Returns whether a stage belongs to a queue that the caller has left, so that its phones are about to stop. A dialler
 * outside the queue shows it too.
 */
function isOfLeftQueue(state: TrackerState, call: Call, stage: Stage, dest: Channel): boolean {
  let id = stage.parentId
  for (let depth = 0; id !== null && depth < MAX_NESTING; depth++) {
    const queue = call.queues.find(({ stageId }) => stageId === id)
    if (queue !== undefined) return queue.answeredUs === null && (queue.leftUs !== null || isPastQueue(state, dest))
    id = stageOf(call, id)?.parentId ?? null
  }
  return false
}

const isPastQueue = (state: TrackerState, dest: Channel): boolean =>
  channelOf(state, dest.dial?.source ?? null) !== undefined && !isRungByQueue(state, dest)

/** Returns whether a stage has not ended yet. */
const isOpen = (stage: Stage): boolean => !stage.ended && stage.result === null

/** Adds a stage to a call and returns it; `attempt` counts the stages with the same target. */
export function addStage(
  state: TrackerState,
  call: Call,
  of: {
    kind: Stage['kind']
    target: string | null
    source: string | null
    name: string | null
    startedUs: number | null
  },
): Stage {
  const id = state.newId(of.startedUs ?? state.atUs)
  const stage = newStage({ ...of, id, attempt: attemptsAt(call, of) + 1 })
  call.stages.push(stage)
  return stage
}

/** Returns the number of stages with a target, not counting `except`. */
export const attemptsAt = (call: Call, of: Pick<Stage, 'kind' | 'target'>, except?: Stage): number =>
  call.stages
    .filter((stage) => stage !== except && stage.kind === of.kind && stage.target === of.target)
    .reduce((last, stage) => Math.max(last, stage.attempt), 0)

/** Ends a stage with its result. */
export function closeStage(stage: Stage, atUs: number | null, result: StageResult): void {
  stage.ended = true
  stage.endedUs = atUs
  // A party that did not answer has no answered stage, whatever the PBX reports.
  stage.result = result === 'answered' && isPartyStage(stage) && !stage.answered ? 'other' : result
}

const MAX_NESTING = 16

/** Returns the queue in which this party still waits, the outermost one: it makes the party's dials from now on. */
export function openQueue(call: Call, party: Channel | null): Stage | undefined {
  const stages = call.queues.flatMap(({ stageId, leftUs, answeredUs }) =>
    leftUs === null && answeredUs === null ? (stageOf(call, stageId) ?? []) : [],
  )
  return stages.find(({ ended, source }) => !ended && source === (party?.id ?? null))
}

function legsRinging(state: TrackerState, stage: Stage): boolean {
  return stage.legs.some((id) => {
    const leg = channelOf(state, id)
    // A phone that the last snapshot lacks has stopped ringing unseen.
    return (
      leg !== undefined &&
      isUp(leg) &&
      leg.missingUs === null &&
      leg.dial?.endedUs === null &&
      !isBehindGoneHalf(state, leg)
    )
  })
}

/** Returns whether a virtual half in front of a phone has ended: the PBX reports the end of the phone after it. */
function isBehindGoneHalf(state: TrackerState, leg: Channel): boolean {
  return diallersOf(state, leg).some(({ channel }) => {
    const half = channelOf(state, channelOf(state, channel)?.pair ?? null)
    return half !== undefined && !isUp(half)
  })
}
