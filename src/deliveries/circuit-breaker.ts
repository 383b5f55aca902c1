import { MILLISECOND, SECOND } from '../lib/time.ts'
import { askedMs, isTrouble, type Outcome } from './retry-policy.ts'

/**
 * How a webhook does, and how much it may be sent. Pure. Its clock is steady, not the wall's.
 *
 * States: *unproven* (nothing came back yet), *up*, *down*.
 * Invariants: `window` is 1 while down and 16 at most; `row` counts troubles since the last answer that was none.
 * Moves: the fifth trouble in a row → down, probed after 1 s, 2 s, 4 s … 60 s, or later if the receiver asks for it; any answer but 429 and 5xx → up, the window
 * growing by one with each, so that a receiver that comes back is not flooded.
 */
export type Health = {
  row: number
  window: number
  proven: boolean
  down: { sinceUs: number; probeAtUs: number; waitUs: number } | undefined
}

export type Change = 'went down' | 'came back' | undefined

const ROW_OF_DOWN = 5
export const MAX_WINDOW = 16
/** A process that starts with a backlog feels its way: the receiver may have gone since. */
const FIRST_WINDOW = 4
const FIRST_PROBE_US = SECOND
const LAST_PROBE_US = 60 * SECOND

/** Down for this long is said in the log and in the metrics. */
export const LONG_DOWN_MS = 5 * 60_000

export const newHealth = (): Health => ({ row: 0, window: FIRST_WINDOW, proven: false, down: undefined })

/**
 * Takes in an outcome. Of a webhook that is down only its probe's failure counts: others were under way before.
 * @returns what it changed, if anything.
 */
export function judge(health: Health, outcome: Outcome, probe: boolean, nowUs: number): Change {
  if (outcome.kind === 'unsent') return undefined
  if (isTrouble(outcome)) return troubled(health, outcome, probe, nowUs)
  const wasDown = health.down !== undefined
  health.row = 0
  health.proven = true
  health.window = wasDown ? 1 : Math.min(MAX_WINDOW, health.window + 1)
  health.down = undefined
  return wasDown ? 'came back' : undefined
}

function troubled(health: Health, outcome: Outcome, probe: boolean, nowUs: number): Change {
  health.row += 1
  health.proven = false
  const askedToUs = nowUs + askedMs(outcome) * MILLISECOND
  if (health.down !== undefined) {
    if (probe) {
      health.down.waitUs = Math.min(health.down.waitUs * 2, LAST_PROBE_US)
      health.down.probeAtUs = nowUs + health.down.waitUs
    }
    health.down.probeAtUs = Math.max(health.down.probeAtUs, askedToUs)
    return undefined
  }
  health.window = Math.max(1, Math.floor(health.window / 2))
  if (health.row < ROW_OF_DOWN) return undefined
  health.window = 1
  const probeAtUs = Math.max(nowUs + FIRST_PROBE_US, askedToUs)
  health.down = { sinceUs: nowUs, probeAtUs, waitUs: FIRST_PROBE_US }
  return 'went down'
}

export const isLongDown = (health: Health, nowUs: number): boolean =>
  health.down !== undefined && nowUs - health.down.sinceUs >= LONG_DOWN_MS * MILLISECOND
