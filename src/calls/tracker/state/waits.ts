import type { TrackerState } from './state.ts'

/**
 * Waits for facts that may still come. Every comparison with the present is made here, and notes when it will turn out
 * differently: the call is processed again exactly then, unless a signal comes before. README.md lists the waits.
 */

/** Returns whether a time is still to come; `null`: there is nothing to wait for. */
export function isStill(state: TrackerState, untilUs: number | null): boolean {
  if (untilUs === null || state.nowUs >= untilUs) return false
  state.wakeUs = Math.min(state.wakeUs, untilUs)
  return true
}

/** Returns whether a time has come; `null`: it never does. */
export const isDue = (state: TrackerState, dueUs: number | null): boolean => dueUs !== null && !isStill(state, dueUs)

/** After the last channel ended, another one of the same call may follow (a dial that is still on its way). */
export const END_SETTLING_US = 250_000
