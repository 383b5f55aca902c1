import { MILLISECOND, SECOND } from '../../lib/time.ts'
import { MAX_WINDOW } from '../../outbound/circuit-breaker.ts'
import type { Outcome } from '../../outbound/outcome.ts'

/**
 * How many attempts a healthy webhook gets beyond the window of its circuit breaker, while more wait. Pure, and the
 * only code that changes it. Times are those in which this process ran (running-time.ts): a stall of its own makes no
 * receiver look slow.
 *
 * States: *narrow* (`extra` is 0, and the answers of a full window say what is usual) and *wide* (`extra` is 1 to 48).
 * Moves: a whole window of fine answers makes it wide; each further one, while the window is full and more wait, adds
 * one. It is narrow again at once, and for half a minute, when an answer is not fine, when the answers have become
 * twice as slow, or when none comes for twice the usual time; and without that pause when nothing waits or is in
 * flight.
 */
export type ExtraWindow = {
  readonly extra: number
  /** Fine answers of a full window in a row, while narrow. */
  readonly answers: number
  /** How long an answer takes with a window of 16, and of late; averages. */
  readonly usualUs: number
  readonly recentUs: number
  readonly lastAnswerUs: number
  /** When as many were in flight as the window allows. */
  readonly fullAtUs: number
  /** Until then it stays narrow. */
  readonly restUntilUs: number
}

type State = { -readonly [name in keyof ExtraWindow]: ExtraWindow[name] }

/** With the window of 16: 64 in flight. */
const MAX_EXTRA = 48
/** A receiver that answers sooner gets 800 deliveries a second with 16 at a time, and any delay would be too slow. */
const LEAST_USUAL_US = 20 * MILLISECOND
const TOO_SLOW = 2
const REST_US = 30 * SECOND
/** A receiver that answers sooner gets 800 deliveries a second with 16 at a time; any delay would seem too slow. */
const USUAL_PART = 1 / MAX_WINDOW
const RECENT_PART = 1 / 4

/** Returns a narrow window, for a webhook without answers. */
export const newExtraWindow = (): ExtraWindow => ({
  extra: 0,
  answers: 0,
  usualUs: 0,
  recentUs: 0,
  lastAnswerUs: 0,
  fullAtUs: Number.NEGATIVE_INFINITY,
  restUntilUs: Number.NEGATIVE_INFINITY,
})

/** An attempt that has ended, and whether another delivery waits. */
type Ended = {
  readonly outcome: Outcome
  readonly startedUs: number
  readonly isAnyWaiting: boolean
  readonly nowUs: number
}

/** Notes that as many attempts are in flight as the window allows. */
export function noteFull(window: ExtraWindow, nowUs: number): void {
  const state: State = window
  state.fullAtUs = nowUs
}

/** Applies the end of an attempt. */
export function noteEnded(window: ExtraWindow, { outcome, startedUs, isAnyWaiting, nowUs }: Ended): void {
  const state: State = window
  const { kind } = outcome
  // They say nothing about the receiver.
  if (kind === 'unsent' || kind === 'skipped' || kind === 'aborted' || kind === 'deferred' || kind === 'unrendered')
    return
  const tookUs = nowUs - startedUs
  // Deliveries that a pace holds back wait for no window.
  const isFull = isAnyWaiting && state.fullAtUs >= startedUs
  if (kind !== 'delivered' && kind !== 'advanced') rest(state, nowUs)
  else if (state.extra > 0) noteRecent(state, tookUs, isFull, nowUs)
  else if (isFull) noteUsual(state, tookUs, nowUs)
}

/** Notices that no answer comes, or that there is nothing to send. Call it some 40 times a second while it is wide. */
export function notePassed(window: ExtraWindow, { isIdle, nowUs }: { isIdle: boolean; nowUs: number }): void {
  const state: State = window
  if (state.extra === 0) return
  if (isIdle) state.extra = 0
  else if (nowUs - state.lastAnswerUs > state.usualUs * TOO_SLOW) rest(state, nowUs)
}

function noteRecent(state: State, tookUs: number, isFull: boolean, nowUs: number): void {
  state.lastAnswerUs = nowUs
  state.recentUs += (tookUs - state.recentUs) * RECENT_PART
  if (state.recentUs > state.usualUs * TOO_SLOW) rest(state, nowUs)
  else if (isFull) state.extra = Math.min(MAX_EXTRA, state.extra + 1)
}

function noteUsual(state: State, tookUs: number, nowUs: number): void {
  state.usualUs = state.answers === 0 ? tookUs : state.usualUs + (tookUs - state.usualUs) * USUAL_PART
  state.answers += 1
  if (state.answers < MAX_WINDOW || state.usualUs < LEAST_USUAL_US || nowUs < state.restUntilUs) return
  state.extra = 1
  state.recentUs = state.usualUs
  state.lastAnswerUs = nowUs
}

function rest(state: State, nowUs: number): void {
  if (state.extra > 0) state.restUntilUs = nowUs + REST_US
  state.extra = 0
  state.answers = 0
}
