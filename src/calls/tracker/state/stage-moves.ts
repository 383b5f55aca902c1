import type { StageResult } from '../../../events/enums.ts'
import { newStage } from './initial-state.ts'
import { type Call, type Channel, isPartyStage, type Stage, type TrackerState } from './state.ts'

/**
 * The moves of a stage: dialled → (rings) → answered → ended, or it ends unanswered; rung again by its queue or group,
 * it begins anew. A group or queue is answered by itself only if somebody picked it up. Only this file writes what
 * happens in a stage; arrange.ts writes where it belongs, and emit.ts which of its events were emitted.
 */

/** Adds a stage to a call and returns it; `attempt` counts the stages with the same target. */
export function addStage(
  state: TrackerState,
  call: Call,
  of: Pick<Stage, 'kind' | 'target' | 'source' | 'name' | 'startedUs'>,
): Stage {
  const id = state.newId(of.startedUs ?? state.atUs)
  const stage = newStage({ ...of, id, attempt: attemptsAt(call, of) + 1 })
  call.stages.push(stage)
  return stage
}

/** Returns the number of stages with a target, not counting `except`. */
export const attemptsAt = (call: Call, of: Pick<Stage, 'kind' | 'target'>, except?: Stage): number =>
  call.stages.reduce(
    (last, stage) =>
      stage !== except && stage.kind === of.kind && stage.target === of.target ? Math.max(last, stage.attempt) : last,
    0,
  )

/** Removes a stage from its call. */
export function dropStage(call: Call, stage: Stage): void {
  call.stages = call.stages.filter((one) => one !== stage)
}

/** Adds a device to a stage, which shows its dial from now on. `own`: it is a phone of the agent who is called. */
export function addLeg(stage: Stage, leg: Channel, own = stage.own): void {
  if (!stage.legs.includes(leg.id)) stage.legs.push(leg.id)
  if (leg.dial !== null) leg.dial.stageId = stage.id
  stage.own = own
}

/** Notes when a stage began that a list had shown; `null`: that was not seen. */
export function noteBegin(stage: Stage, atUs: number | null): void {
  stage.startedUs = atUs
}

/** Notes for whom a stage rings, or talks, from now on; `sinceUs`: a transfer made it so. */
export function ringFor(stage: Stage, source: string | null, sinceUs = stage.sinceUs): void {
  stage.source = source
  stage.sinceUs = sinceUs
}

/** Notes that a party rings; `atUs` is `null` if it was found ringing. */
export function noteStageRang(stage: Stage, atUs: number | null): void {
  if (stage.rang) return
  stage.rang = true
  stage.rangUs = atUs
}

/** Notes that a party answered, or picked up a group or queue; `atUs` is `null` if it was found talking. */
export function noteStageAnswered(stage: Stage, atUs: number | null): void {
  stage.answered = true
  stage.answeredUs = atUs
}

/** Notes when the party of a stage joined the present conversation. */
export function enterConversation(stage: Stage, atUs: number): void {
  stage.enteredUs = atUs
}

/** Notes that the agent's own phone is connected with another call: it answers that one. */
export function noteConnected(stage: Stage): void {
  stage.own = false
}

/** Notes when a member of a group or queue rang; the first one counts. */
export function noteMemberRang(parent: Stage, atUs: number | null): void {
  const { rangUs } = parent
  parent.rangUs = rangUs === null || atUs === null ? (rangUs ?? atUs) : Math.min(rangUs, atUs)
}

/** Notes when a member of a group or queue answered; the first one counts. */
export function noteMemberAnswered(parent: Stage, atUs: number | null): void {
  parent.answeredUs ??= atUs
}

/** Returns the arrival time since which the end of a stage waits for an explanation: from now on, unless it does. */
export function settlingSince(state: TrackerState, stage: Stage): number {
  stage.settlingSinceUs ??= state.nowUs
  return stage.settlingSinceUs
}

/** Notes that the PBX created no channel for a dial, which this channel made. */
export function noteFailed(state: TrackerState, stage: Stage, dialler: Channel | undefined): void {
  stage.failedSeq = state.seq
  if (dialler !== undefined) stage.dialler = dialler.id
}

/** Ends a stage with its result. */
export function closeStage(stage: Stage, atUs: number | null, result: StageResult): void {
  stage.ended = true
  stage.endedUs = atUs
  // A party that did not answer has no answered stage, whatever the PBX reports.
  stage.result = result === 'answered' && isPartyStage(stage) && !stage.answered ? 'other' : result
}

/** Notes that the party of a stage is rung again: that waits for the event of the end of its last ringing. */
export function awaitEnd(stage: Stage): void {
  stage.again = true
}

/**
 * Begins another ringing of a stage, whose last one was emitted to its end. `foundUs`: when that one was found, if it
 * began unseen.
 */
export function beginAgain(
  call: Call,
  stage: Stage,
  { startedUs, foundUs }: { startedUs: number | null; foundUs: number | null },
): void {
  const { id, kind, target, name, source, parentId } = stage
  const firstUs = stage.firstUs ?? stage.startedUs ?? foundUs
  const attempt = attemptsAt(call, stage) + 1
  const next = newStage({ id, kind, target, name, attempt, startedUs, source })
  Object.assign(stage, next, { parentId, firstUs })
}
