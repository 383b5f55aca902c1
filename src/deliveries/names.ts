/** The eight events; their bodies are in calls/event. Both transfers obey one switch of a webhook. */
export const EVENT_NAMES = [
  'call_started',
  'dial_started',
  'dial_answered',
  'dial_ended',
  'call_blind_transferred',
  'call_attended_transferred',
  'call_ended',
  'call_saved',
] as const
