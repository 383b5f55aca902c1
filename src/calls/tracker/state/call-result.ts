import type { Hangup } from '../../../events/bodies.ts'
import type { CallResult, HangupCause, StageResult } from '../../../events/enums.ts'
import { isAnswered } from './call-answer.ts'
import { channelOf, channelsOf } from './registry.ts'
import { type Call, type Channel, isVirtual, type Stage, type TrackerState } from './state.ts'

/** The result of a call, and its end. */

/**
 * Returns the result of a call: a person's answer, voicemail, the caller giving up, or else the result of the last
 * attempt.
 */
export function resultOf(state: TrackerState, call: Call): CallResult {
  if (isAnswered(call)) return 'answered'
  if (call.mergedInto?.result) return call.mergedInto.result
  if (call.voicemail) return 'voicemail'
  const last = call.stages.findLast((stage) => stage.parentId === null)
  if (call.lost !== null) return 'no_answer'
  if (callerGaveUp(state, call, last)) return 'cancelled'
  if (last === undefined) return call.pbxAnswered ? 'no_answer' : 'failed'
  const result = CALL_RESULT_OF[last.result ?? 'other']
  // A caller that the PBX took out of a queue or hung up on has not given up.
  return result === 'cancelled' && isEndedByPbx(state, call) ? 'no_answer' : result
}

const CALL_RESULT_OF: Readonly<Record<StageResult, CallResult>> = {
  answered: 'no_answer',
  no_answer: 'no_answer',
  busy: 'busy',
  rejected: 'no_answer',
  cancelled: 'cancelled',
  answered_elsewhere: 'no_answer',
  unavailable: 'failed',
  congestion: 'failed',
  forwarded: 'no_answer',
  abandoned: 'cancelled',
  timeout: 'no_answer',
  other: 'no_answer',
}

function callerGaveUp(state: TrackerState, call: Call, last: Stage | undefined): boolean {
  // A caller who hangs up on a busy tone has not given up.
  if (last !== undefined && last.result !== null && REFUSED.has(last.result)) return false
  if (call.hungUpBy !== null) return call.hungUpBy === 'caller'
  return channelOf(state, call.root)?.hungUpItself === true
}

function isEndedByPbx(state: TrackerState, call: Call): boolean {
  const root = channelOf(state, call.root)
  return call.hungUpBy === null && root !== undefined && !root.hungUpItself
}

const REFUSED: ReadonlySet<StageResult> = new Set(['busy', 'rejected', 'unavailable', 'congestion'])

const HANGUP_CAUSE_OF: Readonly<Record<StageResult, HangupCause>> = {
  answered: 'normal',
  no_answer: 'no_answer',
  busy: 'busy',
  rejected: 'rejected',
  cancelled: 'cancelled',
  answered_elsewhere: 'other',
  unavailable: 'unavailable',
  congestion: 'congestion',
  forwarded: 'other',
  abandoned: 'cancelled',
  timeout: 'no_answer',
  other: 'other',
}

const UNALLOCATED = 1

/** All legs of a finished conversation are hung up within this time. */
const SAME_END_US = 1_000_000

/**
 * Returns whether the caller went on without the party that hung up: to an announcement, back into a menu, or with the
 * other phones of a page.
 */
function stayedAlone(state: TrackerState, call: Call, root: Channel | undefined): boolean {
  if (call.hungUpBy !== 'callee' || root === undefined) return false
  const all = channelsOf(state, call).filter((one) => one !== root && !isVirtual(one))
  const leavers = all.filter(({ hungUpItself }) => hungUpItself)
  const others = leavers.length > 0 ? leavers : all
  const lastUs = others.reduce((last, { goneUs }) => Math.max(last, goneUs ?? Number.POSITIVE_INFINITY), 0)
  return others.length > 0 && (root.goneUs ?? 0) - lastUs > SAME_END_US
}

/** Returns whether a phone said that it is busy, itself or in a group, not the PBX in its place. */
const isBusyPhone = (call: Call, top: Stage): boolean =>
  call.stages.some(
    (stage) => stage.result === 'busy' && stage.legs.length > 0 && (stage === top || top.legs.length === 0),
  )

/**
 * Returns the code of the answered party that left last, else of the party that was dialled last. Phones that lost to
 * another phone have a cause of their own.
 */
function codeOfOther(state: TrackerState, call: Call, last: Stage | undefined): number | null {
  const legsOf = ({ legs }: Stage) => legs.flatMap((id) => channelOf(state, id) ?? [])
  const talked = call.stages.filter(({ answered, legs }) => answered && legs.length > 0).flatMap(legsOf)
  const latest = talked.toSorted((a, b) => (a.goneUs ?? 0) - (b.goneUs ?? 0))
  const legs = latest.length > 0 || last === undefined ? latest : legsOf(last)
  return legs.findLast(({ end }) => end?.code != null)?.end?.code ?? null
}

/** Returns the cause of a call's end, and the side that ended it. */
export function hangupOf(state: TrackerState, call: Call): Hangup {
  const root = channelOf(state, call.root)
  const last = call.stages.findLast((stage) => stage.legs.length > 0)
  const leg = channelOf(state, last?.legs.at(-1) ?? null)
  if (call.lost !== null) return { cause: call.lost, code: null, by: 'unknown' }
  if (call.mergedInto !== null) return { cause: 'normal', code: null, by: 'system' }
  const result = resultOf(state, call)
  const code = root?.end?.code ?? codeOfOther(state, call, last)
  const hungUpBy = stayedAlone(state, call, root) ? null : call.hungUpBy
  const by = hungUpBy ?? (root?.hungUpItself ? 'caller' : 'system')
  if (result === 'answered' || result === 'voicemail') return { cause: 'normal', code, by }
  if (result === 'cancelled') return { cause: 'cancelled', code, by: 'caller' }
  const unallocated = leg?.end?.code === UNALLOCATED || code === UNALLOCATED
  if (unallocated && last?.result === 'unavailable') return { cause: 'invalid_number', code: UNALLOCATED, by }
  const top = call.stages.findLast((stage) => stage.parentId === null)
  if (top?.result === 'rejected') return { cause: 'rejected', code, by: 'callee' }
  if (top?.result === 'busy' && isBusyPhone(call, top)) return { cause: 'busy', code, by: 'callee' }
  if (top?.result) return { cause: HANGUP_CAUSE_OF[top.result], code, by }
  if (unallocated) return { cause: 'invalid_number', code, by }
  // Nobody was dialled: the PBX refused the call itself.
  const refusal = root?.end?.result
  return { cause: refusal !== undefined && REFUSED.has(refusal) ? HANGUP_CAUSE_OF[refusal] : 'normal', code, by }
}
