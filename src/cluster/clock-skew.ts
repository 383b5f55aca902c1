import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND } from '../lib/time.ts'

/** How the wall clock of this node differs from the database's, which all nodes share. */
type ClockSkew = {
  /** Returns the wall clock, corrected where it is wrong by more than a second. */
  readonly nowUs: NowUs
  /** Returns by how much it is ahead, in microseconds; `null`: it was not measured yet. */
  aheadUs(): number | null
  /** Takes in what the database's clock was between two moments of this node's steady clock, a moment ago. */
  measured(databaseUs: number, at: { readonly sentUs: number; readonly nowUs: number }): void
}

/** Less is normal, and not worth a correction that may step. */
const TOLERATED_US = SECOND
/** An answer that took longer says too little. */
const MAX_TRIP_US = SECOND / 2

/** Makes the skew of a clock that was not measured yet. */
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
