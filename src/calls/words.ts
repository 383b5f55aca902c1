import type { CALL_RESULTS, DIRECTIONS, HANGUP_BY, HANGUP_CAUSES, STAGE_KINDS, STAGE_RESULTS } from './event.ts'

// The closed words of the bodies, as types.
export type Direction = (typeof DIRECTIONS)[number]
export type CallResult = (typeof CALL_RESULTS)[number]
export type HangupCause = (typeof HANGUP_CAUSES)[number]
export type HangupBy = (typeof HANGUP_BY)[number]
export type StageKind = (typeof STAGE_KINDS)[number]
export type StageResult = (typeof STAGE_RESULTS)[number]
