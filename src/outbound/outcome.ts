import { MILLISECOND } from '../lib/time.ts'

/**
 * How one attempt ended. `refused` is any answer but 2xx; `unreachable` is no answer: name look-up, address rules,
 * connection, TLS, time-out. `rejected`: an MQTT broker that works refuses this message. Two do not count as attempts,
 * since the receiver is not at fault: `unsent`, this machine could not begin the request; `aborted`, another node owns
 * the account now and sends it again. `unrendered`: the webhook's template failed. `skipped`: the template was empty,
 * so the event is not sent. MQTT has no status.
 *
 * `deferred`: there is no authorization or no time for its templates now, so the delivery stays as it is. Two are of
 * flows: `advanced`, a step is done and others follow; `ruled`, a rule of the step decides about its answer.
 */
export type Outcome =
  | { readonly kind: 'delivered'; readonly status: number | null }
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfterMs?: number; readonly reason?: string }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'unsent'; readonly reason: string }
  | { readonly kind: 'unrendered'; readonly reason: string }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'advanced'; readonly status: number }
  | {
      readonly kind: 'ruled'
      readonly verdict: 'retry' | 'fail'
      readonly status: number
      readonly reason: string
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'deferred'; readonly reason: string; readonly afterMs: number }

/** A request and its outcome. `durationMs` ends with the status. */
export type Attempted = {
  readonly outcome: Outcome
  readonly durationMs: number
  readonly address: string | null
  readonly response: string | null
}

/** Returns the status of the answer; `null` if there was no answer. */
export const statusOf = (outcome: Outcome): number | null => ('status' in outcome ? outcome.status : null)
/** Returns why there was no answer, or no request, or what an answer means; `null` if its status says all. */
export const failureOf = (outcome: Outcome): string | null => ('reason' in outcome ? (outcome.reason ?? null) : null)

/** Returns how many requests an attempt outside of flows made. An aborted request may have been sent. */
export const requestsOf = ({ kind }: Outcome): number =>
  kind === 'skipped' || kind === 'unrendered' || kind === 'unsent' || kind === 'deferred' ? 0 : 1

const MAX_RETRY_AFTER_MS = 3_600_000

/** Returns the milliseconds of the answer's `Retry-After`, at most an hour; 0 without one. */
export const retryAfterMsOf = (outcome: Outcome): number =>
  'retryAfterMs' in outcome ? Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0

/** Returns whether an outcome shows that the receiver is in trouble, rather than that it refuses this one delivery. */
export const isTrouble = (outcome: Outcome): boolean =>
  outcome.kind === 'unreachable' ||
  ((outcome.kind === 'refused' || outcome.kind === 'ruled') && (outcome.status === 429 || outcome.status >= 500))

/** Returns the milliseconds of a `Retry-After` header: seconds or a date (RFC 9110, 10.2.3); `undefined`: neither. */
export function parseRetryAfter(value: string | null, nowUs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value.trim())) return Number(value) * 1_000
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowUs / MILLISECOND)
}
