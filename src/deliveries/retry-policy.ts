import { MILLISECOND } from '../lib/time.ts'

/**
 * What came of one attempt. `refused` is any answer but 2xx; `unreachable` is no answer: look-up, address rules, connection, TLS,
 * time-out. `unsent` says nothing of the receiver: this machine could not begin it, so that it counts as no attempt.
 */
export type Outcome =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfterMs?: number }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'unsent'; readonly reason: string }

/** Returns the status that was answered; `null` if there was no answer. */
export const statusOf = (outcome: Outcome): number | null => ('status' in outcome ? outcome.status : null)
/** Returns why there was no answer; `null` if there was one. */
export const failureOf = (outcome: Outcome): string | null => ('reason' in outcome ? outcome.reason : null)

export type Next =
  | { readonly state: 'delivered' }
  | { readonly state: 'failed' }
  | { readonly state: 'retry'; readonly atUs: number }

/** 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h, 16 h: contract 2.5. */
export const DEFAULT_SCHEDULE_MS: readonly number[] = [
  5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600,
].map((seconds) => seconds * 1_000)

/** ±10%, so that what failed together does not come back together. */
const JITTER = 0.1
const MAX_RETRY_AFTER_MS = 3_600_000
const GONE = 410

/**
 * What becomes of a delivery after an attempt.
 * @param tries attempts that count against the schedule, this one included
 * @param random from 0 to 1
 */
export function next(
  tries: number,
  outcome: Outcome,
  nowUs: number,
  random: number,
  scheduleMs: readonly number[] = DEFAULT_SCHEDULE_MS,
): Next {
  switch (outcome.kind) {
    case 'delivered':
      return { state: 'delivered' }
    case 'refused':
      if (outcome.status === GONE) return { state: 'failed' }
      return retry()
    case 'unreachable':
      return retry()
    case 'unsent':
      return { state: 'retry', atUs: nowUs }
    default:
      return outcome satisfies never
  }

  function retry(): Next {
    const waitMs = scheduleMs[tries - 1]
    if (waitMs === undefined) return { state: 'failed' }
    const jitteredMs = waitMs * (1 - JITTER + 2 * JITTER * random)
    const laterMs = Math.max(jitteredMs, askedMs(outcome))
    return { state: 'retry', atUs: nowUs + Math.round(laterMs * MILLISECOND) }
  }
}

/** Returns how long the receiver asks not to be called (`Retry-After`), an hour at most; 0: it does not say. */
export const askedMs = (outcome: Outcome): number =>
  outcome.kind === 'refused' ? Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0

/** A delivery older than this fails even if its webhook was down all the time. */
export const wholeScheduleUs = (scheduleMs: readonly number[]): number =>
  scheduleMs.reduce((sum, ms) => sum + ms, 0) * MILLISECOND

/** Whether an outcome says that the receiver is in trouble, rather than that it does not want this one. */
export const isTrouble = (outcome: Outcome): boolean =>
  outcome.kind === 'unreachable' || (outcome.kind === 'refused' && (outcome.status === 429 || outcome.status >= 500))

/** Reads `Retry-After`: seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(value: string | null, nowUs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value.trim())) return Number(value) * 1_000
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowUs / MILLISECOND)
}
