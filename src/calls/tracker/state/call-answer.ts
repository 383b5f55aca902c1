import type { Call, Party } from './state.ts'
import { noteUnseen } from './unseen.ts'

/** The answer of a call: the first one counts. Its time is unknown if it was found; a conference has no party. */

/** Returns whether a call was answered. */
export const isAnswered = ({ answeredUs, answeredBy, metUnseen }: Call): boolean =>
  answeredUs !== null || answeredBy !== null || metUnseen

/** Notes that a call was answered. */
export function answerCall(call: Call, atUs: number | null, by: Party): void {
  if (call.answeredUs !== null || call.answeredBy !== null) return
  call.answeredUs = call.metUnseen ? null : atUs
  call.answeredBy = by
}

/**
 * Notes that a call's conference has two members: that is an answer by nobody, or the time of one that was joined.
 * `atUs` is `null` if they were found there.
 */
export function answerByConference(call: Call, atUs: number | null): void {
  if (call.metUnseen) return
  if (atUs !== null) call.answeredUs ??= atUs
  if (call.answeredUs !== null) return
  call.metUnseen = true
  noteUnseen(call)
}
