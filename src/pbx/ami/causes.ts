import type { End } from '../../calls/signal.ts'
import type { StageResult } from '../../calls/words.ts'

/** DialStatus of a DialEnd (app_dial, app_queue) as the result of a stage; what is not listed is `other`. */
const BY_STATUS: ReadonlyMap<string, StageResult> = new Map([
  ['ANSWER', 'answered'],
  ['BUSY', 'busy'],
  ['NOANSWER', 'no_answer'],
  ['CANCEL', 'cancelled'],
  ['ABORT', 'cancelled'],
  ['CONGESTION', 'congestion'],
  ['CHANUNAVAIL', 'unavailable'],
  ['DONTCALL', 'rejected'],
  ['TORTURE', 'rejected'],
])

export const resultOfStatus = (status: string): StageResult => BY_STATUS.get(status) ?? 'other'

/** Q.850 causes as the result of a dial that nobody answered. */
const BY_CODE: Readonly<Record<number, StageResult>> = {
  1: 'unavailable',
  2: 'unavailable',
  3: 'unavailable',
  17: 'busy',
  18: 'unavailable',
  19: 'no_answer',
  20: 'unavailable',
  21: 'rejected',
  22: 'unavailable',
  26: 'answered_elsewhere',
  27: 'unavailable',
  28: 'unavailable',
  34: 'congestion',
  38: 'congestion',
  41: 'congestion',
  42: 'congestion',
  44: 'congestion',
  47: 'congestion',
  102: 'unavailable',
}

export const resultOfCode = (code: number | null): StageResult => (code === null ? 'other' : (BY_CODE[code] ?? 'other'))

/** Normal clearing, "unknown" and "interworking" are what a channel gets that the PBX itself takes down. */
const WITHDRAWN: ReadonlySet<number> = new Set([0, 16, 127])

export function endOf(cause: string): End {
  const code = /^\d+$/.test(cause) ? Number(cause) : null
  const withdrawn = code === null || WITHDRAWN.has(code)
  return {
    code: code === 0 ? null : code,
    // A dial that the PBX takes down by itself, with nobody else to answer it, was not answered.
    result: withdrawn ? 'no_answer' : resultOfCode(code),
    withdrawn,
    mayTransfer: false,
    forwardedTo: null,
  }
}
