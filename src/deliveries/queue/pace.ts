import { SECOND } from '../../lib/time.ts'

/** The owner's settings: whether the webhook is paused, and its most attempts a second. */
export type WebhookTiming = { readonly paused: boolean; readonly maxPerSecond: number | null }

/**
 * The rate limit of a webhook: nothing while its owner pauses it, else a number of attempts a second, with a burst of
 * one second's worth. Pure, and the only code that changes it. It delays attempts, and never changes their order.
 *
 * Each attempt moves `nextUs` forward by the interval of the rate; an attempt may begin while `nextUs` is ahead of the
 * clock by less than the burst.
 */
export type Pace = {
  /** The owner has paused it. */
  readonly isPaused: boolean
  /** `null`: no limit. */
  readonly maxPerSecond: number | null
  readonly nextUs: number
  /** Nothing is sent before this: an error of this program interrupted an attempt. */
  readonly suspendedUntilUs: number
}

type State = { -readonly [name in keyof Pace]: Pace[name] }

/** The pause after an internal error, which may recur with each attempt. */
const SUSPENSION_US = SECOND

/** Returns a pace without a limit. */
export const newPace = (): Pace => ({
  isPaused: false,
  maxPerSecond: null,
  nextUs: Number.NEGATIVE_INFINITY,
  suspendedUntilUs: Number.NEGATIVE_INFINITY,
})

/** Sets the timing, from now on. Returns whether that has paused the webhook. */
export function setTiming(pace: Pace, { paused, maxPerSecond }: WebhookTiming): boolean {
  const state: State = pace
  const wasPaused = state.isPaused
  state.isPaused = paused
  state.maxPerSecond = maxPerSecond
  return paused && !wasPaused
}

/** Lets nothing begin for a second. */
export function suspend(pace: Pace, nowUs: number): void {
  const state: State = pace
  state.suspendedUntilUs = nowUs + SUSPENSION_US
}

/** Returns whether an attempt may begin. */
export function mayBegin({ isPaused, maxPerSecond, nextUs, suspendedUntilUs }: Pace, nowUs: number): boolean {
  if (isPaused || nowUs < suspendedUntilUs) return false
  if (maxPerSecond === null) return true
  const intervalUs = SECOND / maxPerSecond
  const burstUs = Math.max(1, maxPerSecond) * intervalUs
  return nextUs <= nowUs + burstUs - intervalUs
}

/** Notes that an attempt begins. */
export function noteBegun(pace: Pace, nowUs: number): void {
  if (pace.maxPerSecond === null) return
  const state: State = pace
  state.nextUs = Math.max(state.nextUs, nowUs) + SECOND / pace.maxPerSecond
}
