import type { NowUs } from '../lib/time.ts'

/**
 * The database's clock as this node knows it: on it all nodes reckon when retries are due and what is too old. It is
 * the node's own steady clock and an offset, which follows the database by 1 % of the time that passes at most: so it
 * never steps back, a clock of the database that is set is followed slowly by all nodes alike, and one measurement that
 * took long does no harm.
 */
type DatabaseClock = {
  /** Returns the database's time in microseconds. It never goes back. */
  readonly steadyUs: NowUs
  /** Takes in what the database's clock was at some moment between two of this node's. */
  measured(databaseUs: number, at: { readonly sentUs: number; readonly nowUs: number }): void
  /** As the clock of a single node has them: there is nothing to watch, and nothing to doubt. */
  check(): void
  mayPrune(): boolean
}

const SLEW = 0.01

/** Makes the clock with its first measurement. */
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
      // It was read somewhere between the two: within that nothing is known to be wrong.
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
