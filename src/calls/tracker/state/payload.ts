import type {
  Call as CallView,
  Party as PartyBody,
  Recording,
  Stage as StageView,
  Transfer,
} from '../../../events/bodies.ts'
import { rfc3339, wholeSeconds } from '../../../lib/time.ts'
import { requestIdOf } from '../../request-channel.ts'
import { isAnswered } from './call-answer.ts'
import { hangupOf, resultOf } from './call-result.ts'
import { handledBy } from './handled-by.ts'
import { isMissed, triedBy } from './missed.ts'
import { liveParties, stageOf } from './registry.ts'
import { stageStarts } from './stage-starts.ts'
import {
  type Call,
  isPartyStage,
  type Party,
  type RecordingState,
  type Stage,
  type TrackerState,
  type TransferState,
} from './state.ts'
import { isPartial } from './unseen.ts'

/** The tracker's state as receivers see it (event.ts). */

const time = (atUs: number | null): string | null => (atUs === null ? null : rfc3339(atUs))

const between = (fromUs: number | null, toUs: number | null): number | null =>
  fromUs === null || toUs === null ? null : wholeSeconds(fromUs, toUs)

/** Returns a party for a body. Its contact is added before the event is stored. */
export function partyPayload(state: TrackerState, party: Party): PartyBody {
  const { number, name, extension } = party
  return { number, name, extension, e164: extension === null ? state.toE164(number) : null, contact: null }
}

const partyOrNull = (state: TrackerState, party: Party | null): PartyBody | null =>
  party === null ? null : partyPayload(state, party)

function stateOf(state: TrackerState, call: Call): CallView['state'] {
  if (call.ended) return 'ended'
  if (isAnswered(call)) return 'answered'
  return isWaiting(state, call) ? 'waiting' : 'ringing'
}

/** Returns a call for a body; `handlers` are those who handled it. */
export function callPayload(state: TrackerState, call: Call, handlers = handledBy(state, call)): CallView {
  const answered = isAnswered(call)
  // A call may go on until its end is emitted, so no earlier body has facts of its end.
  const endedUs = call.ended ? call.endedUs : null
  const missed = isMissed(call, handlers)
  return {
    id: call.id,
    pbx_id: call.pbxId,
    merged_from: [...call.mergedFrom],
    merged_into: call.mergedInto?.id ?? null,
    parent_id: call.parentId,
    request_id: requestIdOf(call.pbxId),
    direction: call.direction ?? 'internal',
    state: stateOf(state, call),
    from: partyPayload(state, call.from),
    to: partyPayload(state, call.to),
    did: call.did,
    started_at: time(call.startedUs),
    answered_at: time(call.answeredUs),
    ended_at: time(endedUs),
    duration: between(call.startedUs, endedUs),
    wait_duration: answered ? between(call.startedUs, call.answeredUs) : between(call.startedUs, endedUs),
    talk_duration: between(call.answeredUs, endedUs),
    result: call.ended ? resultOf(state, call) : null,
    answered_by: partyOrNull(state, call.answeredBy),
    handled_by: handlers.map((party) => partyPayload(state, party)),
    queue: queuePayload(call),
    transfers: call.transferCount,
    recorded: call.recorded && (call.recordings.length === 0 || call.recordings.some(isKept)),
    hangup: call.ended ? hangupOf(state, call) : null,
    variables: call.variables,
    missed,
    missed_by: missed === true ? triedBy(state, call).map((party) => partyPayload(state, party)) : [],
    stages_omitted: call.stagesOmitted,
    partial: isPartial(call),
  }
}

function isWaiting(state: TrackerState, call: Call): boolean {
  if (call.queues.some((queue) => stageOf(call, queue.stageId)?.ended === false)) return true
  return call.pbxAnswered && !call.stages.some((stage) => !stage.ended) && liveParties(state, call).length > 0
}

function queuePayload(call: Call): CallView['queue'] {
  const queue = call.queues.at(-1)
  if (queue === undefined) return null
  const stage = stageOf(call, queue.stageId)
  const untilUs = queue.answeredUs ?? queue.leftUs ?? stage?.endedUs ?? null
  // A list showed the caller in the queue, or answered: since when is unknown.
  const isUnseen = stage?.startedUs === null || isAnsweredUnseen(call, queue.stageId)
  const sinceUs = isUnseen ? null : queue.joinedUs
  return { name: queue.name, position: queue.position, wait_duration: between(sinceUs, untilUs) }
}

/** Returns whether a list showed that a member of a queue or group had answered. */
const isAnsweredUnseen = (call: Call, parentId: string): boolean =>
  call.stages.some(
    ({ id, parentId: around, answered, answeredUs, result }) =>
      (id === parentId && result === 'answered' && answeredUs === null) ||
      (around === parentId && ((answered && answeredUs === null) || isAnsweredUnseen(call, id))),
  )

/** Returns a stage for a body. */
export function stagePayload(stage: Stage): StageView {
  // How long it rang until an answer that was not seen is unknown.
  // When a group or queue that a list showed first rang was not seen.
  const isFound = !isPartyStage(stage) && stage.startedUs === null
  const wasAnswered = stage.answered || stage.result === 'answered'
  const rings = stage.rangUs !== null && !isFound && !(wasAnswered && stage.answeredUs === null)
  const hasNotRung = stage.ended && !stage.rang && stage.rangUs === null && !isFound
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
    ring_duration: rings ? between(stage.rangUs, ringEndUs) : hasNotRung ? 0 : null,
    talk_duration: between(stage.answeredUs, stage.endedUs),
    result: stage.result,
    forwarded_to: stage.forwardedTo,
  }
}

/** Returns all stages of a call in order of their start; parents come before their members. */
export function stagesPayload(call: Call): StageView[] {
  const starts = stageStarts(call)
  const beganUs = (stage: Stage): number => starts.get(stage) ?? 0
  return call.stages
    .toSorted((a, b) => beganUs(a) - beganUs(b) || Number(isPartyStage(a)) - Number(isPartyStage(b)))
    .map(stagePayload)
}

/** Returns a transfer for a body. */
export function transferPayload(state: TrackerState, call: Call, transfer: TransferState): Transfer {
  return {
    kind: transfer.kind,
    by: partyPayload(state, transfer.by),
    transferee: partyOrNull(state, transfer.transferee),
    to: partyPayload(state, transfer.to),
    call_id: call.id,
    other_call_id: transfer.otherCallId,
  }
}

/** Returns a recording for a body. */
function recordingPayload(recording: RecordingState): Recording {
  const { startedUs, endedUs, sinceUs, recordedUs } = recording
  const isKnown = startedUs !== null && endedUs !== null && recordedUs !== null
  const ownUs = isKnown ? recordedUs + (sinceUs === null ? 0 : endedUs - sinceUs) : null
  const durationMs = recording.durationMs ?? (ownUs === null ? null : ownUs / 1000)
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

/** Returns whether a recording has started and was kept by the PBX. */
export const isKept = ({ kept, startedUs, recordedUs }: RecordingState): boolean =>
  kept && (startedUs !== null || recordedUs === null)

/** Returns the recordings of a call for a body, without recordings that the PBX discarded. */
export const keptRecordings = (call: Call): Recording[] => call.recordings.filter(isKept).map(recordingPayload)
