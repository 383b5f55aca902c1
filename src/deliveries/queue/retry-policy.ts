import { MILLISECOND } from '../../lib/time.ts'
import { type Outcome, retryAfterMsOf } from '../../outbound/outcome.ts'

/** The state of a delivery after an attempt; `dueUs`: the time of its retry. */
export type NextStep =
  | { readonly state: 'delivered' }
  | { readonly state: 'failed' }
  | { readonly state: 'pending'; readonly dueUs: number }

/** 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h, 16 h. */
export const DEFAULT_SCHEDULE_MS: readonly number[] = [
  5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600,
].map((seconds) => seconds * 1_000)

/** ±10%, so that deliveries that failed together are not retried together. */
const JITTER = 0.1
const GONE = 410

/**
 * Returns the state of a delivery after an attempt. Times are of the same clock as `nowUs`.
 * @param tries attempts that count against the schedule, this one included
 * @param random from 0 to 1
 */
export function nextStep(
  tries: number,
  outcome: Outcome,
  { nowUs, random, scheduleMs }: { nowUs: number; random: number; scheduleMs: readonly number[] },
): NextStep {
  switch (outcome.kind) {
    case 'delivered':
    case 'skipped':
      return { state: 'delivered' }
    case 'refused':
      return outcome.status === GONE ? { state: 'failed' } : retry()
    case 'unreachable':
    case 'rejected':
    case 'unrendered':
      return retry()
    case 'ruled':
      return outcome.verdict === 'fail' ? { state: 'failed' } : retry()
    case 'unsent':
    case 'aborted':
    case 'advanced':
    case 'deferred':
      return { state: 'pending', dueUs: nowUs }
    default:
      return outcome satisfies never
  }

  function retry(): NextStep {
    const waitMs = scheduleMs[tries - 1]
    if (waitMs === undefined) return { state: 'failed' }
    const jitteredMs = waitMs * (1 - JITTER + 2 * JITTER * random)
    const laterMs = Math.max(jitteredMs, retryAfterMsOf(outcome))
    return { state: 'pending', dueUs: nowUs + Math.round(laterMs * MILLISECOND) }
  }
}

/** Returns the age in microseconds at which a delivery expires, even if its webhook was down all the time. */
export const maxAgeUsOf = (scheduleMs: readonly number[]): number =>
  scheduleMs.reduce((sum, ms) => sum + ms, 0) * MILLISECOND
