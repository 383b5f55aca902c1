import type { Call } from './state.ts'

/** The unreported parts of a call: only a list of the PBX shows them, or nothing does. */

/** Notes that the beginning of these calls, an answer in them or their joining was not reported. */
export function noteUnseen(...calls: readonly Call[]): void {
  for (const call of calls) call.unseen = true
}

/** Notes that the end of a call was not reported. */
export function noteLost(call: Call, cause: 'pbx_restart' | 'unknown'): void {
  call.lost = cause
}

/** Returns whether a part of a call was not seen. */
export const isPartial = ({ unseen, lost }: Call): boolean => unseen || lost !== null
