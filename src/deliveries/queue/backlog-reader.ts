import type { Ownership } from '../../cluster/ownership.ts'
import type { NowUs } from '../../lib/time.ts'
import type { PendingDelivery } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import {
  type Backlog,
  beginLoad,
  endLoad,
  hasDue,
  type Load,
  noteDeleted,
  noteRetriesRead,
  noteRetry,
  noteUntriedRead,
  setStrict,
} from './backlog.ts'
import { loadDelivery } from './delivery.ts'
import { type LoadedDeliveries, MAX_LOADED } from './loaded-deliveries.ts'
import type { WebhookCache } from './webhook-cache.ts'

const MAX_READ = 128
/** Retries in memory are read along with the others: so it is more than they can be. */
const MAX_RETRIES_READ = MAX_LOADED + MAX_READ

export type BacklogReaderOptions = {
  readonly queue: Store['queue']
  readonly loaded: LoadedDeliveries
  readonly webhooks: WebhookCache
  readonly ownership: Ownership
  readonly steadyUs: NowUs
}

/** Creates the reads of one load: first the retries that are due, then deliveries that were never tried. */
export function createBacklogReader({ queue, loaded, webhooks, ownership, steadyUs }: BacklogReaderOptions) {
  const cancelledTo = (webhookId: number): number => webhooks.get(webhookId)?.cancelledTo ?? 0
  const isNew = ({ id, webhookId }: PendingDelivery) =>
    id > cancelledTo(webhookId) && loaded.get(id) === undefined && isOwnedBy(ownership, webhooks, webhookId)

  /** Takes what was read into memory, as far as it is still so. Returns false if some of it has to be read again. */
  function take(found: readonly PendingDelivery[], { released }: Load): boolean {
    for (const pending of found) if (isNew(pending) && !released.has(pending.id)) loaded.add(loadDelivery(pending))
    return !found.some(({ id }) => released.has(id))
  }

  async function loadDue(backlog: Backlog, load: Load): Promise<void> {
    const { webhookId } = backlog
    const dueSteadyUs = steadyUs()
    const due = await queue.deliveryGetDue({ webhookId, dueSteadyUs, limit: MAX_RETRIES_READ })
    if (load.isStale) return
    const wanted = due.filter(isNew)
    const room = Math.max(0, loaded.roomOf(webhookId))
    const isCurrent = take(wanted.slice(0, room), load)
    if (!isCurrent || due.length === MAX_RETRIES_READ || wanted.length > room) {
      noteRetriesRead(backlog, dueSteadyUs)
      return
    }
    // A retry that is evicted from here on is noted by itself.
    noteRetriesRead(backlog, undefined)
    const next = await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: dueSteadyUs })
    if (next !== undefined) noteRetry(backlog, next)
  }

  /** In a strict order: the deliveries that waited for one that has ended. */
  async function loadNext(backlog: Backlog, load: Load): Promise<void> {
    const { webhookId, nextOf } = backlog
    const callIds = [...nextOf].slice(0, Math.max(0, Math.min(MAX_READ, loaded.roomOf(webhookId))))
    if (callIds.length === 0) return
    for (const callId of callIds) nextOf.delete(callId)
    const putBack = () => {
      for (const callId of callIds) nextOf.add(callId)
    }
    const first = await queue.deliveryGetFirstOfCalls({ webhookId, callIds }).catch((error) => {
      putBack()
      throw error
    })
    if (load.isStale) {
      putBack()
      return
    }
    const again = first.filter(({ id }) => load.released.has(id))
    take(
      first.filter(({ dueSteadyUs }) => dueSteadyUs === undefined),
      load,
    )
    for (const { dueSteadyUs } of first) if (dueSteadyUs !== undefined) noteRetry(backlog, dueSteadyUs)
    for (const { callId } of again) nextOf.add(callId)
  }

  async function loadUntriedStrict(backlog: Backlog, load: Load): Promise<void> {
    const { webhookId } = backlog
    const limit = Math.min(MAX_READ, loaded.roomOf(webhookId))
    if (!backlog.hasMore || limit <= 0) return
    const afterId = Math.max(backlog.cursor, cancelledTo(webhookId))
    const { deliveries, lastId } = await queue.deliveryGetUntriedStrict({ webhookId, afterId, limit })
    if (load.isStale) return
    take(deliveries, load)
    const readTo = lastId ?? deliveries.at(-1)?.id ?? 0
    noteUntriedRead(backlog, { lastId: readTo, hasMore: lastId !== null || load.moreStored })
  }

  async function loadUntried(backlog: Backlog, load: Load): Promise<void> {
    const { webhookId } = backlog
    const limit = Math.min(MAX_READ, loaded.roomOf(webhookId))
    if (!backlog.hasMore || limit <= 0) return
    const afterId = Math.max(backlog.cursor, cancelledTo(webhookId))
    const untried = await queue.deliveryGetUntried({ webhookId, afterId, limit })
    if (load.isStale) return
    take(untried, load)
    noteUntriedRead(backlog, {
      lastId: untried.at(-1)?.id ?? 0,
      hasMore: untried.length === limit || load.moreStored,
    })
  }

  return {
    /** Loads deliveries of a webhook, and the webhook itself if it is not cached. @throws Fault `unavailable`. */
    async load(backlog: Backlog): Promise<void> {
      const { webhookId } = backlog
      const load = beginLoad(backlog)
      try {
        if (webhooks.get(webhookId) === undefined) await webhooks.load([webhookId])
        if (webhooks.get(webhookId) === undefined) {
          noteDeleted(backlog)
          return
        }
        // With some in memory a refresh does it, which evicts them.
        if (loaded.countOf(webhookId) === 0) setStrict(backlog, webhooks.get(webhookId)?.isStrict ?? false)
        if (hasDue(backlog, steadyUs())) await loadDue(backlog, load)
        if (!backlog.isStrict) {
          if (!load.isStale) await loadUntried(backlog, load)
          return
        }
        if (!load.isStale) await loadNext(backlog, load)
        if (!load.isStale) await loadUntriedStrict(backlog, load)
      } finally {
        endLoad(backlog)
      }
    },
  }
}

/** Returns whether a webhook is of an account that this node owns, and its webhook is cached. */
export function isOwnedBy(ownership: Ownership, webhooks: WebhookCache, webhookId: number): boolean {
  const accountId = webhooks.get(webhookId)?.accountId
  return accountId === undefined ? !ownership.isShared : ownership.ownsAccount(accountId)
}
