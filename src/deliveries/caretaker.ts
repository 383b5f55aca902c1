import type { Database } from '../db/database.ts'
import type { NowUs } from '../lib/time.ts'
import { oldestUs } from './claim-store.ts'
import type { Feed } from './feed.ts'
import type { Lanes } from './lanes.ts'
import type { Receivers } from './receivers.ts'
import { cancelLeft, failAged } from './record-store.ts'

/** What has to end without an attempt, in steps small enough that nothing waits for them. */
export type Caretaker = {
  readonly db: Database
  readonly lanes: Lanes
  readonly feed: Feed
  readonly receivers: Receivers
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  readonly maxAgeUs: number
  /** Told of deliveries that ended so. */
  readonly ended: (ids: readonly number[], state: 'failed' | 'cancelled') => void
}

const STEP = 500

/** Cancels what waited for URLs that left the list; what is under way is still delivered if it succeeds. */
export async function cancelWhatLeft({ db, feed, receivers, nowUs, ended }: Caretaker): Promise<void> {
  for (const webhookId of feed.webhookIds()) {
    if ((receivers.get(webhookId)?.cancelledTo ?? 0) === 0) continue
    await cancelWaiting(db, webhookId, nowUs, (ids) => ended(ids, 'cancelled'))
    receivers.drop()
  }
}

/** Cancels what waited for a webhook when its URL left the list. `told` of each step. */
export async function cancelWaiting(
  db: Database,
  webhookId: number,
  nowUs: NowUs,
  told: (ids: readonly number[]) => void,
): Promise<void> {
  for (;;) {
    const ids = await db.commit(cancelLeft, { webhookId, nowUs: nowUs(), step: STEP })
    if (ids.length === 0) return
    told(ids)
  }
}

/** While a webhook is down, its deliveries fail by age alone. */
export async function failWhatAged({ db, lanes, nowUs, steadyUs, maxAgeUs, ended }: Caretaker): Promise<void> {
  for (const { webhookId, health } of lanes.lines()) {
    if (health.down === undefined) continue
    const beforeUs = steadyUs() - maxAgeUs
    const oldest = oldestUs(db.read, webhookId)
    if (oldest === undefined || oldest >= beforeUs) continue
    for (;;) {
      const ids = await db.commit(failAged, { webhookId, nowUs: nowUs(), beforeUs, step: STEP })
      if (ids.length > 0) ended(ids, 'failed')
      if (ids.length < STEP) break
    }
  }
}
