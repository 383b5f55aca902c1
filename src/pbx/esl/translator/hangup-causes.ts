import type { StageResult } from '../../../events/enums.ts'

/** FreeSWITCH's hang-up causes: the Q.850 code, and the result of an unanswered dial with this cause. */
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
  ['PRE_EMPTED', [45, 'congestion']],
  ['FACILITY_NOT_SUBSCRIBED', [50, 'rejected']],
  ['OUTGOING_CALL_BARRED', [52, 'rejected']],
  ['INCOMING_CALL_BARRED', [54, 'rejected']],
  ['BEARERCAPABILITY_NOTAUTH', [57, 'unavailable']],
  ['BEARERCAPABILITY_NOTAVAIL', [58, 'unavailable']],
  ['SERVICE_UNAVAILABLE', [63, 'congestion']],
  ['BEARERCAPABILITY_NOTIMPL', [65, 'unavailable']],
  ['CHAN_NOT_IMPLEMENTED', [66, 'unavailable']],
  ['FACILITY_NOT_IMPLEMENTED', [69, 'unavailable']],
  ['SERVICE_NOT_IMPLEMENTED', [79, 'unavailable']],
  ['INCOMPATIBLE_DESTINATION', [88, 'unavailable']],
  ['INVALID_MSG_UNSPECIFIED', [95, 'unavailable']],
  ['RECOVERY_ON_TIMER_EXPIRE', [102, 'unavailable']],
  ['PROTOCOL_ERROR', [111, 'congestion']],
  ['INTERWORKING', [127, 'unavailable']],
  ['ORIGINATOR_CANCEL', [487, 'cancelled']],
  ['LOSE_RACE', [702, 'answered_elsewhere']],
  // The dial to a transfer's target, which rang until the timeout.
  ['BLIND_TRANSFER', [800, 'no_answer']],
  ['ATTENDED_TRANSFER', [801, 'no_answer']],
  ['ALLOTTED_TIMEOUT', [802, 'no_answer']],
  ['MEDIA_TIMEOUT', [804, 'other']],
  ['PICKED_OFF', [805, 'answered_elsewhere']],
  ['USER_NOT_REGISTERED', [806, 'unavailable']],
  ['PROGRESS_TIMEOUT', [807, 'unavailable']],
  ['INVALID_GATEWAY', [808, 'congestion']],
  ['GATEWAY_DOWN', [809, 'congestion']],
  ['INVALID_URL', [810, 'unavailable']],
  ['INVALID_PROFILE', [811, 'unavailable']],
  ['BUSY_EVERYWHERE', [815, 'busy']],
  ['DECLINE', [816, 'rejected']],
  ['DOES_NOT_EXIST_ANYWHERE', [817, 'unavailable']],
  ['NOT_ACCEPTABLE', [818, 'unavailable']],
  ['UNWANTED', [819, 'rejected']],
  ['REJECT_ALL', [825, 'rejected']],
])

/** Q.850 has causes up to 127; FreeSWITCH's own have higher numbers. */
const LAST_Q850 = 127

/** Returns the Q.850 code of a cause, `null` if it has none. */
export function codeOfCause(cause: string): number | null {
  const code = CAUSES.get(cause)?.[0] ?? null
  return code === null || code > LAST_Q850 ? null : code
}

/** Returns the result of an unanswered dial that ends with this cause. */
export const resultOfCause = (cause: string): StageResult => CAUSES.get(cause)?.[1] ?? 'other'

/** What a cause means once the party has rung, where that differs: a phone that rang can be reached. */
const AFTER_RINGING: ReadonlyMap<string, StageResult> = new Map([
  // The phone (SIP 480) or its network (SIP 408) gives up by itself: nobody answered.
  ['NO_USER_RESPONSE', 'no_answer'],
  ['RECOVERY_ON_TIMER_EXPIRE', 'no_answer'],
  // The PBX has given it up, having nobody left to connect it with.
  ['DESTINATION_OUT_OF_ORDER', 'cancelled'],
])

/** Returns the result of a dial that rang and ends unanswered with this cause. */
export const resultAfterRinging = (cause: string): StageResult => AFTER_RINGING.get(cause) ?? resultOfCause(cause)

/** Returns whether a dial was given up while it rang, because the party for which it was made transferred. */
export const isGivenUp = (cause: string): boolean => cause === 'ATTENDED_TRANSFER' || cause === 'BLIND_TRANSFER'

const UNREACHED: ReadonlySet<StageResult> = new Set(['unavailable', 'congestion', 'busy', 'rejected'])

/** Returns whether a dial can end with this cause before it created a leg: not reachable, or do not disturb. */
export const isUnreached = (cause: string): boolean =>
  UNREACHED.has(resultOfCause(cause)) && cause !== 'UNALLOCATED_NUMBER'
