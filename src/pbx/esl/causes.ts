import type { StageResult } from '../../lib/call-enums.ts'

/** FreeSWITCH's hangup causes: Q.850 code, and what each means for a dial that nobody answered. */
const CAUSES: ReadonlyMap<string, readonly [code: number | null, result: StageResult]> = new Map([
  ['NONE', [null, 'other']],
  ['UNALLOCATED_NUMBER', [1, 'unavailable']],
  ['NO_ROUTE_TRANSIT_NET', [2, 'unavailable']],
  ['NO_ROUTE_DESTINATION', [3, 'unavailable']],
  ['NORMAL_CLEARING', [16, 'other']],
  ['USER_BUSY', [17, 'busy']],
  ['NO_USER_RESPONSE', [18, 'unavailable']],
  ['NO_ANSWER', [19, 'no_answer']],
  ['SUBSCRIBER_ABSENT', [20, 'unavailable']],
  ['CALL_REJECTED', [21, 'rejected']],
  ['NUMBER_CHANGED', [22, 'unavailable']],
  ['REDIRECTION_TO_NEW_DESTINATION', [23, 'forwarded']],
  ['EXCHANGE_ROUTING_ERROR', [25, 'congestion']],
  ['DESTINATION_OUT_OF_ORDER', [27, 'unavailable']],
  ['INVALID_NUMBER_FORMAT', [28, 'unavailable']],
  ['FACILITY_REJECTED', [29, 'rejected']],
  ['NORMAL_UNSPECIFIED', [31, 'other']],
  ['NORMAL_CIRCUIT_CONGESTION', [34, 'congestion']],
  ['NETWORK_OUT_OF_ORDER', [38, 'congestion']],
  ['NORMAL_TEMPORARY_FAILURE', [41, 'congestion']],
  ['SWITCH_CONGESTION', [42, 'congestion']],
  ['ACCESS_INFO_DISCARDED', [43, 'congestion']],
  ['REQUESTED_CHAN_UNAVAIL', [44, 'congestion']],
  ['OUTGOING_CALL_BARRED', [52, 'rejected']],
  ['INCOMING_CALL_BARRED', [54, 'rejected']],
  ['BEARERCAPABILITY_NOTAVAIL', [58, 'congestion']],
  ['SERVICE_UNAVAILABLE', [63, 'congestion']],
  ['CHAN_NOT_IMPLEMENTED', [66, 'unavailable']],
  ['INCOMPATIBLE_DESTINATION', [88, 'unavailable']],
  ['RECOVERY_ON_TIMER_EXPIRE', [102, 'unavailable']],
  ['ORIGINATOR_CANCEL', [487, 'cancelled']],
  ['LOSE_RACE', [502, 'answered_elsewhere']],
  ['PICKED_OFF', [null, 'answered_elsewhere']],
  ['ALLOTTED_TIMEOUT', [602, 'no_answer']],
  ['MEDIA_TIMEOUT', [604, 'other']],
  ['USER_NOT_REGISTERED', [606, 'unavailable']],
  ['GATEWAY_DOWN', [609, 'congestion']],
])

/** Q.850 has causes up to 127; FreeSWITCH's own are numbered above. */
const LAST_Q850 = 127

export function codeOfCause(cause: string): number | null {
  const code = CAUSES.get(cause)?.[0] ?? null
  return code === null || code > LAST_Q850 ? null : code
}

export const resultOfCause = (cause: string): StageResult => CAUSES.get(cause)?.[1] ?? 'other'

/** The PBX could not reach whom it was to dial, and made no leg for it. */
export const isUnreached = (cause: string): boolean => {
  const result = resultOfCause(cause)
  return (result === 'unavailable' || result === 'congestion') && cause !== 'UNALLOCATED_NUMBER'
}
