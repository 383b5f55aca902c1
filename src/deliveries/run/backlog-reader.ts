import type { Ownership } from '../../cluster/cluster.ts'
import type { NowUs } from '../../lib/time.ts'
import type { PendingDelivery } from '../../store/operations/queue.ts'
import type { Store } from '../../store/store.ts'
import {
  type Backlog,
  beginLoad,
  endLoad,
  hasDue,
  type Load,
  noteDeleted,
  noteNotWaiting,
  noteRetriesRead,
  noteRetry,
  noteUnread,
  noteUntriedRead,
  noteWaiting,
  setStrict,
} from '../queue/backlog.ts'
import { loadDelivery } from '../queue/delivery.ts'
import type { LoadedDeliveries } from '../queue/loaded-deliveries.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'

const MAX_READ = 128

export type BacklogReaderOptions = {
  readonly queue: Store['queue']
  readonly loaded: LoadedDeliveries
  readonly webhooks: WebhookCache
  readonly ownership: Ownership
  readonly steadyUs: NowUs
}

/**
 * Makes the function that loads deliveries of a webhook: retries that are due, then those never tried. It loads the
 * webhook too if that is not cached, and rejects with Fault `unavailable`.
 */
export function createBacklogReader(options: BacklogReaderOptions): (backlog: Backlog) => Promise<void> {
  const { loaded, webhooks, steadyUs } = options
  const loadDue = createDueReader(options)
  const loadUntried = createUntriedReader(options)
  const strict = createStrictReader(options)

  return async (backlog) => {
    const { webhookId } = backlog
    const load = beginLoad(backlog)
    try {
      if (webhooks.get(webhookId) === undefined) await webhooks.load([webhookId])
      if (webhooks.get(webhookId) === undefined) {
        noteDeleted(backlog)
        return
      }
      // With deliveries in memory a refresh sets the order, since they have to be evicted.
      if (loaded.countOf(webhookId) === 0) setStrict(backlog, webhooks.get(webhookId)?.isStrict ?? false)
      if (hasDue(backlog, steadyUs())) await loadDue(backlog, load)
      if (!backlog.isStrict) {
        if (!load.isStale) await loadUntried(backlog, load)
        return
      }
      if (!load.isStale) await strict.loadNext(backlog, load)
      if (!load.isStale) await strict.loadUntried(backlog, load)
    } finally {
      endLoad(backlog)
    }
  }
}

/** Returns whether this node owns the account of a webhook; without other nodes, of an uncached webhook too. */
export function isOwnWebhook(
  { ownership, webhooks }: Pick<BacklogReaderOptions, 'ownership' | 'webhooks'>,
  webhookId: number,
): boolean {
  if (!ownership.isShared) return true
  const accountId = webhooks.get(webhookId)?.accountId
  return accountId !== undefined && ownership.ownsAccount(accountId)
}

type Read = (backlog: Backlog, load: Load) => Promise<void>

/**
 * Returns whether the result of a read may be used. Ownership may have been lost during the read, and regained before
 * any notification: then the result is dropped as if it had not been read.
 */
const isUsable = (options: BacklogReaderOptions, { webhookId }: Backlog, { isStale }: Load): boolean =>
  !isStale && isOwnWebhook(options, webhookId)

const cancelledTo = ({ webhooks }: BacklogReaderOptions, webhookId: number): number =>
  webhooks.get(webhookId)?.cancelledTo ?? 0

function isNew(options: BacklogReaderOptions, { id, webhookId }: PendingDelivery): boolean {
  return id > cancelledTo(options, webhookId) && options.loaded.get(id) === undefined
}

/** Takes read deliveries into memory, unless they have changed. Returns false if some have to be read again. */
function take(options: BacklogReaderOptions, found: readonly PendingDelivery[], { released }: Load): boolean {
  for (const pending of found)
    if (isNew(options, pending) && !released.has(pending.id)) options.loaded.add(loadDelivery(pending))
  return !found.some(({ id }) => released.has(id))
}

function createDueReader(options: BacklogReaderOptions): Read {
  const { queue, loaded, steadyUs } = options
  return async (backlog, load) => {
    const { webhookId } = backlog
    const dueSteadyUs = steadyUs()
    const limit = Math.max(0, Math.min(MAX_READ, loaded.freeOf(webhookId)))
    const due = await queue.deliveryGetDue({
      webhookId,
      afterId: cancelledTo(options, webhookId),
      exceptIds: loaded.retryIdsOf(webhookId),
      dueSteadyUs,
      limit,
    })
    if (!isUsable(options, backlog, load)) return
    const isCurrent = take(options, due, load)
    if (!isCurrent || due.length === limit) {
      noteRetriesRead(backlog, dueSteadyUs)
      return
    }
    // A retry that is evicted from here on is noted by itself.
    noteRetriesRead(backlog, undefined)
    const next = await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: dueSteadyUs }).catch((error) => {
      noteRetry(backlog, dueSteadyUs)
      throw error
    })
    if (next !== undefined) noteRetry(backlog, next)
  }
}

function createUntriedReader(options: BacklogReaderOptions): Read {
  const { queue, loaded } = options
  return async (backlog, load) => {
    const { webhookId } = backlog
    const limit = Math.min(MAX_READ, loaded.freeOf(webhookId))
    if (!backlog.hasMore || limit <= 0) return
    const afterId = Math.max(backlog.cursor, cancelledTo(options, webhookId))
    const untried = await queue.deliveryGetUntried({ webhookId, afterId, limit })
    if (!isUsable(options, backlog, load)) return
    take(options, untried, load)
    noteUntriedRead(backlog, {
      lastId: untried.at(-1)?.id ?? 0,
      hasMore: untried.length === limit || load.moreStored,
    })
  }
}

/**
 * Makes the function that leaves out deliveries that wait for a merged call. An event of a flow waits for the earlier
 * deliveries of the calls that were merged into its call: its steps use the values kept for these. A delivery waits
 * for lower ids alone, so no two wait for each other.
 */
function createMergeFilter({ queue, webhooks }: BacklogReaderOptions) {
  return async (backlog: Backlog, first: readonly PendingDelivery[]): Promise<readonly PendingDelivery[]> => {
    const { webhookId } = backlog
    if (webhooks.get(webhookId)?.flow === undefined) return first
    const merges = first.flatMap(({ id, callId, body }) =>
      mergedFrom(body).map((mergedId) => ({ id, callId, mergedId })),
    )
    if (merges.length === 0) return first
    // Noted before the read: a delivery that ends during the read is noticed.
    for (const { callId, mergedId } of merges) noteWaiting(backlog, callId, { mergedId })
    const callIds = [...new Set(merges.map(({ mergedId }) => mergedId))]
    const ofMerged = await queue.deliveryGetFirstOfCalls({ webhookId, callIds })
    const firstIdOf = new Map(ofMerged.map(({ callId, id }) => [callId, id]))
    const waiting = new Set<number>()
    for (const { id, callId, mergedId } of merges) {
      const isAwaited = (firstIdOf.get(mergedId) ?? Number.POSITIVE_INFINITY) < id
      if (isAwaited) waiting.add(id)
      else noteNotWaiting(backlog, callId, { mergedId })
    }
    return first.filter(({ id }) => !waiting.has(id))
  }
}

/** Returns the ids of the calls that were merged into an event's call; this program wrote the body. */
function mergedFrom(body: string): readonly string[] {
  // Few events name any: the others are not parsed.
  if (!body.includes('"merged_from":["')) return []
  const { data }: { data?: { call?: { merged_from?: readonly string[] } } } = JSON.parse(body)
  return data?.call?.merged_from ?? []
}

/** The reads of a strict order, in which only the first pending delivery of each call is loaded. */
function createStrictReader(options: BacklogReaderOptions): { loadNext: Read; loadUntried: Read } {
  const { queue, loaded } = options
  const withoutWaiting = createMergeFilter(options)
  return {
    /** Loads the deliveries that waited for an ended one. */
    async loadNext(backlog, load) {
      const { webhookId, nextOf } = backlog
      const callIds = [...nextOf].slice(0, Math.max(0, Math.min(MAX_READ, loaded.freeOf(webhookId))))
      if (callIds.length === 0) return
      for (const callId of callIds) nextOf.delete(callId)
      const putBack = () => {
        noteUnread(backlog, callIds)
      }
      const read = async () => {
        const first = await queue.deliveryGetFirstOfCalls({ webhookId, callIds })
        const untried = first.filter(({ dueSteadyUs }) => dueSteadyUs === undefined)
        return { first, untried: await withoutWaiting(backlog, untried) }
      }
      const { first, untried } = await read().catch((error) => {
        putBack()
        throw error
      })
      if (!isUsable(options, backlog, load)) {
        putBack()
        return
      }
      const again = first.filter(({ id }) => load.released.has(id))
      take(options, untried, load)
      for (const { dueSteadyUs } of first) if (dueSteadyUs !== undefined) noteRetry(backlog, dueSteadyUs)
      noteUnread(
        backlog,
        again.map(({ callId }) => callId),
      )
    },

    async loadUntried(backlog, load) {
      const { webhookId } = backlog
      const limit = Math.min(MAX_READ, loaded.freeOf(webhookId))
      if (!backlog.hasMore || limit <= 0) return
      const afterId = Math.max(backlog.cursor, cancelledTo(options, webhookId))
      const { deliveries, lastId } = await queue.deliveryGetUntriedStrict({ webhookId, afterId, limit })
      const untried = await withoutWaiting(backlog, deliveries)
      if (!isUsable(options, backlog, load)) return
      take(options, untried, load)
      const readTo = lastId ?? deliveries.at(-1)?.id ?? 0
      noteUntriedRead(backlog, { lastId: readTo, hasMore: lastId !== null || load.moreStored })
    },
  }
}
