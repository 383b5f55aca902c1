import type { CallResult, HangupCause, StageResult } from '../../../lib/call-enums.ts'
import { rfc3339, wholeSeconds } from '../../../lib/time.ts'
import type { Call as CallView, Hangup, Party, Recording, Stage as StageView, Transfer } from '../../event.ts'
import { channelOf, liveParties, stageOf, talkersWith } from '../registry.ts'
import type { Call, Channel, RecordingState, Stage, TrackerState, TransferState } from '../state.ts'
import { isUp, isVirtual, partyOf, sameParty } from '../state.ts'

/** The tracker's state as receivers see it (event.ts). */

const time = (atUs: number | null): string | null => (atUs === null ? null : rfc3339(atUs))

const between = (fromUs: number | null, toUs: number | null): number | null =>
  fromUs === null || toUs === null ? null : wholeSeconds(fromUs, toUs)

/** Returns a call as the bodies have it. */
export function callPayload(state: TrackerState, call: Call): CallView {
  const answered = call.answeredUs !== null || call.answeredBy !== null
  // A call may go on until its end is emitted: nothing of its end is in a body before.
  const endedUs = call.ended ? call.endedUs : null
  return {
    id: call.id,
    pbx_id: call.pbxId,
    merged_from: call.mergedFrom,
    merged_into: call.mergedInto?.id ?? null,
    parent_id: call.parentId,
    direction: call.direction ?? 'internal',
    state: call.ended ? 'ended' : answered ? 'answered' : isWaiting(state, call) ? 'waiting' : 'ringing',
    from: call.from,
    to: call.to,
    did: call.did,
    started_at: time(call.startedUs),
    answered_at: time(call.answeredUs),
    ended_at: time(endedUs),
    duration: between(call.startedUs, endedUs),
    wait_duration: answered ? between(call.startedUs, call.answeredUs) : between(call.startedUs, endedUs),
    talk_duration: between(call.answeredUs, endedUs),
    result: call.ended ? resultOf(state, call) : null,
    answered_by: call.answeredBy,
    handled_by: handledBy(state, call),
    queue: queuePayload(call),
    transfers: call.transferCount,
    recorded: call.recorded && (call.recordings.length === 0 || call.recordings.some((one) => one.kept)),
    hangup: call.ended ? hangupOf(state, call) : null,
    variables: call.variables,
    stages_omitted: call.stagesOmitted,
    partial: call.partial,
  }
}

function isWaiting(state: TrackerState, call: Call): boolean {
  if (call.queues.some((queue) => stageOf(call, queue.stageId)?.ended === false)) return true
  return call.pbxAnswered && !call.stages.some((stage) => !stage.ended) && liveParties(state, call).length > 0
}

function queuePayload(call: Call): CallView['queue'] {
  const queue = call.queues.at(-1)
  if (queue === undefined) return null
  const untilUs = queue.answeredUs ?? queue.leftUs ?? stageOf(call, queue.stageId)?.endedUs ?? null
  return { name: queue.name, position: queue.position, wait_duration: between(queue.joinedUs, untilUs) }
}

/** So many fit into a body; the owner is the last. */
const MAX_HANDLERS = 100

/** Returns the parties that handled a call, in order: the PBX's own extensions that talked; if none did, the outside party that answered. */
export function handledBy(state: TrackerState, call: Call): Party[] {
  if (call.answeredUs === null && call.answeredBy === null) return []
  const talked = call.stages
    .filter((stage) => stage.answered && !stage.own && (stage.kind === 'user' || stage.kind === 'external'))
    .map((stage) => handlerOf(state, stage))
    .toSorted((a, b) => a.enteredUs - b.enteredUs)
  const own = talked.filter(({ party }) => party.extension !== null)
  const caller = callerAsHandler(state, call)
  if (caller !== undefined) own.unshift(caller)
  const list = own.length > 0 ? withOwner(own) : talked.slice(0, 1)
  return list
    .map(({ party }) => party)
    .filter((party, index, all) => !sameParty(all[index - 1], party))
    .slice(-MAX_HANDLERS)
}

/** A party that handled the call: from when, and until when it was in it. */
type Handler = { readonly party: Party; readonly enteredUs: number; readonly untilUs: number }

const STILL = Number.POSITIVE_INFINITY

function handlerOf(state: TrackerState, stage: Stage): Handler {
  const enteredUs = stage.enteredUs ?? stage.answeredUs ?? 0
  const legs = stage.legs.flatMap((id) => channelOf(state, id) ?? [])
  const untilUs = Math.max(-1, ...legs.map((leg) => talksUntilUs(state, leg) ?? -1))
  return { party: stageParty(state, stage), enteredUs, untilUs: untilUs < 0 ? (stage.endedUs ?? STILL) : untilUs }
}

/** Returns the time until which a party was in a conversation, `null` where no bridge shows one. */
function talksUntilUs(state: TrackerState, leg: Channel): number | null {
  return isUp(leg) && talkersWith(state, leg).length > 0 ? STILL : leg.talkedUs
}

/** Of an outbound call who made it comes first. */
function callerAsHandler(state: TrackerState, call: Call): Handler | undefined {
  // Of the agent of a call-back it is known by a stage of its own whether it answered.
  if (call.direction !== 'outbound' || call.from.extension === null || call.customerFirst) return undefined
  const root = channelOf(state, call.root)
  const untilUs = root === undefined ? null : talksUntilUs(state, root)
  return { party: call.from, enteredUs: 0, untilUs: untilUs ?? root?.goneUs ?? STILL }
}

/** All channels of a conversation that is over are hung up within this. */
const SAME_END_US = 1_000_000

/** The last one owns the call. Who came last may have left again, while another stayed: then that one is named once more. */
function withOwner(handlers: readonly Handler[]): readonly Handler[] {
  const lastUs = handlers.reduce((last, { untilUs }) => Math.max(last, untilUs), 0)
  const owner = handlers.findLast(({ untilUs }) => untilUs >= lastUs - SAME_END_US)
  return owner === undefined || owner === handlers.at(-1) ? handlers : [...handlers, owner]
}

function stageParty(state: TrackerState, stage: Stage): Party {
  const leg = channelOf(state, stage.legs[0] ?? null)
  if (leg !== undefined && !isVirtual(leg)) return { ...partyOf(leg.endpoint), name: stage.name ?? leg.endpoint.name }
  return { number: stage.target, name: stage.name, extension: stage.kind === 'user' ? stage.target : null }
}

/** contract: a person's answer, voicemail, who gave up, else what the last attempt came to. */
export function resultOf(state: TrackerState, call: Call): CallResult {
  if (call.answeredUs !== null || call.answeredBy !== null) return 'answered'
  if (call.mergedInto?.result) return call.mergedInto.result
  if (call.voicemail) return 'voicemail'
  const last = call.stages.findLast((stage) => stage.parentId === null)
  if (call.lost !== null) return 'no_answer'
  if (callerGaveUp(state, call, last)) return 'cancelled'
  if (last === undefined) return call.pbxAnswered ? 'no_answer' : 'failed'
  const result = CALL_RESULT_OF[last.result ?? 'other']
  // A caller whom the PBX took out of a queue or hung up has not given up.
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

function hangupOf(state: TrackerState, call: Call): Hangup {
  const root = channelOf(state, call.root)
  const last = call.stages.findLast((stage) => stage.legs.length > 0)
  const leg = channelOf(state, last?.legs.at(-1) ?? null)
  if (call.lost !== null) return { cause: call.lost, code: null, by: 'unknown' }
  if (call.mergedInto !== null) return { cause: 'normal', code: null, by: 'system' }
  const result = resultOf(state, call)
  const code = root?.end?.code ?? leg?.end?.code ?? null
  const by = call.hungUpBy ?? (root?.hungUpItself ? 'caller' : 'system')
  if (result === 'answered' || result === 'voicemail') return { cause: 'normal', code, by }
  if (result === 'cancelled') return { cause: 'cancelled', code, by: 'caller' }
  const unallocated = leg?.end?.code === UNALLOCATED || code === UNALLOCATED
  if (unallocated && last?.result === 'unavailable') return { cause: 'invalid_number', code: UNALLOCATED, by }
  const top = call.stages.findLast((stage) => stage.parentId === null)
  if (top?.result === 'rejected') return { cause: 'rejected', code, by: 'callee' }
  if (top?.result) return { cause: HANGUP_CAUSE_OF[top.result], code, by }
  return { cause: unallocated ? 'invalid_number' : 'normal', code, by }
}

/** Returns a stage as the bodies have it. */
export function stagePayload(stage: Stage): StageView {
  const rings = stage.rangUs !== null
  const ringEndUs = stage.answeredUs ?? stage.endedUs
  return {
    id: stage.id,
    parent_id: stage.parentId,
    kind: stage.kind,
    target: stage.target,
    name: stage.name,
    attempt: stage.attempt,
    started_at: time(stage.startedUs),
    answered_at: time(stage.answeredUs),
    ended_at: time(stage.endedUs),
    ring_duration: rings ? between(stage.rangUs, ringEndUs) : stage.ended && !stage.rang ? 0 : null,
    talk_duration: between(stage.answeredUs, stage.endedUs),
    result: stage.result,
    forwarded_to: stage.forwardedTo,
  }
}

/** All stages of a call, in order of their start; what others belong to comes before them. */
export function stagesPayload(call: Call): StageView[] {
  const isParent = (stage: Stage) => (stage.kind === 'group' || stage.kind === 'queue' ? 0 : 1)
  return call.stages
    .toSorted((a, b) => (a.startedUs ?? 0) - (b.startedUs ?? 0) || isParent(a) - isParent(b))
    .map(stagePayload)
}

/** Returns a transfer as the bodies have it. */
export function transferPayload(call: Call, transfer: TransferState): Transfer {
  return {
    kind: transfer.kind,
    by: transfer.by,
    transferee: transfer.transferee,
    to: transfer.to,
    call_id: call.id,
    other_call_id: transfer.otherCallId,
  }
}

/** Returns a recording as the bodies have it. */
export function recordingPayload(recording: RecordingState): Recording {
  const durationMs =
    recording.durationMs ??
    (recording.startedUs === null || recording.endedUs === null
      ? null
      : (recording.endedUs - recording.startedUs) / 1000)
  return {
    id: recording.id,
    path: recording.path,
    format: formatOf(recording.path),
    duration: durationMs === null ? null : Math.max(0, Math.floor(durationMs / 1000)),
    started_at: time(recording.startedUs),
    ended_at: time(recording.endedUs),
  }
}

function formatOf(path: string | null): string | null {
  const match = path === null ? null : /\.([A-Za-z0-9]{1,8})$/.exec(path)
  return match?.[1]?.toLowerCase() ?? null
}

/** Returns the recordings of a call as the bodies have them, without those that the PBX discarded. */
export const keptRecordings = (call: Call): Recording[] =>
  call.recordings.filter((one) => one.kept).map(recordingPayload)
