import type { Stage as StageView } from '../../../events/bodies.ts'
import { forgetStage } from '../rules/dial-stages.ts'
import type { Call, Stage, TrackerState } from '../state/state.ts'

/**
 * Limits the size of a call in memory, in the store and in bodies, whatever its length and number of dials. A caller
 * who waits an hour in a queue of twenty members causes some thousands of attempts.
 */

/** Many receivers refuse larger bodies. */
export const MAX_BODY_BYTES = 256 * 1024
/** More stages than fit into a body. */
const MAX_STAGES = 1_000

/** Drops facts of a call's stages that are no longer needed; their events were all emitted. */
export function forgetOldStages(state: TrackerState, call: Call): void {
  foldAttempts(state, call)
  while (call.stages.length > MAX_STAGES) {
    const oldest = call.stages.find(isForgettable)
    if (oldest === undefined) return
    forgetStage(state, call, oldest)
    call.stagesOmitted += 1
  }
}

const isForgettable = (stage: Stage): boolean => stage.emitted.ended && !stage.answered && stage.kind !== 'queue'

/** A queue member that is rung again and again without answering is one stage: the last attempt, with a count. */
function foldAttempts(state: TrackerState, call: Call): void {
  const queues = new Set(call.stages.filter(({ kind }) => kind === 'queue').map(({ id }) => id))
  if (queues.size === 0) return
  const last = new Map<string, Stage>()
  for (const stage of [...call.stages]) {
    if (!isForgettable(stage) || stage.parentId === null || !queues.has(stage.parentId)) continue
    const member = `${stage.parentId} ${stage.kind} ${stage.target}`
    const before = last.get(member)
    last.set(member, stage)
    if (before !== undefined) forgetStage(state, call, before)
  }
}

/** Omits the oldest unanswered stages, then the oldest answered ones, until the rest fits into `maxBytes`. */
export function stagesWithin(stages: readonly StageView[], maxBytes: number): StageView[] {
  const sizes = stages.map((stage) => Buffer.byteLength(JSON.stringify(stage)) + 1)
  let bytes = sizes.reduce((sum, size) => sum + size, 0)
  const left = new Set(stages.keys())
  for (const isNext of [isUnanswered, () => true]) {
    for (const [index, stage] of stages.entries()) {
      if (bytes <= maxBytes) return stages.filter((_, at) => left.has(at))
      if (!left.has(index) || !isNext(stage)) continue
      left.delete(index)
      bytes -= sizes[index] ?? 0
    }
  }
  return stages.filter((_, at) => left.has(at))
}

const isUnanswered = (stage: StageView): boolean => stage.answered_at === null && stage.result !== 'answered'
