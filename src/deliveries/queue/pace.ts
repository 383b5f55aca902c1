import { SECOND } from '../../lib/time.ts'

/** Whether a webhook is sent to, and how often at most, as its owner has set it. */
export type WebhookTiming = { readonly paused: boolean; readonly maxPerSecond: number | null }

/**
 * How fast a webhook may be sent to: not at all while its owner pauses it, or so many attempts a second, with a burst
 * of one second's worth. Pure, and the only code that changes it. It delays what is next, and never changes what that
 * is.
 *
 * Each attempt moves `nextUs` on by the time that one takes at that rate; an attempt may begin while `nextUs` is ahead
 * of the clock by less than the burst.
 */
export type Pace = {
  /** Its owner wants nothing to be sent for now. */
  readonly isPaused: boolean
  /** `null`: as fast as it takes them. */
  readonly maxPerSecond: number | null
  readonly nextUs: number
  /** Nothing is sent before this: an error of this program interrupted an attempt. */
  readonly suspendedUntilUs: number
}

type State = { -readonly [name in keyof Pace]: Pace[name] }

/** Bounds how often an error that comes back with each attempt is met. */
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
