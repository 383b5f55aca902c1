import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND } from '../lib/time.ts'

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
