import { stageParty } from './handled-by.ts'
import { stageStarts } from './stage-starts.ts'
import { type Call, isPartyStage, type Party, type Stage, sameParty, type TrackerState } from './state.ts'

/** Missed calls: calls to the PBX's own people that none of them answered. */

/**
 * Returns whether a call with these handlers was missed; `null` if it cannot be: before its end, and for outbound
 * calls, consultations and calls that went on in another. A conference has no answering party but was not missed; nor
 * was an internal call that rang nobody (a feature code, an announcement).
 */
export function isMissed(call: Call, handlers: readonly Party[]): boolean | null {
  if (!call.ended || call.direction === 'outbound' || call.parentId !== null || call.mergedInto !== null) return null
  const wasAnswered = call.answeredUs !== null || call.metUnseen || handlers.length > 0
  return !wasAnswered && (call.direction === 'inbound' || hasTried(call))
}

const hasTried = ({ stages, stagesOmitted }: Call): boolean =>
  stagesOmitted > 0 || stages.some((stage) => isPartyStage(stage) && !stage.own)

/** Returns whether a stage called a phone of the PBX; the agent's own phone in click-to-call does not count. */
const isTried = (stage: Stage): boolean => stage.kind === 'user' && !stage.own

/** The most parties in a body. */
const MAX_MISSED_BY = 100

/** Returns the extensions that a call tried, each once, in the order of their first dials. */
export function triedBy(state: TrackerState, call: Call): Party[] {
  const starts = stageStarts(call)
  const firstUs = (stage: Stage): number => stage.firstUs ?? starts.get(stage) ?? 0
  const tried = call.stages
    .filter(isTried)
    .toSorted((a, b) => firstUs(a) - firstUs(b))
    .map((stage) => stageParty(state, stage))
  return tried
    .filter((party, place) => tried.findIndex((other) => sameParty(other, party)) === place)
    .slice(0, MAX_MISSED_BY)
}
