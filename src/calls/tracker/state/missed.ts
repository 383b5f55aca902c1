import { stageParty } from './handled-by.ts'
import type { Call, Party, Stage, TrackerState } from './state.ts'
import { isPartyStage, sameParty } from './state.ts'

/** Missed calls: those to the PBX's own people which none of them answered. */

/**
 * Returns whether a call was missed that these parties handled, `null` where that cannot be: before its end, of
 * outbound calls, of consultations, and of calls that went on in another. A conference is answered by nobody, and not
 * missed; neither is an internal call that tried nobody (a feature code, an announcement).
 */
export function isMissed(call: Call, handlers: readonly Party[]): boolean | null {
  if (!call.ended || call.direction === 'outbound' || call.parentId !== null || call.mergedInto !== null) return null
  const isAnswered = call.answeredUs !== null || handlers.length > 0
  return !isAnswered && (call.direction === 'inbound' || hasTried(call))
}

const hasTried = ({ stages, stagesOmitted }: Call): boolean =>
  stagesOmitted > 0 || stages.some((stage) => isPartyStage(stage) && !stage.own)

/** Returns whether a phone of the PBX was called; the agent's own in click-to-call was not. */
const isTried = (stage: Stage): boolean => stage.kind === 'user' && !stage.own

/** So many fit into a body. */
const MAX_MISSED_BY = 100

/** Returns the extensions that a call tried, each once, in the order in which they were dialled. */
export function triedBy(state: TrackerState, call: Call): Party[] {
  const tried = call.stages
    .filter(isTried)
    .toSorted((a, b) => (a.startedUs ?? 0) - (b.startedUs ?? 0))
    .map((stage) => stageParty(state, stage))
  return tried
    .filter((party, place) => tried.findIndex((other) => sameParty(other, party)) === place)
    .slice(0, MAX_MISSED_BY)
}
