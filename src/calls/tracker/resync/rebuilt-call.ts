import type { Call as CallBody, CallEventBody, Party as PartyBody, Stage as StageBody } from '../../../events/bodies.ts'
import { parseTime } from '../../../lib/time.ts'
import { newCall, newStage } from '../state/initial-state.ts'
import type { Call, Party, Stage } from '../state/state.ts'
import type { StoredCall } from './takeover.ts'

/** An event of a call; without a body if the call was erased. */
type PastEvent = { readonly name: string; readonly sequence: number; readonly body: CallEventBody | undefined }

/**
 * Returns a live call as its events (the oldest first) show it, so that its call_started gets a call_ended: without a
 * channel it ends at once. Facts that are in no event (channels, recordings) are lost, so its record is marked as
 * partial.
 */
export function rebuildCall(id: string, account: string, events: readonly PastEvent[]): StoredCall {
  const known = events.flatMap(({ body }) => body ?? []).at(-1)?.data.call
  const empty = newCall({
    id,
    account,
    boot: null,
    pbxId: known?.pbx_id ?? id,
    startedUs: timeOf(known?.started_at ?? null),
  })
  const call: Call = {
    ...empty,
    ...(known === undefined ? {} : factsOf(known)),
    stages: stagesOf(events),
    sequence: Math.max(...events.map(({ sequence }) => sequence)),
    last: lastOf(events),
    emitted: true,
    unseen: true,
    lost: 'unknown',
  }
  return { call: events.some(({ name }) => name === 'call_ended') ? ended(call, known) : call, channels: [] }
}

function lastOf(events: readonly PastEvent[]): Call['last'] {
  const body = events.findLast((event) => event.body !== undefined)?.body
  return body === undefined ? null : { atUs: timeOf(body.time) ?? 0, id: body.data.id }
}

/** An ended call: only its record is due. */
const ended = (call: Call, known: CallBody | undefined): Call => ({
  ...call,
  ended: true,
  endedUs: timeOf(known?.ended_at ?? null),
  lost: known?.hangup?.cause ?? call.lost,
  saveDueUs: 0,
  saveLatestUs: 0,
})

const timeOf = (text: string | null): number | null => (text === null ? null : (parseTime(text) ?? null))

const partyOf = ({ number, name, extension }: PartyBody): Party => ({ number, name, extension })

const factsOf = (known: CallBody): Partial<Call> => ({
  direction: known.direction,
  directionKnown: true,
  from: partyOf(known.from),
  to: partyOf(known.to),
  did: known.did,
  parentId: known.parent_id,
  mergedFrom: known.merged_from,
  variables: known.variables,
  answeredUs: timeOf(known.answered_at),
  answeredBy: known.answered_by && partyOf(known.answered_by),
  transferCount: known.transfers,
  recorded: known.recorded,
  stagesOmitted: known.stages_omitted,
})

/** Returns each stage as of the last event that has it, ordered by first appearance. */
function stagesOf(events: readonly PastEvent[]): Stage[] {
  const stages = new Map<string, Stage>()
  for (const { name, body } of events) {
    const data = body?.data
    if (data === undefined || !('stage' in data) || data.stage === null) continue
    const { emitted } = stages.get(data.stage.id) ?? { emitted: { started: false, answered: false, ended: false } }
    stages.set(data.stage.id, {
      ...stageOf(data.stage),
      emitted: {
        started: emitted.started || name === 'dial_started',
        answered: emitted.answered || name === 'dial_answered',
        ended: emitted.ended || name === 'dial_ended',
      },
    })
  }
  return [...stages.values()].map((stage) => ({
    ...stage,
    rang: stage.emitted.started,
    answered: stage.emitted.answered,
    ended: stage.emitted.ended,
  }))
}

function stageOf(body: StageBody): Stage {
  const { id, kind, target, name, attempt, result } = body
  const startedUs = timeOf(body.started_at)
  const answeredUs = timeOf(body.answered_at)
  return {
    ...newStage({ id, kind, target, name, attempt, startedUs, source: null }),
    result,
    parentId: body.parent_id,
    forwardedTo: body.forwarded_to,
    rangUs: startedUs,
    answeredUs,
    enteredUs: answeredUs,
    endedUs: timeOf(body.ended_at),
  }
}
