import type { StageResult } from '../../../lib/call-enums.ts'
import { channelOf } from '../registry.ts'
import type { Call, Channel, Stage, TrackerState } from '../state.ts'
import { isUp, isVirtual } from '../state.ts'

/** Why a stage that nobody answered ended: what its own channels say, and what others explain a moment later. */

/** How long the end of a stage waits for the event that explains it; PBXs tell both within 50 ms. */
export const EXPLANATION_US = 300_000
/** How long an unanswered dial whose end was told waits for the hang-up of its channel, whose cause says more. */
export const HANGUP_US = 100_000
/** How long a phone whose call was answered elsewhere waits for who answered to be told: a busy PBX connects the caller late. */
const WINNER_US = 5_000_000

/** How long the end of a stage may wait to be explained. */
export const explanationDelayUs = (state: TrackerState, call: Call, stage: Stage, legs: readonly Channel[]): number =>
  isWinnerDue(state, call, stage, legs) ? WINNER_US : EXPLANATION_US

/** Why an unanswered stage ended; `null` if that is not clear yet. */
export function resultOfStage(
  state: TrackerState,
  call: Call,
  stage: Stage,
  legs: readonly Channel[],
): StageResult | null {
  const results = legs.map((leg) => legResult(state, leg))
  if (results.includes('forwarded')) return 'forwarded'
  const firm = results.find((result) => result !== 'cancelled' && result !== 'answered_elsewhere' && result !== null)
  const isElsewhere = call.stages.some((other) => other.id !== stage.id && answeredMeanwhile(state, other, stage, legs))
  // That somebody else answered is said of a phone also where a dialplan asks for it, so that it shows no missed call.
  if (isElsewhere && (firm === undefined || results.includes('answered_elsewhere'))) return 'answered_elsewhere'
  if (firm !== undefined) return firm
  if (isAbandoned(state, call, stage)) return 'cancelled'
  const caller = channelOf(state, stage.source)
  // Whether it was the caller that hung up may be told a moment after the hang-up.
  return caller === undefined || caller.hungUpItself ? 'cancelled' : null
}

/** The PBX says that somebody else has answered, and one whom the same caller rings is up: that it is he is yet to be told. */
function isWinnerDue(state: TrackerState, call: Call, stage: Stage, legs: readonly Channel[]): boolean {
  if (!legs.some((leg) => legResult(state, leg) === 'answered_elsewhere')) return false
  const rivals = call.stages.filter((other) => other.source === stage.source && !other.answered && !other.ended)
  return rivals.some((other) => other.legs.some((id) => isAnswering(channelOf(state, id))))
}

const isAnswering = (leg: Channel | undefined): boolean => leg !== undefined && isUp(leg) && leg.upUs !== null

/** The caller has left the queue that rings this stage, and goes on elsewhere. */
function isAbandoned(state: TrackerState, call: Call, stage: Stage): boolean {
  const caller = channelOf(state, stage.source)
  if (caller === undefined || !isUp(caller)) return false
  return call.queues.some((queue) => queue.stageId === stage.parentId && queue.result === 'abandoned')
}

/** What is left where nothing explained the end in time: a caller that is gone and did not hang up was hung up by the PBX. */
export function resultUnexplained(state: TrackerState, stage: Stage): StageResult {
  const legs = stage.legs.flatMap((id) => channelOf(state, id) ?? [])
  const caller = channelOf(state, stage.source)
  const result = legs.map((leg) => leg.dial?.result ?? leg.end?.result).find((one) => one !== undefined && one !== null)
  const isWithdrawn = result === undefined || result === 'cancelled' || result === 'answered_elsewhere'
  if (!isWithdrawn) return result
  if (caller === undefined || isUp(caller) || caller.hungUpItself) return 'cancelled'
  // The PBX allowed for no more time: it rang until it was given up.
  return caller.end?.result === 'no_answer' && !caller.end.withdrawn ? 'no_answer' : 'other'
}

/** Whether the same caller was answered by another party while this one rang. Who had answered before, or is dialled later, is none. */
export function answeredMeanwhile(state: TrackerState, other: Stage, stage: Stage, legs: readonly Channel[]): boolean {
  if (!other.answered || other.source !== stage.source) return false
  // Its phone was up before the caller was connected to it.
  const upsUs = other.legs.map((id) => channelOf(state, id)?.upUs ?? Number.POSITIVE_INFINITY)
  const answeredUs = Math.min(other.answeredUs ?? 0, ...upsUs)
  const beganUs = stage.sinceUs ?? (stage.startedUs ?? 0) - EXPLANATION_US
  const overUs = Math.max(...legs.map((leg) => leg.dial?.endedUs ?? leg.goneUs ?? 0))
  if (other.endedUs !== null && other.endedUs <= (stage.startedUs ?? 0)) return false
  return answeredUs >= beganUs && answeredUs <= overUs + EXPLANATION_US
}

function legResult(state: TrackerState, leg: Channel): StageResult | null {
  const ended = leg.end?.result ?? null
  const dialResult = leg.dial?.result ?? null
  if (dialResult === 'forwarded' || ended === 'answered_elsewhere')
    return dialResult === 'forwarded' ? dialResult : ended
  if (dialResult === null && ended === 'no_answer' && leg.end?.withdrawn !== true) return innerNoAnswer(state, leg)
  if (dialResult === null) return leg.end?.withdrawn === true ? (outerResult(state, leg) ?? 'cancelled') : ended
  // "Nobody answered" is what the PBX says of anything that was no answer: the cause of the hang-up knows better.
  if ((dialResult === 'no_answer' || dialResult === 'other') && ended !== null && SAYS_MORE.has(ended)) return ended
  if (dialResult === 'busy' && ended === 'rejected') return ended
  if (dialResult === 'cancelled') return outerResult(state, leg) ?? dialResult
  return dialResult
}

/** "Nobody answered" is said of the phone behind virtual halves also when these are taken down at that moment, since another answered. */
function innerNoAnswer(state: TrackerState, leg: Channel): StageResult | null {
  const one = outerHalf(state, leg)
  if (one === undefined) return 'no_answer'
  const isSoon = state.nowUs - (leg.goneArrivedUs ?? 0) < HANGUP_US
  if (isUp(one)) return isSoon ? null : 'no_answer'
  const isSameMoment = Math.abs((one.goneUs ?? 0) - (leg.goneUs ?? 0)) < EXPLANATION_US
  return isSameMoment && one.end?.result === 'answered_elsewhere' ? 'answered_elsewhere' : 'no_answer'
}

const SAYS_MORE: ReadonlySet<StageResult> = new Set(['busy', 'rejected', 'unavailable', 'congestion'])

/** What a dial around this one says: the phone behind virtual halves is only ever cancelled. */
function outerResult(state: TrackerState, leg: Channel): StageResult | null {
  const one = outerHalf(state, leg)
  if (one === undefined) return null
  const result = one.dial?.result ?? one.end?.result ?? null
  return result === 'cancelled' || result === 'other' || one.dial?.answeredUs !== null ? null : result
}

/** The half that was dialled, of the virtual pair whose other half dialled this leg. */
function outerHalf(state: TrackerState, leg: Channel): Channel | undefined {
  const source = channelOf(state, leg.dial?.source ?? null)
  return source === undefined || !isVirtual(source) ? undefined : channelOf(state, source.pair)
}
