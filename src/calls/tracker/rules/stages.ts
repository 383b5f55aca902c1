import type { StageResult } from '../../../events/enums.ts'
import { answerCall } from '../state/call-answer.ts'
import { channelOf, channelsOf, heardBy, legsOf, stageOf } from '../state/registry.ts'
import { closeStage, enterConversation, noteStageAnswered, noteStageRang, settlingSince } from '../state/stage-moves.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  partyOf,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { noteUnseen } from '../state/unseen.ts'
import { isStill } from '../state/waits.ts'
import { arrange } from './arrange.ts'
import { placeDial } from './dials.ts'
import { nameAgent, nameParties, noteAgentAnswered, noteIntercom } from './direction.ts'
import { noteCallGoesOn } from './hangups.ts'
import { updateParents } from './parent-stages.ts'
import { transferByParking } from './parking.ts'
import { placeQueue } from './queues.ts'
import {
  concludeDial,
  EXPLANATION_US,
  explanationDelayUs,
  HANGUP_US,
  isProvisional,
  resultOfStage,
  resultUnexplained,
} from './stage-results.ts'
import { awaitsTransfer } from './transfer-hold.ts'

/**
 * Brings the stages of a call up to date with its channels.
 *
 * A user or external stage is dialled → (rings) → answered → ended, or ends unanswered. It is
 * - ringing once one of its devices rings;
 * - answered once one of its devices is, and every virtual half around it: until then another phone may win;
 * - ended once all of its devices are gone. The reason of an unanswered one may come from another channel a moment
 *   later (the phone that won, the caller who left): it waits for that, `EXPLANATION_US` at most.
 * Groups and queues follow from the stages of their members (parent-stages.ts).
 */

/** Updates all stages of a call: places dials, notes rings, answers and ends, and closes groups and queues. */
export function updateStages(state: TrackerState, call: Call): void {
  transferByParking(state, call)
  for (const channel of channelsOf(state, call)) {
    if (channel.dial !== null && channel.dial.stageId === null) placeDial(state, channel)
    if (channel.queuing !== null) placeQueue(state, channel)
  }
  arrange(state, call)
  for (const stage of inOrderOfAnswers(state, call)) updateLegs(state, call, stage)
  for (const stage of call.stages)
    if (!stage.ended && stage.legs.length > 0 && !isRinging(state, stage)) updateEnd(state, call, stage)
  updateParents(state, call)
  nameParties(call)
}

/** Returns the open stages of parties; those that were answered since the last time are in the order of the answers. */
function inOrderOfAnswers(state: TrackerState, call: Call): readonly Stage[] {
  const open = call.stages.filter((stage) => !stage.ended && isPartyStage(stage))
  const answers = new Map<Stage, number>()
  for (const stage of open)
    for (const id of stage.answered ? [] : stage.legs) {
      const answeredUs = channelOf(state, id)?.dial?.answeredUs ?? null
      if (answeredUs !== null) answers.set(stage, answeredUs)
    }
  if (answers.size < 2) return open
  return open.toSorted((a, b) => (answers.get(a) ?? 0) - (answers.get(b) ?? 0))
}

/** Returns whether a party was not answered yet, and one of its devices still rings: nothing of its end is known. */
const isRinging = (state: TrackerState, { answered, legs }: Stage): boolean =>
  !answered &&
  legs.some((id) => {
    const leg = channelOf(state, id)
    return leg !== undefined && isUp(leg) && leg.dial?.endedUs === null
  })

/** Closes all stages of a call that is over, also where the end of a stage waits for an explanation. */
export function closeStages(state: TrackerState, call: Call): void {
  const reason = (stage: Stage): StageResult => (call.lost === null ? resultUnexplained(state, call, stage) : 'other')
  const finish = (stage: Stage): void => {
    if (!stage.ended) closeStage(stage, call.endedUs, stage.answered ? 'answered' : reason(stage))
  }
  call.stages.filter(isPartyStage).forEach(finish)
  updateParents(state, call)
  call.stages.forEach(finish)
}

function updateLegs(state: TrackerState, call: Call, stage: Stage): void {
  for (const id of stage.legs) {
    const leg = channelOf(state, id)
    const dial = leg?.dial
    if (leg === undefined || dial === null || dial === undefined) continue
    if ((dial.rangUs !== null || dial.foundRinging) && !stage.rang) {
      noteStageRang(stage, dial.foundRinging ? null : dial.rangUs)
      noteIntercom(call, leg)
      nameAgent(state, call)
    }
    if (dial.answeredUs !== null && !stage.answered && (dial.foundAnswered || isConfirmed(state, leg))) {
      noteStageAnswered(stage, dial.foundAnswered ? null : dial.answeredUs)
      if (dial.foundAnswered) noteUnseen(call)
      noteAnswer(state, call, stage, { leg, enteredUs: dial.answeredUs })
    }
  }
}

/**
 * Returns whether an answer counts: the answer of a phone behind virtual halves does once they are answered too, or
 * once the caller hears the phone.
 */
function isConfirmed(state: TrackerState, leg: Channel): boolean {
  let source = channelOf(state, leg.dial?.source ?? null)
  for (let depth = 0; depth < 16 && source !== undefined && isVirtual(source) && source.half === 2; depth++) {
    const one = channelOf(state, source.pair)
    if (one === undefined || one.dial === null) return true
    if (one.dial.answeredUs === null) return heardBy(state, leg).length > 0
    source = channelOf(state, one.dial.source)
  }
  return true
}

const MAX_NESTING = 16

/** Notes on the queues around an answer that their callers no longer wait; `innermost` is a group or queue. */
export function noteQueueAnswer(call: Call, innermost: Stage | undefined, answeredUs: number | null): void {
  let parent = innermost
  for (let depth = 0; parent !== undefined && depth < MAX_NESTING; depth++) {
    for (const queue of call.queues) if (queue.stageId === parent.id) queue.answeredUs ??= answeredUs
    parent = stageOf(call, parent.parentId)
  }
}

/** Notes on the call that a person answered, or was found to have answered. */
export function noteAnswer(
  state: TrackerState,
  call: Call,
  stage: Stage,
  { leg, enteredUs }: { leg: Channel; enteredUs: number },
): void {
  enterConversation(stage, enteredUs)
  noteQueueAnswer(call, stageOf(call, stage.parentId), stage.answeredUs ?? enteredUs)
  if (stage.own) {
    noteAgentAnswered(call, leg)
    return
  }
  nameAgent(state, call)
  noteCallGoesOn(call)
  answerCall(call, stage.answeredUs, partyOf(leg.endpoint))
}

function updateEnd(state: TrackerState, call: Call, stage: Stage): void {
  const legs = legsOf(state, stage)
  // Its phones went on to another call, and ended there.
  if (legs.length === 0) {
    closeStage(stage, state.atUs, stage.answered ? 'answered' : 'other')
    return
  }
  if (stage.answered) {
    const answered = legs.filter((leg) => leg.dial === null || leg.dial.answeredUs !== null)
    const talking = answered.length > 0 ? answered : legs
    if (talking.some((leg) => leftUs(leg) === null)) return
    const last = talking.reduce((a, b) => ((leftUs(a) ?? 0) > (leftUs(b) ?? 0) ? a : b))
    stage.overUs = leftUs(last)
    if (call.parking !== null && legs.some((leg) => leg.id === call.parking?.by)) return
    if (awaitsJoin(state, call)) return
    if (last.end?.mayTransfer === true && last.leftUs === null && awaitsTransfer(state, call, stage, last)) return
    closeStage(stage, leftUs(last), 'answered')
    return
  }
  const endedUs = Math.max(...legs.map((leg) => leg.dial?.endedUs ?? leg.goneUs ?? 0))
  const sinceUs = settlingSince(state, stage)
  stage.overUs = endedUs
  const isWithin = (us: number): boolean => isStill(state, sinceUs + us)
  // The hang-up is more precise than the end of the dial, so wait for it, on each device.
  if (legs.some(({ goneUs }) => goneUs === null) && isWithin(HANGUP_US)) return
  if (legs.some(isProvisional) && isWithin(EXPLANATION_US)) return
  for (const leg of legs) if (isProvisional(leg)) concludeDial(state, leg)
  const result = resultOfStage(state, call, stage, legs)
  if (result === null && isWithin(explanationDelayUs(state, call, stage, legs))) return
  stage.forwardedTo =
    legs.map((leg) => leg.dial?.forwardedTo ?? leg.end?.forwardedTo ?? null).find((to) => to !== null) ?? null
  closeStage(stage, endedUs, result ?? resultUnexplained(state, call, stage))
}

/** Returns whether a call is about to be joined with another one, after a missed transfer: its owner changes. */
const awaitsJoin = (state: TrackerState, call: Call): boolean =>
  state.pendingLinks.some(
    ({ unseen, callId, channel, dueUs }) =>
      unseen && (callId === call.id || channelOf(state, channel)?.callId === call.id) && isStill(state, dueUs),
  )

/** Returns the time at which a party left the call: by a transfer, or by hanging up. */
const leftUs = (leg: Channel): number | null => leg.leftUs ?? leg.goneUs
