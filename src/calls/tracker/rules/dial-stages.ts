import type { StageResult } from '../../../events/enums.ts'
import { halvesBefore, isRungByQueue } from '../facts/diallers.ts'
import { nameEndpoint } from '../facts/endpoints.ts'
import { newStage } from '../state/initial-state.ts'
import { channelOf, dropChannel, markChanged, markUnplaced, stageOf } from '../state/registry.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
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
  const same = stageOfOtherDevice(state, call, { kind, target, source: sourceId }, dest)
  const before = same === undefined ? rungBefore(state, call, { kind, target, source: sourceId }, dest) : undefined
  if (before?.emitted.ended === false) {
    before.again = true
    return
  }
  if (before !== undefined) ringAgain(state, call, before, dial.beganUs)
  const stage =
    same ??
    before ??
    addStage(state, call, { kind, target, source: sourceId, name: dest.endpoint.name, startedUs: dial.beganUs })
  stage.own = own
  addLeg(stage, dest)
  markUnplaced(state, call)
  nameStage(state, stage, stage.name ?? dest.endpoint.name)
  call.hungUpBy = null
  if (!own) decideDirectionByDial(state, call, dest, party)
  markChanged(state, call)
}

/** Adds a device to a stage, which shows its dial from now on. */
export function addLeg(stage: Stage, leg: Channel): void {
  if (!stage.legs.includes(leg.id)) stage.legs.push(leg.id)
  if (leg.dial !== null) leg.dial.stageId = stage.id
}

/**
 * Returns the stage in which another device of the party rings, as long as one does; a later dial is a new attempt,
 * even if the first is not over yet.
 */
export function stageOfOtherDevice(
  state: TrackerState,
  call: Call,
  of: Pick<Stage, 'kind' | 'target' | 'source'>,
  dest: Channel,
): Stage | undefined {
  return call.stages.find(
    (stage) =>
      stage.kind === of.kind &&
      stage.target === of.target &&
      stage.source === of.source &&
      isOpen(stage) &&
      !stage.answered &&
      legsRinging(state, stage) &&
      !isOfLeftQueue(state, call, stage, dest),
  )
}

/**
 * Returns the stage of a party that the same visit of a queue, or the same group, rang before: it is rung again. A
 * group that the PBX rings anew is another attempt.
 */
export function rungBefore(
  state: TrackerState,
  call: Call,
  of: Pick<Stage, 'kind' | 'target' | 'source'>,
  dest?: Channel,
): Stage | undefined {
  return call.stages.findLast((stage) => {
    if (stage.kind !== of.kind || stage.target !== of.target || stage.source !== of.source) return false
    const parent = stageOf(call, stage.parentId)
    if (parent === undefined || parent.ended || parent.rungOut || stage.answered || stage.placed) return false
    const shown = channelOf(state, parent.shownBy)?.ringing ?? []
    const isAnew = shown.some(({ isNewAttempt, from }) => isNewAttempt && from.us > (stage.startedUs ?? 0))
    return !isAnew && !isOfLeftQueue(state, call, stage, dest)
  })
}

/** Begins another ringing of a stage, whose last one was emitted to its end. */
export function ringAgain(state: TrackerState, call: Call, stage: Stage, startedUs: number | null): void {
  let parent = stageOf(call, stage.parentId)
  for (let depth = 0; parent !== undefined && depth < MAX_NESTING; depth++) {
    parent.rangUs = earliestOf(parent.rangUs, stage.rangUs)
    parent = stageOf(call, parent.parentId)
  }
  const { id, kind, target, name, source, parentId, firstUs, legs } = stage
  const attempt = attemptsAt(call, stage) + 1
  const next = newStage({ id, kind, target, name, attempt, startedUs, source })
  Object.assign(stage, next, { parentId, firstUs: firstUs ?? stage.startedUs })
  forgetLegs(state, call, legs)
}

/** Returns the earlier of two times; `null` if both are unknown. */
export const earliestOf = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Drops the channels of legs that no stage has any more, and the virtual halves through which they were dialled. */
export function forgetLegs(state: TrackerState, call: Call, legs: readonly string[]): void {
  const gone = new Set<string>()
  for (const id of legs) for (const channel of chainOf(state, id)) gone.add(channel.id)
  for (const other of call.stages) for (const id of other.legs) gone.delete(id)
  gone.delete(call.root ?? '')
  call.channels = call.channels.filter((id) => !gone.has(id))
  for (const id of gone) {
    const channel = channelOf(state, id)
    if (channel?.callId === call.id) dropChannel(state, channel)
  }
}

/** Returns a leg and the virtual halves through which it was dialled, if all of them are gone. */
function chainOf(state: TrackerState, legId: string): Channel[] {
  const chain: Channel[] = []
  let channel = channelOf(state, legId)
  while (channel !== undefined && !isUp(channel) && !chain.includes(channel)) {
    chain.push(channel)
    const source = channelOf(state, channel.dial?.source ?? null)
    if (source === undefined || !isVirtual(source) || isUp(source)) return chain
    const one = channelOf(state, source.pair)
    if (one === undefined || isUp(one)) return chain
    chain.push(source)
    channel = one
  }
  return chain
}

/** Names the party of a stage, and its devices that show no name: FreeSWITCH shows it at one of them only. */
export function nameStage(state: TrackerState, stage: Stage, name: string | null): void {
  stage.name = name
  for (const id of stage.legs) {
    const device = channelOf(state, id)
    if (device?.endpoint.name === null) nameEndpoint(device, name)
  }
}

/**
 * Returns whether a stage belongs to a queue that the caller has left, so that its phones are about to stop. A dialler
 * outside the queue shows it too.
 */
function isOfLeftQueue(state: TrackerState, call: Call, stage: Stage, dest: Channel | undefined): boolean {
  let id = stage.parentId
  for (let depth = 0; id !== null && depth < MAX_NESTING; depth++) {
    const queue = call.queues.find(({ stageId }) => stageId === id)
    if (queue !== undefined) return queue.answeredUs === null && (queue.leftUs !== null || isPastQueue(state, dest))
    id = stageOf(call, id)?.parentId ?? null
  }
  return false
}

const isPastQueue = (state: TrackerState, dest: Channel | undefined): boolean =>
  dest !== undefined && channelOf(state, dest.dial?.source ?? null) !== undefined && !isRungByQueue(state, dest)

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

/** Notes when a stage began that a list had shown before its event came. */
export function noteBegin(stage: Stage, atUs: number): void {
  stage.startedUs = atUs
}

/** Returns the number of stages with a target, not counting `except`. */
export const attemptsAt = (call: Call, of: Pick<Stage, 'kind' | 'target'>, except?: Stage): number =>
  call.stages.reduce(
    (last, stage) =>
      stage !== except && stage.kind === of.kind && stage.target === of.target ? Math.max(last, stage.attempt) : last,
    0,
  )

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
  return halvesBefore(state, leg).some((half) => !isUp(half))
}
