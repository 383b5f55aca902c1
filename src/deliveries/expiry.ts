import type { NowUs } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import type { Feed } from './queue/loader.ts'
import type { Lanes } from './queue/scheduler.ts'
import type { Receivers } from './queue/webhook-cache.ts'

/** What has to end without an attempt, in steps small enough that nothing waits for them. */
export type Caretaker = {
  readonly queue: Store['queue']
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
export async function cancelWhatLeft({ queue, feed, receivers, nowUs, ended }: Caretaker): Promise<void> {
  for (const webhookId of feed.webhookIds()) {
    if ((receivers.get(webhookId)?.cancelledTo ?? 0) === 0) continue
    await cancelWaiting(queue, webhookId, nowUs, (ids) => ended(ids, 'cancelled'))
    await receivers.load([webhookId])
  }
}

/** Cancels what waited for a webhook when its URL left the list. `told` of each step. */
export async function cancelWaiting(
  queue: Store['queue'],
  webhookId: number,
  nowUs: NowUs,
  told: (ids: readonly number[]) => void,
): Promise<void> {
  for (;;) {
    const ids = await queue.deliveryCancelUnlisted({ webhookId, nowUs: nowUs(), limit: STEP })
    if (ids.length === 0) return
    told(ids)
  }
}

/** While a webhook is down, its deliveries fail by age alone. */
export async function failWhatAged({ queue, lanes, nowUs, steadyUs, maxAgeUs, ended }: Caretaker): Promise<void> {
  for (const { webhookId, health } of lanes.lines()) {
    if (health.down === undefined) continue
    const beforeSteadyUs = steadyUs() - maxAgeUs
    const oldest = await queue.pendingGetOldest(webhookId)
    if (oldest === undefined || oldest >= beforeSteadyUs) continue
    for (;;) {
      const ids = await queue.deliveryFailExpired({ webhookId, nowUs: nowUs(), beforeSteadyUs, limit: STEP })
      if (ids.length > 0) ended(ids, 'failed')
      if (ids.length < STEP) break
    }
  }
}
