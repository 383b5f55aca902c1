import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND } from '../lib/time.ts'
import { TRUST_US } from './leases.ts'

/** PBX connections stay up this long after trust has ended: if the database comes back, no event is lost. */
const KEEP_PBXS_US = 10 * SECOND - TRUST_US

type TrustWatchOptions = {
  readonly trustedUntilUs: () => number
  readonly elapsedUs: NowUs
  readonly log: Log
  /** Called when trust ends, and when PBX connections are dropped. */
  readonly onEnded: () => void
}

/** Creates the watch that calls back when trust ends, as it does unless heartbeats succeed. */
export function newTrustWatch({ trustedUntilUs, elapsedUs, log, onEnded }: TrustWatchOptions) {
  let timers: Timer[] = []
  let isStopped = false
  const clear = () => {
    for (const timer of timers) clearTimeout(timer)
  }
  const at = (atUs: number, message: string) =>
    setTimeout(
      () => {
        log.warn(message)
        onEnded()
      },
      Math.max(0, Math.ceil((atUs - elapsedUs()) / MILLISECOND)),
    )
  return {
    /** Restarts the timers after a successful heartbeat. */
    restart(): void {
      clear()
      // A heartbeat may be on its way when the node stops.
      if (isStopped) return
      const untilUs = trustedUntilUs()
      timers = [
        at(untilUs, 'the database has not answered for 3 s: deliveries are paused until it is back'),
        at(untilUs + KEEP_PBXS_US, 'the database has not answered for 10 s: PBXs are disconnected until it is back'),
      ]
    },
    /** Returns whether PBX connections stay up. */
    keepsPbxs: (): boolean => elapsedUs() < trustedUntilUs() + KEEP_PBXS_US,
    stop(): void {
      isStopped = true
      clear()
    },
  }
}
