import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND } from '../lib/time.ts'
import { TRUST_US } from './leases.ts'

/**
 * A PBX connection is kept for this time after trust has ended: the database may come back, and its events are not
 * lost.
 */
const KEEP_PBXS_US = 10 * SECOND - TRUST_US

type TrustWatchOptions = {
  readonly trustedUntilUs: () => number
  readonly elapsedUs: NowUs
  readonly log: Log
  /** Called when trust has ended, and when PBX connections are kept no longer. */
  readonly onEnded: () => void
}

/** Watches for the end of this node's trust in its leases, which comes by itself if no heartbeat succeeds. */
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
    /** Begins again, after a heartbeat that succeeded. */
    restart(): void {
      clear()
      // A heartbeat may be on its way when the node stops.
      if (isStopped) return
      const untilUs = trustedUntilUs()
      timers = [
        at(untilUs, 'the database has not answered for 3 s: deliveries are paused, and go on when it is back'),
        at(
          untilUs + KEEP_PBXS_US,
          'the database has not answered for 10 s: PBXs are disconnected, and connected again when it is back',
        ),
      ]
    },
    /** Returns whether connections to PBXs are kept. */
    keepsPbxs: (): boolean => elapsedUs() < trustedUntilUs() + KEEP_PBXS_US,
    stop(): void {
      isStopped = true
      clear()
    },
  }
}
