import type { Log } from '../../lib/log.ts'
import { inSmallSteps, PAUSE_MS, STEP, startPeriodic } from '../../lib/periodic.ts'
import { MILLISECOND, type NowUs, SECOND, nowUs as wallUs } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

type PrunerOptions = {
  readonly maintenance: Store['maintenance']
  readonly flows: Pick<Store['flows'], 'keptPrune' | 'flowProgressPrune'>
  readonly log: Log
  readonly keepDeliveredMs: number
  readonly keepFailedMs: number
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune?: () => boolean
  readonly nowUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 10 * 60_000
/** The retention of events of phones and agents: they are frequent, and soon of no use. */
const SHORT_LIVED_US = 86_400 * SECOND
/** The retention of values that a flow kept for a call; the record of the call may be kept for longer. */
const VALUES_KEPT_US = 30 * 86_400 * SECOND
/** A URL that left the list may come back while its receiver still has the secret. */
const SECRETS_KEPT_US = 365 * 86_400 * SECOND

/** Starts deleting the records that are older than their retention, in small steps. */
export function startPruner(options: PrunerOptions): { stop(): Promise<void> } {
  const { maintenance, flows, log, keepDeliveredMs, keepFailedMs, mayPrune = () => true } = options
  const { nowUs = wallUs, everyMs = EVERY_MS } = options

  async function prune(stopped: () => boolean): Promise<void> {
    const mayGoOn = () => !stopped() && mayPrune()
    let pruned = await pageByPage((afterId) => {
      const now = nowUs()
      return maintenance.deliveryPrune({
        afterId,
        deliveredBeforeUs: now - keepDeliveredMs * MILLISECOND,
        failedBeforeUs: now - keepFailedMs * MILLISECOND,
        nowUs: now,
        limit: STEP,
      })
    }, mayGoOn)
    pruned += await pageByPage(
      (afterId) => maintenance.shortLivedPrune({ afterId, beforeUs: nowUs() - SHORT_LIVED_US, limit: STEP }),
      mayGoOn,
    )
    pruned += await inSmallSteps(
      () => maintenance.webhookPrune(STEP),
      () => !stopped(),
    )
    pruned += await inSmallSteps(() => flows.keptPrune({ beforeUs: nowUs() - VALUES_KEPT_US, limit: STEP }), mayGoOn)
    pruned += await inSmallSteps(
      () => flows.flowProgressPrune(STEP),
      () => !stopped(),
    )
    const beforeUs = nowUs() - SECRETS_KEPT_US
    pruned += await inSmallSteps(() => maintenance.secretPrune({ beforeUs, limit: STEP }), mayGoOn)
    if (pruned > 0) log.info({ pruned }, 'old records were deleted')
  }
  return startPeriodic(everyMs, (stopped) =>
    prune(stopped).catch((error) =>
      log.warn({ err: error }, 'cannot delete old records: the store is unavailable, will retry'),
    ),
  )
}

type Page = { readonly pruned: number; readonly lastId: number | null }

/** Prunes from the lowest id on, with pauses, until there is no further page. Returns the number of deleted records. */
async function pageByPage(prune: (afterId: number) => Promise<Page>, mayGoOn: () => boolean): Promise<number> {
  let pruned = 0
  for (let afterId: number | null = 0; afterId !== null && mayGoOn(); ) {
    const page: Page = await prune(afterId)
    pruned += page.pruned
    afterId = page.lastId
    if (afterId !== null) await Bun.sleep(PAUSE_MS)
  }
  return pruned
}
