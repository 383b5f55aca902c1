/**
 * The refusals of one webhook in a row: whether its receiver works and refuses its requests. Pure, and the only code
 * that changes it. Times are of the wall clock, as in the log.
 *
 * Invariants: `count` grows to 5 at most; `firstUs` is set while `count` is not 0. Moves: a refusal (a 4xx other than
 * 408 and 429, or a message that an MQTT broker refuses) counts; the fifth in a row means that the webhook *refuses*,
 * since the first. A delivery that succeeds ends that. Another answer ends only a row that is shorter. No answer, and a
 * step of a flow that is done while others follow, change nothing.
 */
export type Refusals = {
  readonly count: number
  readonly firstUs: number | undefined
  /** Whether the last delivery that counted succeeded. */
  readonly accepted: boolean
}

type State = { -readonly [name in keyof Refusals]: Refusals[name] }

/** The meaning of an answer: `none` has no meaning for the receiver's state. */
export type AnswerKind = 'refused' | 'accepted' | 'other' | 'none'

const REFUSES_AFTER = 5
const REQUEST_TIMEOUT = 408
const TOO_MANY_REQUESTS = 429

export const newRefusals = (): Refusals => ({ count: 0, firstUs: undefined, accepted: false })

/** Returns whether a status is a refusal of the request, rather than trouble of the receiver. */
export const isRefusal = (status: number): boolean =>
  status >= 400 && status < 500 && status !== REQUEST_TIMEOUT && status !== TOO_MANY_REQUESTS

/** Applies an answer that came at a time. */
export function noteAnswer(refusals: Refusals, kind: AnswerKind, atUs: number): void {
  const state: State = refusals
  switch (kind) {
    case 'none':
      return
    case 'refused':
      state.firstUs ??= atUs
      state.count = Math.min(REFUSES_AFTER, state.count + 1)
      state.accepted = false
      return
    case 'other':
      if (state.count === REFUSES_AFTER) return
      state.count = 0
      state.firstUs = undefined
      return
    case 'accepted':
      state.count = 0
      state.firstUs = undefined
      state.accepted = true
      return
    default:
      kind satisfies never
  }
}

/** Restores the state of a webhook that an earlier process or another node has found to refuse. */
export function restoreRefusing(refusals: Refusals, sinceUs: number): void {
  const state: State = refusals
  state.count = REFUSES_AFTER
  state.firstUs = sinceUs
}

/** Returns since when a webhook refuses; `null` if it does not. */
export const refusingSinceUs = ({ count, firstUs }: Refusals): number | null =>
  count === REFUSES_AFTER ? (firstUs ?? null) : null
