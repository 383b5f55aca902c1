import { MILLISECOND, SECOND } from '../lib/time.ts'
import { isTrouble, type Outcome, retryAfterMsOf } from './outcome.ts'

/**
 * The circuit breaker of one webhook: whether deliveries are sent, and how many at a time. Pure, and the only code that
 * changes it. Times are of the steady clock.
 *
 * States: *closed* (deliveries are sent) and *open* (the webhook is down: only probes are sent, one at a time).
 * Invariants: `window` is 1 while open, and 16 at most; `troubles` counts the troubles in a row. Moves: the fifth
 * trouble in a row opens it; then it is probed after 1 s, 2 s, 4 s … 60 s, or later if the receiver asks for that. Any
 * answer but 429 and 5xx closes it. The window grows by one with each such answer, so that a receiver that has
 * recovered is not flooded.
 */
export type CircuitBreaker = {
  readonly troubles: number
  /** The most attempts in flight. */
  readonly window: number
  /** Whether the last outcome showed that the receiver works. */
  readonly proven: boolean
  /** The start of the outage and the time of the next probe; `undefined`: closed. */
  readonly open: { readonly sinceUs: number; readonly probeAtUs: number; readonly waitUs: number } | undefined
}

type State = { -readonly [name in keyof CircuitBreaker]: CircuitBreaker[name] }

export type BreakerChange = 'opened' | 'closed'

const OPENS_AFTER_TROUBLES = 5
/** The largest window; see extra-window.ts for webhooks that get more. */
export const MAX_WINDOW = 16
/** A process starts with a small window: the receiver may have gone down meanwhile. */
const FIRST_WINDOW = 4
const FIRST_PROBE_US = SECOND
const LAST_PROBE_US = 60 * SECOND

/** An outage of this length is logged, counted in the metrics and alerted. */
export const LONG_OUTAGE_MS = 5 * 60_000

/** Returns a closed circuit breaker, for a webhook without outcomes. */
export const newCircuitBreaker = (): CircuitBreaker => ({
  troubles: 0,
  window: FIRST_WINDOW,
  proven: false,
  open: undefined,
})

/**
 * Applies the outcome of an attempt. While the breaker is open, only failures of probes count: other attempts began
 * before. Returns the change of the breaker, if any.
 */
export function recordOutcome(
  breaker: CircuitBreaker,
  outcome: Outcome,
  { probe, nowUs }: { probe: boolean; nowUs: number },
): BreakerChange | undefined {
  const { kind } = outcome
  if (kind === 'unsent' || kind === 'skipped' || kind === 'aborted' || kind === 'deferred') return undefined
  const state: State = breaker
  if (outcome.kind === 'unrendered') {
    if (probe && state.open !== undefined) state.open = nextProbe(state.open, nowUs)
    return undefined
  }
  if (isTrouble(outcome)) return recordTrouble(state, outcome, probe, nowUs)
  const wasOpen = state.open !== undefined
  state.troubles = 0
  state.proven = true
  state.window = wasOpen ? 1 : Math.min(MAX_WINDOW, state.window + 1)
  state.open = undefined
  return wasOpen ? 'closed' : undefined
}

function recordTrouble(state: State, outcome: Outcome, probe: boolean, nowUs: number): BreakerChange | undefined {
  state.troubles += 1
  state.proven = false
  const notBeforeUs = nowUs + retryAfterMsOf(outcome) * MILLISECOND
  if (state.open !== undefined) {
    const open = probe ? nextProbe(state.open, nowUs) : state.open
    state.open = { ...open, probeAtUs: Math.max(open.probeAtUs, notBeforeUs) }
    return undefined
  }
  state.window = Math.max(1, Math.floor(state.window / 2))
  if (state.troubles < OPENS_AFTER_TROUBLES) return undefined
  state.window = 1
  state.open = { sinceUs: nowUs, probeAtUs: Math.max(nowUs + FIRST_PROBE_US, notBeforeUs), waitUs: FIRST_PROBE_US }
  return 'opened'
}

/** Returns the time of the next probe after a failed one, with twice the wait. */
function nextProbe({ sinceUs, waitUs: before }: NonNullable<State['open']>, nowUs: number) {
  const waitUs = Math.min(before * 2, LAST_PROBE_US)
  return { sinceUs, waitUs, probeAtUs: nowUs + waitUs }
}

/** Returns whether a breaker has been open for five minutes or more. */
export const isLongOpen = ({ open }: CircuitBreaker, nowUs: number): boolean =>
  open !== undefined && nowUs - open.sinceUs >= LONG_OUTAGE_MS * MILLISECOND

/** The health of a webhook. `downSinceUs` is steady time. */
export type BreakerHealth = { readonly state: 'unknown' | 'up' | 'down'; readonly downSinceUs: number | null }

/** Returns the health of a webhook; `unknown` until an outcome shows that its receiver works. */
export function healthOf(breaker: CircuitBreaker | undefined): BreakerHealth {
  const open = breaker?.open
  if (open !== undefined) return { state: 'down', downSinceUs: open.sinceUs }
  return { state: breaker?.proven ? 'up' : 'unknown', downSinceUs: null }
}

/** Counts the open breakers of these queues, and those open for five minutes or more. */
export function countOpen(queues: Iterable<{ readonly breaker: CircuitBreaker }>, nowUs: number) {
  const counts = { now: 0, long: 0 }
  for (const { breaker } of queues) {
    if (breaker.open !== undefined) counts.now += 1
    if (isLongOpen(breaker, nowUs)) counts.long += 1
  }
  return counts
}
