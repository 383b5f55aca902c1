import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND } from '../lib/time.ts'

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

/** The largest change of the offset, as a share of the elapsed time. */
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
      // The clock was read at an unknown moment of the round trip: each offset within it is possible.
      const [leastUs, mostUs] = [databaseUs - nowUs, databaseUs - sentUs]
      const wantedUs = Math.min(Math.max(offsetUs, leastUs), mostUs)
      const mostStepUs = Math.floor((nowUs - measuredUs) * SLEW)
      offsetUs += Math.min(Math.max(wantedUs - offsetUs, -mostStepUs), mostStepUs)
      measuredUs = nowUs
    },
    check() {},
    mayPrune: () => true,
  }
}

/** The difference between this node's wall clock and the database's clock, which all nodes share. */
type ClockSkew = {
  /** Returns the wall clock, corrected where it is wrong by more than a second. */
  readonly nowUs: NowUs
  /** Returns how many microseconds this node's clock is ahead; `null` before the first measurement. */
  aheadUs(): number | null
  /** Records the database's time at some moment between `sentUs` and `nowUs` of this node's steady clock. */
  measured(databaseUs: number, at: { readonly sentUs: number; readonly nowUs: number }): void
}

/** A smaller difference is normal, and a correction could make the clock step. */
const TOLERATED_US = SECOND
/** A slower answer is too inexact to measure by. */
const MAX_TRIP_US = SECOND / 2

/** Creates the clock skew, before its first measurement. */
export function newClockSkew(wallUs: NowUs, log: Pick<Log, 'warn' | 'info'>): ClockSkew {
  let aheadUs: number | null = null
  let isReported = false

  function report(us: number): void {
    const isWrong = Math.abs(us) > TOLERATED_US
    if (isWrong === isReported) return
    isReported = isWrong
    const seconds = Math.round(us / 100_000) / 10
    if (isWrong)
      log.warn(
        { seconds },
        `the clock of this machine is ${Math.abs(seconds)} s ${us > 0 ? 'ahead of' : 'behind'} the database's: times of events are corrected; set it, as with timedatectl set-ntp true`,
      )
    else log.info("the clock of this machine is the database's again")
  }
  return {
    nowUs: () => wallUs() - (aheadUs !== null && Math.abs(aheadUs) > TOLERATED_US ? Math.round(aheadUs) : 0),
    aheadUs: () => aheadUs,
    measured(databaseUs, at) {
      const tripUs = at.nowUs - at.sentUs
      if (tripUs > MAX_TRIP_US) return
      aheadUs = Math.round(wallUs() - tripUs / 2 - databaseUs)
      report(aheadUs)
    },
  }
}
