import { accountLease, type Ownership } from '../../cluster/cluster.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Fence } from '../../store/operations/cluster.ts'
import type { Store } from '../../store/store.ts'
import type { Backlogs } from '../queue/backlog.ts'
import type { Scheduler } from '../queue/scheduler.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'

/** The parts needed to end deliveries without an attempt, in small steps so that no other write waits long. */
type Expiry = {
  readonly queue: Store['queue']
  readonly scheduler: Scheduler
  readonly backlogs: Backlogs
  readonly webhooks: WebhookCache
  readonly ownership: Ownership
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  readonly maxAgeUs: number
  /** Called with the ids of ended deliveries of an account. */
  readonly onEnded: (ids: readonly number[], ended: { state: 'failed' | 'cancelled'; accountId: number }) => void
}

const STEP = 500
/** How often expired and cancelled deliveries are swept. */
const SWEEP_MS = 5_000

type ExpiryOptions = Expiry & {
  /** Called when every cancellation is complete. */
  readonly onCancelled: () => void
  /** Makes the handler of a failed action, which is repeated later. */
  readonly onRejected: (action: string) => (error: unknown) => void
}

/** Starts sweeping. `cancel` does it at once for URLs that left the list, and calls `onCancelled` when complete. */
export function startExpiry({ onCancelled, onRejected, ...expiry }: ExpiryOptions) {
  let isCancelling = false
  let mustCancelAgain = false
  /** Runs one sweep at a time: sweeps of many changes would go over the same webhooks. */
  async function cancelAll(): Promise<void> {
    if (isCancelling) {
      mustCancelAgain = true
      return
    }
    isCancelling = true
    try {
      do {
        mustCancelAgain = false
        await cancelUnlisted(expiry)
      } while (mustCancelAgain)
    } finally {
      isCancelling = false
    }
    onCancelled()
  }
  const cancel = () => void cancelAll().catch(onRejected('cancel deliveries'))
  const timer = setInterval(() => {
    cancel()
    expireDeliveries(expiry).catch(onRejected('fail expired deliveries'))
  }, SWEEP_MS)
  return { cancel, stop: () => clearInterval(timer) }
}

/**
 * Cancels the pending deliveries of URLs that left the list. A delivery in flight still counts if it succeeds.
 * @throws Fault `unavailable`.
 */
async function cancelUnlisted({ queue, backlogs, webhooks, ownership, nowUs, onEnded }: Expiry): Promise<void> {
  for (const webhookId of backlogs.webhookIds()) {
    const webhook = webhooks.get(webhookId)
    if (webhook === undefined || webhook.cancelledTo === 0 || !ownership.ownsAccount(webhook.accountId)) continue
    const { accountId } = webhook
    const fence = ownership.fenceOf(accountLease(accountId))
    const onCancelled = (ids: readonly number[]) => onEnded(ids, { state: 'cancelled', accountId })
    await cancelPending(queue, webhookId, { nowUs, fence, onCancelled })
    await webhooks.load([webhookId])
  }
}

/**
 * Cancels the deliveries that were pending for a webhook when its URL left the list; calls back after each step.
 * @throws Fault `unavailable`.
 */
export async function cancelPending(
  queue: Store['queue'],
  webhookId: number,
  {
    nowUs,
    fence,
    onCancelled,
  }: { nowUs: NowUs; fence?: Fence | undefined; onCancelled: (ids: readonly number[]) => void },
): Promise<void> {
  for (;;) {
    const ids = await queue.deliveryCancelUnlisted({ webhookId, nowUs: nowUs(), limit: STEP }, fence)
    if (ids.length === 0) return
    onCancelled(ids)
  }
}

/**
 * Fails the expired deliveries of webhooks that are down; other deliveries fail with their last attempt.
 * @throws Fault `unavailable`.
 */
export async function expireDeliveries(expiry: Omit<Expiry, 'backlogs'>): Promise<void> {
  const { queue, scheduler, webhooks, ownership, nowUs, steadyUs, maxAgeUs, onEnded } = expiry
  for (const { webhookId, breaker, pace } of scheduler.queues()) {
    if (breaker.open === undefined || pace.isPaused) continue
    const webhook = webhooks.get(webhookId)
    if (webhook === undefined || !ownership.ownsAccount(webhook.accountId)) continue
    const fence = ownership.fenceOf(accountLease(webhook.accountId))
    const beforeSteadyUs = steadyUs() - maxAgeUs
    if (webhooks.resumedUs(webhookId) >= beforeSteadyUs) continue
    const oldestUs = await queue.pendingGetOldest(webhookId)
    if (oldestUs === undefined || oldestUs >= beforeSteadyUs) continue
    for (;;) {
      const ids = await queue.deliveryFailExpired({ webhookId, nowUs: nowUs(), beforeSteadyUs, limit: STEP }, fence)
      if (ids.length > 0) onEnded(ids, { state: 'failed', accountId: webhook.accountId })
      if (ids.length < STEP) break
    }
  }
}
