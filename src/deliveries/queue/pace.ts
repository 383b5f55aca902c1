import { SECOND } from '../../lib/time.ts'

/**
 * How fast a webhook may be sent to, as its owner wants it: so many attempts a second, with a burst of one second's
 * worth. Pure, and the only code that changes it. It delays what is next, and never changes what that is.
 *
 * Each attempt moves `nextUs` on by the time that one takes at that rate; an attempt may begin while `nextUs` is ahead
 * of the clock by less than the burst.
 */
export type Pace = {
  /** `null`: as fast as it takes them. */
  readonly maxPerSecond: number | null
  readonly nextUs: number
}

type State = { -readonly [name in keyof Pace]: Pace[name] }

/** Returns a pace without a limit. */
export const newPace = (): Pace => ({ maxPerSecond: null, nextUs: Number.NEGATIVE_INFINITY })

/** Sets the limit, from now on. */
export function setRate(pace: Pace, maxPerSecond: number | null): void {
  const state: State = pace
  state.maxPerSecond = maxPerSecond
}

/** Returns whether an attempt may begin. */
export function mayBegin({ maxPerSecond, nextUs }: Pace, nowUs: number): boolean {
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
