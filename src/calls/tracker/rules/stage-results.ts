import type { StageResult } from '../../../events/enums.ts'
import { amendDial } from '../facts/dials.ts'
import { callOf, channelOf, channelsOf, stageOf } from '../state/registry.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { isStill } from '../state/waits.ts'

/**
 * The results of stages that nobody answered: their own channels report a result, and other channels may explain it a
 * moment later.
 */

/** How long the end of a stage waits for an event that explains it; PBXs report both within 50 ms. */
export const EXPLANATION_US = 300_000
/** How long the end of an unanswered dial waits for its channel's hang-up, whose cause is more precise. */
export const HANGUP_US = 100_000
/**
 * How long a phone whose call was answered elsewhere waits for that answer: a busy PBX, or a subroutine that it runs
 * for the phone that answered, connects the caller late.
 */
const WINNER_US = 5_000_000

/** Returns how long the end of a stage may wait for its explanation, in microseconds. */
export const explanationDelayUs = (state: TrackerState, call: Call, stage: Stage, legs: readonly Channel[]): number =>
  isWinnerDue(state, call, stage, legs) ? WINNER_US : EXPLANATION_US

/** Returns whether the PBX may still correct the result of a dial that it took down. */
export const isProvisional = ({ dial, end }: Channel): boolean => dial?.provisional === true && end?.withdrawn === true

/**
 * Decides a dial that the PBX has not confirmed. If other phones of the same dial ring on, its time was not over: the
 * phone was hung up by command.
 */
export function concludeDial(state: TrackerState, leg: Channel): void {
  const { dial } = leg
  if (dial === null) return
  const call = callOf(state, leg)
  const others = call === undefined ? [] : channelsOf(state, call).filter((one) => one !== leg)
  const isRinging = (one: Channel): boolean =>
    isUp(one) && one.dial?.source === dial.source && one.dial.endedUs === null && one.dial.answeredUs === null
  amendDial(leg, others.some(isRinging) ? 'other' : dial.result)
}

/** Returns the result of an unanswered stage that ended; `null` if it is not clear yet. */
export function resultOfStage(
  state: TrackerState,
  call: Call,
  stage: Stage,
  legs: readonly Channel[],
): StageResult | null {
  const results = legs.map((leg) => (isTakenDown(stage, leg) ? 'cancelled' : legResult(state, leg)))
  if (results.includes('forwarded')) return 'forwarded'
  const firm = bestOf(results.filter((result) => result !== 'cancelled' && result !== 'answered_elsewhere'))
  // The phones of a page do not compete: each may answer.
  const competes = !legs.some(({ dial }) => dial?.paged === true)
  const isElsewhere =
    competes && call.stages.some((other) => other.id !== stage.id && answeredMeanwhile(state, other, stage, legs))
  // A dialplan may give a phone this cause although nobody answered, so that the phone shows no missed call.
  if (isElsewhere && (firm === undefined || results.includes('answered_elsewhere'))) return 'answered_elsewhere'
  if (firm !== undefined && hadGivenUp(state, stage, legs)) return 'cancelled'
  if (firm !== undefined) {
    const isOpen =
      firm === 'unavailable' ||
      legs.some(hasGivenUp) ||
      results.some((result) => result === 'cancelled' || result === null)
    return isOpen && mayHaveGivenUp(state, call, stage, legs) ? null : firm
  }
  if (isAbandoned(state, call, stage)) return 'cancelled'
  if (isQueueTimeOver(state, call, stage)) return 'no_answer'
  const caller = channelOf(state, stage.source)
  // It had no caller: the PBX rang it by itself, and gave up or connected another party that it rang.
  if (stage.source === null) {
    const hasRivals = call.stages.some((other) => other !== stage && other.source === null && isPartyStage(other))
    if (hasRivals && isWinnerDue(state, call, stage, legs) && isSettling(state, stage)) return null
    return hasRivals && results.includes('answered_elsewhere') ? 'answered_elsewhere' : 'no_answer'
  }
  // A PBX may report only after the hang-up that the caller hung up.
  return caller === undefined || caller.hungUpItself ? 'cancelled' : null
}

/** Results of several attempts, the best first: it counts. */
const RANKED: readonly StageResult[] = [
  'answered',
  'answered_elsewhere',
  'no_answer',
  'rejected',
  'busy',
  'cancelled',
  'forwarded',
  'congestion',
  'unavailable',
  'other',
]

/** Returns the result of several devices of one party, or of the members of a group; undefined if none has one. */
export const bestOf = (results: readonly (StageResult | null)[]): StageResult | undefined =>
  RANKED.find((result) => results.includes(result))

const isSettling = (state: TrackerState, { settlingSinceUs }: Stage): boolean =>
  settlingSinceUs !== null && isStill(state, settlingSinceUs + WINNER_US)

const overUsOf = ({ dial, goneUs }: Channel): number => dial?.endedUs ?? goneUs ?? 0

/** The time stamps of two legs' ends may differ by this much although one caused the other. */
const SAME_MOMENT_US = 100_000

/**
 * Returns whether the caller gave up while a device rang. Earlier results of other devices do not count then, nor does
 * this device's answer to the end of its dial, which looks as if it could not be reached or had given up.
 */
function hadGivenUp(state: TrackerState, stage: Stage, legs: readonly Channel[]): boolean {
  const caller = channelOf(state, stage.source)
  const last = legs.reduce<Channel | undefined>(
    (a, b) => (a !== undefined && overUsOf(a) > overUsOf(b) ? a : b),
    undefined,
  )
  if (caller === undefined || !caller.hungUpItself || caller.goneUs === null || last === undefined) return false
  // The unseen end of the ringing was before the caller gave up.
  if (last.end?.unseen === true) return false
  const said = legResult(state, last)
  const isDoubtful = said === null || said === 'cancelled' || said === 'unavailable' || hasGivenUp(last)
  return overUsOf(last) >= caller.goneUs - (isDoubtful ? SAME_MOMENT_US : 0)
}

/** The causes of SIP 480 and 408. */
const GAVE_UP: ReadonlySet<number | null> = new Set([18, 102])

/** Returns whether a device that rang has given up by itself; some devices respond so to the end of their dial, too. */
const hasGivenUp = ({ dial, end }: Channel): boolean =>
  (dial?.result ?? null) === null && end?.result === 'no_answer' && GAVE_UP.has(end.code)

/**
 * Returns whether the report that the caller gave up may be on its way: not if the caller goes on. A caller that is
 * gone may have hung up by itself, if the last device stopped ringing with it.
 */
function mayHaveGivenUp(state: TrackerState, call: Call, stage: Stage, legs: readonly Channel[]): boolean {
  const caller = channelOf(state, stage.source)
  if (!stage.rang || caller === undefined) return false
  const overUs = Math.max(...legs.map(overUsOf))
  if (caller.goneUs !== null) {
    const isWithdrawn = legs.some((leg) => overUsOf(leg) === overUs && legResult(state, leg) === 'cancelled')
    return isWithdrawn && !caller.hungUpItself && overUs >= caller.goneUs - SAME_MOMENT_US
  }
  return !call.stages.some((other) => other.source === stage.source && (other.startedUs ?? 0) >= overUs)
}

/** An application rang it for a caller: it reports "no answer" for any leg that it takes down, whatever the reason. */
const isTakenDown = (stage: Stage, { dial, end }: Channel): boolean =>
  stage.source !== null &&
  dial !== null &&
  dial.source === null &&
  dial.result === 'no_answer' &&
  end?.withdrawn === true

/**
 * Returns whether an answer is about to be reported: a phone that rings for the same caller is up, and the PBX reports
 * that another party answered, or has not hung up this phone yet, whose cause would show it.
 */
function isWinnerDue(state: TrackerState, call: Call, stage: Stage, legs: readonly Channel[]): boolean {
  const isElsewhere = (leg: Channel): boolean => legResult(state, leg) === 'answered_elsewhere'
  const isOpen = (leg: Channel): boolean => isUp(leg) && leg.dial?.result === 'cancelled'
  if (!legs.some((leg) => isElsewhere(leg) || isOpen(leg))) return false
  const rivals = call.stages.filter((other) => other.source === stage.source && !other.answered && !other.ended)
  return rivals.some((other) => other.legs.some((id) => isAnswering(channelOf(state, id))))
}

const isAnswering = (leg: Channel | undefined): boolean => leg !== undefined && isUp(leg) && leg.upUs !== null

/** Returns whether the caller has left the queue that rings this stage, and goes on elsewhere. */
function isAbandoned(state: TrackerState, call: Call, stage: Stage): boolean {
  const caller = channelOf(state, stage.source)
  if (caller === undefined || !isUp(caller)) return false
  return call.queues.some(({ stageId, leftByKey }) => leftByKey && isWithin(call, stage, stageId))
}

/** Returns whether the time of the queue that rings this stage was over: its caller is not the one who gave up. */
function isQueueTimeOver(state: TrackerState, call: Call, stage: Stage): boolean {
  const caller = channelOf(state, stage.source)
  if (caller === undefined || !isUp(caller) || caller.hungUpItself) return false
  return call.queues.some(({ stageId, result }) => result === 'timeout' && isWithin(call, stage, stageId))
}

/** Returns whether a stage is in a queue, directly or inside a group. */
function isWithin(call: Call, stage: Stage, queueId: string): boolean {
  let id = stage.parentId
  for (let depth = 0; id !== null && id !== queueId && depth < MAX_NESTING; depth++)
    id = stageOf(call, id)?.parentId ?? null
  return id === queueId
}

/**
 * Returns the result of an end that nothing explained in time. The PBX hung up a caller that is gone and did not hang
 * up itself.
 */
export function resultUnexplained(state: TrackerState, call: Call, stage: Stage): StageResult {
  const legs = stage.legs.flatMap((id) => channelOf(state, id) ?? [])
  const caller = channelOf(state, stage.source)
  const results = legs.flatMap((leg) => leg.dial?.result ?? leg.end?.result ?? [])
  const result = results.find((one) => !isWithdrawn(one) && one !== 'other') ?? results[0]
  // A person (or a mailbox) picked up and hung up without the key that takes the call.
  if (result === 'other' && legs.some(({ upUs, hungUpItself }) => upUs !== null && hungUpItself)) return 'no_answer'
  if (result !== undefined && !isWithdrawn(result)) return result
  if (caller !== undefined && !caller.hungUpItself && legs.some((leg) => isGivenUp(state, leg))) return 'no_answer'
  // A person picked up but declined the call when asked to confirm: the caller waits on.
  if (caller !== undefined && isUp(caller) && legs.some(({ upUs }) => upUs !== null)) return 'no_answer'
  if (caller !== undefined && isUp(caller) && isTimedOut(call, stage, legs)) return 'no_answer'
  if (caller === undefined || isUp(caller) || caller.hungUpItself || isGivenUpByFirst(state, call)) return 'cancelled'
  // The time that the PBX allows was over: it rang until then.
  return caller.end?.result === 'no_answer' && !caller.end.withdrawn ? 'no_answer' : 'other'
}

/** Returns whether a party of the call for which a consultation is made hung up, and so ended the consultation too. */
const isGivenUpByFirst = (state: TrackerState, { consultedBy, parentId }: Call): boolean =>
  consultedBy !== null && (state.calls.get(parentId ?? '')?.hungUpBy ?? null) !== null

/**
 * How long a target of a transfer by feature code rings: by default 15 s. Another `atxfernoanswertimeout` in
 * features.conf is hardly ever other than a multiple of 5 s.
 */
const TRANSFER_RING = { defaultUs: 15_000_000, stepUs: 5_000_000, leastUs: 10_000_000 }
/** Its phone begins to ring a moment after the transfer does. A party that gives up seldom meets another full time. */
const TRANSFER_RING_SPREAD = { defaultUs: 250_000, otherUs: 100_000 }

/** Returns whether a target of a transfer by feature code rang for as long as features.conf may allow. */
function isTransferRing(rangUs: number): boolean {
  const { defaultUs, stepUs, leastUs } = TRANSFER_RING
  if (Math.abs(rangUs - defaultUs) < TRANSFER_RING_SPREAD.defaultUs) return true
  const offUs = Math.abs(rangUs - Math.round(rangUs / stepUs) * stepUs)
  return rangUs > leastUs - TRANSFER_RING_SPREAD.otherUs && offUs < TRANSFER_RING_SPREAD.otherUs
}

/**
 * The target of a transfer by feature code did not answer in time: PBXs withdraw it as if somebody had given up. Nobody
 * has if the transferer left it ringing for the party that still waits; else only the time shows it.
 */
function isTimedOut(call: Call, stage: Stage, legs: readonly Channel[]): boolean {
  if (stage.sinceUs !== null && call.recall?.transferee === stage.source) return true
  if (call.consultedBy === null || call.startedUs === null) return false
  return isTransferRing(Math.max(...legs.map(overUsOf)) - call.startedUs)
}

const isWithdrawn = (result: StageResult): boolean => result === 'cancelled' || result === 'answered_elsewhere'

/**
 * Returns whether another party answered the same caller while this one rang. An earlier answer or a later dial does
 * not count.
 */
export function answeredMeanwhile(state: TrackerState, other: Stage, stage: Stage, legs: readonly Channel[]): boolean {
  // If the PBX rings a phone by itself, the party that picks it up replaces it.
  const isForSame = other.source === stage.source || (other.source !== null && stage.legs.includes(other.source))
  if (!other.answered || !isForSame) return false
  // Its phone was up before the caller was connected to it.
  const upsUs = other.legs.map((id) => channelOf(state, id)?.upUs ?? Number.POSITIVE_INFINITY)
  const answeredUs = Math.max(Math.min(other.answeredUs ?? other.enteredUs ?? 0, ...upsUs), other.sinceUs ?? 0)
  const startedUs = stage.startedUs ?? foundUs(legs)
  // A list shows the present: an answer before the list precedes the discovery of this stage.
  const beganUs = stage.sinceUs ?? startedUs - (stage.startedUs === null ? 0 : EXPLANATION_US)
  const overUs = Math.max(...legs.map((leg) => leg.dial?.endedUs ?? leg.goneUs ?? 0))
  if (other.endedUs !== null && other.endedUs <= startedUs) return false
  return answeredUs >= beganUs && answeredUs <= overUs + EXPLANATION_US
}

/** Returns when phones were found ringing that began to ring unseen. */
const foundUs = (legs: readonly Channel[]): number =>
  legs.reduce((first, { dial }) => Math.min(first, dial?.foundUs ?? dial?.beganUs ?? first), Number.POSITIVE_INFINITY)

function legResult(state: TrackerState, leg: Channel): StageResult | null {
  const ended = leg.end?.result ?? null
  const dialResult = leg.dial?.result ?? null
  if (dialResult === 'forwarded' || ended === 'answered_elsewhere')
    return dialResult === 'forwarded' ? dialResult : ended
  if (dialResult === null && ended === 'no_answer' && leg.end?.withdrawn !== true) return innerNoAnswer(state, leg)
  if (dialResult === null) return leg.end?.withdrawn === true ? (outerResult(state, leg) ?? 'cancelled') : ended
  // PBXs report "no answer" for every unanswered dial: the cause of the hang-up is more precise.
  if ((dialResult === 'no_answer' || dialResult === 'other') && ended !== null && MORE_SPECIFIC.has(ended)) return ended
  if (dialResult === 'busy' && ended === 'rejected') return ended
  if (dialResult === 'cancelled') return outerResult(state, leg) ?? dialResult
  return dialResult
}

/**
 * Returns the result of a phone behind virtual halves. PBXs report "no answer" for it also when the halves are taken
 * down because another phone answered.
 */
function innerNoAnswer(state: TrackerState, leg: Channel): StageResult | null {
  const one = outerHalf(state, leg)
  if (one === undefined) return 'no_answer'
  if (isUp(one)) return isStill(state, (leg.goneArrivedUs ?? 0) + HANGUP_US) ? null : 'no_answer'
  const isSameMoment = Math.abs((one.goneUs ?? 0) - (leg.goneUs ?? 0)) < EXPLANATION_US
  return isSameMoment && one.end?.result === 'answered_elsewhere' ? 'answered_elsewhere' : 'no_answer'
}

const MORE_SPECIFIC: ReadonlySet<StageResult> = new Set(['busy', 'rejected', 'unavailable', 'congestion'])

/**
 * Returns the result of the dials around this one, through any number of virtual halves. A phone behind them is only
 * ever cancelled.
 */
function outerResult(state: TrackerState, leg: Channel): StageResult | null {
  for (const { dial, end } of outerHalves(state, leg)) {
    if (dial?.answeredUs !== null) return null
    const result = dial.result ?? (end?.withdrawn === true ? null : (end?.result ?? null))
    if (result !== null && result !== 'cancelled' && result !== 'other') return result
  }
  return null
}

/** FollowMe hangs up the half in front of a phone that does not answer in time, and reports nothing else. */
const isGivenUp = (state: TrackerState, leg: Channel): boolean =>
  outerHalves(state, leg).some(({ dial, end }) => dial?.result === null && end?.withdrawn === true)

const MAX_NESTING = 16

/** Returns the dialled halves of the virtual pairs around a leg, the nearest first. */
function outerHalves(state: TrackerState, leg: Channel): Channel[] {
  const halves: Channel[] = []
  let one = outerHalf(state, leg)
  while (one !== undefined && halves.length < MAX_NESTING) {
    halves.push(one)
    one = outerHalf(state, one)
  }
  return halves
}

/** Returns the dialled half of the virtual pair whose other half dialled this leg. */
function outerHalf(state: TrackerState, leg: Channel): Channel | undefined {
  const source = channelOf(state, leg.dial?.source ?? null)
  return source === undefined || !isVirtual(source) ? undefined : channelOf(state, source.pair)
}
