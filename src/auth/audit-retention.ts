import type { Log } from '../lib/log.ts'
import { inSmallSteps, STEP, startPeriodic } from '../lib/periodic.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** Entries stay in the audit trail for longer than a year, so that a yearly review finds everything. */
const AUDIT_KEPT_DAYS = 400
const KEPT_US = AUDIT_KEPT_DAYS * 86_400 * SECOND
const EVERY_MS = 3_600_000

type Options = {
  readonly trail: Pick<Store['audit'], 'auditPrune'>
  readonly log: Log
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune: () => boolean
  readonly nowUs: NowUs
  readonly everyMs?: number
}

/** Starts deleting entries of the audit trail at the end of their retention. */
export function startAuditRetention(options: Options): { stop(): Promise<void> } {
  const { trail, log, mayPrune, nowUs, everyMs = EVERY_MS } = options
  return startPeriodic(everyMs, async (stopped) => {
    try {
      await inSmallSteps(
        () => trail.auditPrune({ beforeUs: nowUs() - KEPT_US, limit: STEP }),
        () => !stopped() && mayPrune(),
      )
    } catch (error) {
      log.warn({ err: error }, 'cannot delete old changes from the audit trail: will retry')
    }
  })
}
