import type { NowUs } from '../lib/time.ts'

/**
 * The node's estimate of the database's clock, by which all nodes compute due times and expiry. It is the node's steady
 * clock plus an offset. The offset follows the measurements by at most 1 % of the elapsed time: so the clock never
 * steps back, all nodes follow a change of the database's clock slowly and alike, and one slow measurement does no
 * harm.
 */
type DatabaseClock = {
  /** Returns the database's time in microseconds. It never goes back. */
  readonly steadyUs: NowUs
  /** Records the database's time at some moment between `sentUs` and `nowUs` of this node's clock. */
  measured(databaseUs: number, at: { readonly sentUs: number; readonly nowUs: number }): void
  /** Part of `Clock` for a single node; nothing to do here, since the database's clock is trusted. */
  check(): void
  mayPrune(): boolean
}

const SLEW = 0.01

/** Creates the clock from its first measurement. */
export function newDatabaseClock(
  elapsedUs: NowUs,
  first: { databaseUs: number; sentUs: number; nowUs: number },
): DatabaseClock {
  let offsetUs = first.databaseUs - Math.floor((first.sentUs + first.nowUs) / 2)
  let measuredUs = first.nowUs
  let latestUs = Number.NEGATIVE_INFINITY
  return {
    steadyUs() {
      latestUs = Math.max(latestUs, elapsedUs() + offsetUs)
      return latestUs
    },
    measured(databaseUs, { sentUs, nowUs }) {
      // The clock was read at an unknown moment of the round trip: any offset within it may be right.
      const [leastUs, mostUs] = [databaseUs - nowUs, databaseUs - sentUs]
      const wantedUs = Math.min(Math.max(offsetUs, leastUs), mostUs)
      const mayUs = Math.floor((nowUs - measuredUs) * SLEW)
      offsetUs += Math.min(Math.max(wantedUs - offsetUs, -mayUs), mayUs)
      measuredUs = nowUs
    },
    check() {},
    mayPrune: () => true,
  }
}
