import { MILLISECOND } from '../../lib/time.ts'

/** Ticks come every 25 ms, and with others' work in between a little later. */
const LATE_AFTER_US = 35 * MILLISECOND

/**
 * A clock that stands still while this process is late (its event loop was held, or the machine had no processor for
 * it): what waited for this process in that time says nothing about a receiver. Pure: times are of the steady clock.
 */
export type RunningTime = {
  /** Notes that the process runs. Call it some 40 times a second. */
  tick(nowUs: number): void
  /** Returns the time of this clock. */
  at(nowUs: number): number
}

/** Creates a clock that runs until its first tick as the steady one does. */
export function createRunningTime(): RunningTime {
  let lateUs = 0
  let tickAtUs = Number.POSITIVE_INFINITY
  const lateSince = (nowUs: number): number => Math.max(0, nowUs - tickAtUs - LATE_AFTER_US)
  return {
    tick(nowUs) {
      lateUs += lateSince(nowUs)
      tickAtUs = nowUs
    },
    at: (nowUs) => nowUs - lateUs - lateSince(nowUs),
  }
}
