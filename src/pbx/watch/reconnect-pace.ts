import { backoff } from '../../lib/backoff.ts'
import type { SessionEnd } from '../connection/protocol.ts'

export type PaceLimits = {
  readonly firstMs: number
  readonly maxMs: number
  /** A connection of at least this duration stood: a series of failures ends, and its loss begins a quick minute. */
  readonly stableMs: number
  /** After a refusal: soon enough to notice a corrected password, too seldom for fail2ban. */
  readonly refusedMs: number
  /** After the loss of a connection that stood: a restart or a short outage, most of them over within a minute. */
  readonly quickMs: number
  /** The most time for connecting during the quick minute, since packets that are dropped get no answer. */
  readonly quickConnectMs: number
}

export const PACE: PaceLimits = {
  firstMs: 1_000,
  maxMs: 30_000,
  // Long enough to have logged in and listed. A link that drops every few seconds is tried like others.
  stableMs: 3_000,
  refusedMs: 60_000,
  quickMs: 60_000,
  quickConnectMs: 4_000,
}

/** How soon a PBX is tried again. */
type ReconnectPace = {
  /** Returns the milliseconds until the next attempt, after a connection that was up for `upMs` (0: never). */
  waitMs(end: SessionEnd['kind'], upMs: number, nowMs: number): number
  /** Returns how long an attempt that begins now may take to connect. */
  connectMs(usualMs: number, nowMs: number): number
}

/**
 * Creates the pace of one PBX. Waits have jitter, so that hundreds of connections that were lost together do not come
 * back in one moment. A refused log-in is repeated after a minute or two, whatever went before.
 */
export function createReconnectPace(limits: PaceLimits, random: () => number): ReconnectPace {
  const { firstMs, maxMs, stableMs, refusedMs, quickMs, quickConnectMs } = limits
  let failures = 0
  let quickUntilMs = Number.NEGATIVE_INFINITY
  return {
    waitMs(end, upMs, nowMs) {
      const stood = upMs > 0 && upMs >= stableMs
      if (stood) quickUntilMs = nowMs + quickMs
      if (end === 'refused') {
        failures += 1
        return refusedMs * (1 + random())
      }
      const isQuick = nowMs < quickUntilMs
      // Failures within the quick minute say nothing about the time after it.
      failures = stood || isQuick ? 0 : failures + 1
      if (isQuick || end === 'shutdown') return firstMs * (1 + random())
      const mostMs = backoff(failures + 1, firstMs, maxMs)
      return firstMs + random() * (mostMs - firstMs)
    },
    connectMs: (usualMs, nowMs) => (nowMs < quickUntilMs ? Math.min(usualMs, quickConnectMs) : usualMs),
  }
}
