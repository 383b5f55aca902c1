import type { Call, Party } from './state.ts'

/** The answer of a call: the first one counts. Its time is unknown if it was found; a conference has no party. */

/** Returns whether a call was answered. */
export const isAnswered = ({ answeredUs, answeredBy }: Call): boolean => answeredUs !== null || answeredBy !== null

/** Notes that a call was answered. */
export function answerCall(call: Call, atUs: number | null, by: Party): void {
  if (isAnswered(call)) return
  call.answeredUs = atUs
  call.answeredBy = by
}

/** Notes that a list of `foundUs` shows an answer: it came before what the same list shows of the call's conference. */
export function answerByList(call: Call, foundUs: number, by: Party): void {
  if (call.answeredBy === null && call.answeredUs !== null && call.answeredUs >= foundUs) call.answeredBy = by
  answerCall(call, null, by)
}

/** Notes that a call's conference has two members: that is an answer by nobody, or the time of one that was joined. */
export function answerByConference(call: Call, atUs: number): void {
  call.answeredUs ??= atUs
}
