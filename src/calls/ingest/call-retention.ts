import type { Log } from '../../lib/log.ts'
import { inSmallSteps, STEP, startPeriodic } from '../../lib/periodic.ts'
import { MILLISECOND, type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

type CallRetentionOptions = {
  readonly maintenance: Store['maintenance']
  readonly log: Log
  readonly keepMs: number
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune?: () => boolean
  readonly nowUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 10 * 60_000

/** Deletes call records at the end of their retention, in small steps. */
export function startCallRetention(options: CallRetentionOptions): { stop(): Promise<void> } {
  const { maintenance, log, keepMs, mayPrune = () => true, nowUs = wallUs, everyMs = EVERY_MS } = options
  return startPeriodic(everyMs, async (stopped) => {
    try {
      const pruned = await inSmallSteps(
        () => maintenance.callPrune({ beforeUs: nowUs() - keepMs * MILLISECOND, limit: STEP }),
        () => !stopped() && mayPrune(),
      )
      if (pruned > 0) log.info({ pruned }, 'old call records were deleted')
    } catch (error) {
      log.warn({ err: error }, 'cannot delete old call records; will retry')
    }
  })
}
