// The enumerations of the event bodies. They are apart from the schemas in events/bodies.ts: the store needs them too.

export const DIRECTIONS = ['inbound', 'outbound', 'internal'] as const
export const CALL_STATES = ['ringing', 'waiting', 'answered', 'ended'] as const
export const CALL_RESULTS = ['answered', 'no_answer', 'busy', 'cancelled', 'failed', 'voicemail'] as const
export const HANGUP_CAUSES = [
  'normal',
  'busy',
  'no_answer',
  'rejected',
  'cancelled',
  'unavailable',
  'congestion',
  'invalid_number',
  'pbx_restart',
  'other',
  'unknown',
] as const
export const HANGUP_BY = ['caller', 'callee', 'system', 'unknown'] as const
export const STAGE_KINDS = ['user', 'external', 'group', 'queue'] as const
export const STAGE_RESULTS = [
  'answered',
  'no_answer',
  'busy',
  'rejected',
  'cancelled',
  'answered_elsewhere',
  'unavailable',
  'congestion',
  'forwarded',
  'abandoned',
  'timeout',
  'other',
] as const

export type Direction = (typeof DIRECTIONS)[number]
export type CallResult = (typeof CALL_RESULTS)[number]
export type HangupCause = (typeof HANGUP_CAUSES)[number]
export type HangupBy = (typeof HANGUP_BY)[number]
export type StageKind = (typeof STAGE_KINDS)[number]
export type StageResult = (typeof STAGE_RESULTS)[number]
