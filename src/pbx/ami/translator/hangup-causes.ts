import type { End } from '../../../calls/calls.ts'
import type { StageResult } from '../../../events/enums.ts'

/** The DialStatus of a DialEnd (app_dial, app_queue) as the result of a stage; any other is `other`. */
const BY_STATUS: ReadonlyMap<string, StageResult> = new Map([
  ['ANSWER', 'answered'],
  ['BUSY', 'busy'],
  ['NOANSWER', 'no_answer'],
  ['CANCEL', 'cancelled'],
  ['ABORT', 'cancelled'],
  ['CONGESTION', 'congestion'],
  ['CHANUNAVAIL', 'unavailable'],
  // The party picked up but did not confirm the call: nobody answered.
  ['CONTINUE', 'no_answer'],
  ['DONTCALL', 'rejected'],
  ['TORTURE', 'rejected'],
])

/** Returns the result of a dial that ends with this DialStatus. */
export const resultOfStatus = (status: string): StageResult => BY_STATUS.get(status) ?? 'other'

/** Q.850 causes as results of an unanswered dial. */
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
  29: 'unavailable',
  34: 'congestion',
  38: 'congestion',
  41: 'congestion',
  42: 'congestion',
  43: 'congestion',
  44: 'congestion',
  47: 'congestion',
  52: 'rejected',
  54: 'rejected',
  57: 'unavailable',
  58: 'unavailable',
  63: 'unavailable',
  65: 'unavailable',
  66: 'unavailable',
  69: 'unavailable',
  79: 'unavailable',
  88: 'unavailable',
  95: 'unavailable',
  102: 'unavailable',
  111: 'unavailable',
}

/** Returns the result of an unanswered dial that ends with this Q.850 code. */
const resultOfCode = (code: number | null): StageResult => (code === null ? 'other' : (BY_CODE[code] ?? 'other'))

/**
 * Returns the meaning of a SIP reply without a cause of its own (Asterisk prints 127, "interworking"); 487 is the PBX's
 * own cancelling.
 */
function refusal(techCause: string): StageResult | undefined {
  if (!/^[4-6]\d\d$/.test(techCause) || techCause === '487') return undefined
  return techCause === '607' || techCause === '608' ? 'rejected' : 'unavailable'
}

/** A phone that gives up by itself after it rang was not answered; one that does so at once cannot be reached. */
function resultOfRefusal(code: number | null, refused: StageResult | undefined, rang: boolean): StageResult {
  if (code === NO_USER_RESPONDING && rang) return 'no_answer'
  return code === NO_ANSWER && refused !== undefined && !rang ? refused : resultOfCode(code)
}

/** Normal clearing, "unknown" and "interworking" are the causes of channels that the PBX itself takes down. */
const WITHDRAWN: ReadonlySet<number> = new Set([0, 16, 127])

const NO_USER_RESPONDING = 18
const NO_ANSWER = 19

/**
 * Returns the end of a channel. `techCause` is the far end's reply in its protocol (a SIP code), if this Asterisk
 * reports it.
 */
export function endOf(cause: string, techCause = '', rang = false): End {
  const code = /^\d+$/.test(cause) ? Number(cause) : null
  const refused = refusal(techCause)
  const withdrawn = refused === undefined && (code === null || WITHDRAWN.has(code))
  const known = resultOfCode(code)
  return {
    code: code === 0 ? null : code,
    // A dial that the PBX takes down by itself, with no other party answering, was not answered.
    result: withdrawn ? 'no_answer' : known !== 'other' ? resultOfRefusal(code, refused, rang) : (refused ?? known),
    withdrawn,
    mayTransfer: false,
    forwardedTo: null,
  }
}
