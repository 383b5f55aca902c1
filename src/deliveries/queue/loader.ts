import type { Ownership } from '../../cluster/ownership.ts'
import type { NowUs } from '../../lib/time.ts'
import type { StoredEvent } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import {
  type Backlog,
  type Backlogs,
  needsLoad,
  noteChanged,
  noteEndedOfCall,
  noteLost,
  noteStored,
  noteTaken,
  setStrict,
} from './backlog.ts'
import { createBacklogReader, isOwnedBy } from './backlog-reader.ts'
import { type LoadedDelivery, loadDelivery, newDelivery } from './delivery.ts'
import type { LoadedDeliveries } from './loaded-deliveries.ts'
import type { Scheduler } from './scheduler.ts'
import type { WebhookCache } from './webhook-cache.ts'

/** Reading must not hold up the event loop: a load takes about a millisecond. */
const LOADS_AT_A_TIME = 4

export type LoaderOptions = {
  readonly queue: Store['queue']
  readonly scheduler: Scheduler
  readonly loaded: LoadedDeliveries
  readonly backlogs: Backlogs
  readonly webhooks: WebhookCache
  readonly ownership: Ownership
  readonly steadyUs: NowUs
  /** Called after a load: deliveries may have been queued, or there may be more to load. */
  readonly onLoaded: () => void
  /** Called when the store could not be read; the load is repeated. */
  readonly onFailed: (error: unknown) => void
}

export type Loader = ReturnType<typeof createLoader>

/** Fills the queues: with what was just stored, and from the store within the limits of memory. */
export function createLoader(options: LoaderOptions) {
  const { queue, scheduler, loaded, backlogs, webhooks, ownership, steadyUs, onLoaded, onFailed } = options
  const readers = createBacklogReader(options)
  const cancelledTo = (webhookId: number): number => webhooks.get(webhookId)?.cancelledTo ?? 0
  const isOwned = (webhookId: number): boolean => isOwnedBy(ownership, webhooks, webhookId)
  /** Deliveries to prioritize as soon as they are recorded. */
  const urgent = new Set<number>()
  let loads = 0

  function begin(backlog: Backlog): void {
    loads += 1
    readers.load(backlog).then(
      () => {
        loads -= 1
        if (needsLoad(backlog, steadyUs())) backlogs.toLoad.add(backlog)
        onLoaded()
      },
      (error) => {
        loads -= 1
        backlogs.toLoad.add(backlog)
        onFailed(error)
      },
    )
  }

  /**
   * Makes a delivery that was retried by hand the next of its webhook if that is down: its next probe would be for another.
   * @throws Fault `unavailable`.
   */
  async function prioritize(id: number): Promise<void> {
    const pending = loaded.get(id) === undefined ? await queue.deliveryGetPending(id) : undefined
    const delivery = loaded.get(id) ?? (pending === undefined ? undefined : loadDelivery(pending))
    if (delivery === undefined || scheduler.find(delivery.webhookId)?.breaker.open === undefined) return
    if (id <= cancelledTo(delivery.webhookId) || !isOwned(delivery.webhookId)) return
    if (delivery.phase === 'recording') urgent.add(id)
    if (loaded.get(id) === undefined) loaded.add(delivery)
    scheduler.prioritize(delivery, steadyUs())
  }

  /** Removes the webhooks that have left the list or are not this node's, and have nothing in memory. */
  function removeUnneeded(): void {
    for (const backlog of [...backlogs.all()]) {
      const { webhookId, load } = backlog
      if (load !== undefined || loaded.countOf(webhookId) > 0) continue
      const isNeeded = webhooks.get(webhookId)?.listed === true || cancelledTo(webhookId) > 0
      if (isNeeded && isOwned(webhookId)) continue
      backlogs.remove(backlog)
      scheduler.remove(webhookId)
      webhooks.remove(webhookId)
    }
  }

  return {
    /** Queues the deliveries of an event that was just stored; those that have others before them in the store are left to it. */
    offer(event: StoredEvent): void {
      if (!ownership.ownsAccount(event.accountId)) return
      for (const place of event.deliveries) {
        const { id, webhookId } = place
        const backlog = backlogs.of(webhookId)
        if (id <= backlog.cursor) continue
        // Where others store events as well, some of theirs may be before it; in a strict order another of its call may be pending.
        const mayTake =
          !ownership.isShared &&
          !backlog.hasMore &&
          !backlog.isStrict &&
          backlog.load === undefined &&
          webhooks.get(webhookId) !== undefined
        if (mayTake && loaded.roomOf(webhookId) > 0) {
          noteTaken(backlog, id)
          loaded.add(newDelivery(event, place))
        } else {
          noteStored(backlog)
          backlogs.toLoad.add(backlog)
        }
      }
    },

    /** Begins to load for the webhooks that need it, as much as a turn of the event loop may take. */
    refill(): void {
      for (const backlog of backlogs.toLoad) {
        if (loads >= LOADS_AT_A_TIME) return
        backlogs.toLoad.delete(backlog)
        if (backlog.load !== undefined || !needsLoad(backlog, steadyUs()) || !isOwned(backlog.webhookId)) continue
        // Half of the limit at a time: fewer reads.
        if (loaded.roomOf(backlog.webhookId) >= loaded.limitOf(backlog.webhookId) / 2) begin(backlog)
      }
    },

    /** Loads anew what may have been changed in the store, for these webhooks and all that are known. */
    refresh(by: 'us' | 'others', webhookIds: readonly number[]): void {
      for (const webhookId of webhookIds) if (isOwned(webhookId)) backlogs.of(webhookId)
      for (const backlog of backlogs.all()) {
        const { webhookId } = backlog
        const isReordered = setStrict(backlog, webhooks.get(webhookId)?.isStrict ?? false)
        loaded.refresh(webhookId, { cancelledTo: cancelledTo(webhookId), by: isReordered ? 'others' : by })
        noteChanged(backlog)
        backlogs.toLoad.add(backlog)
      }
      loaded.refreshActive(cancelledTo)
    },

    prioritize,

    /** Events of an account may have been stored by another node. */
    noteArrived(accountId: number): void {
      for (const backlog of backlogs.all()) {
        if (webhooks.get(backlog.webhookId)?.accountId !== accountId) continue
        noteStored(backlog)
        backlogs.toLoad.add(backlog)
      }
    },
    /** Leaves the deliveries of accounts that this node owns no more to the store. Returns those accounts. */
    releaseLost(): number[] {
      const lost = new Set<number>()
      for (const backlog of backlogs.all()) {
        const { webhookId } = backlog
        const accountId = webhooks.get(webhookId)?.accountId
        if (accountId === undefined || ownership.ownsAccount(accountId)) continue
        lost.add(accountId)
        loaded.release(webhookId)
        noteLost(backlog)
      }
      removeUnneeded()
      return [...lost]
    },
    /** Returns how many deliveries of some accounts are in memory. */
    countOf(accountIds: readonly number[]): number {
      const ofThem = [...backlogs.all()].filter(({ webhookId }) =>
        accountIds.includes(webhooks.get(webhookId)?.accountId ?? 0),
      )
      return ofThem.reduce((sum, { webhookId }) => sum + loaded.countOf(webhookId), 0)
    },

    /** The outcomes of these are in the store; those that are `superseded` had been changed there meanwhile. */
    recorded(deliveries: readonly LoadedDelivery[], superseded: readonly number[]): void {
      for (const delivery of deliveries) {
        const { id, webhookId } = delivery
        loaded.recorded(delivery, superseded.length > 0 && superseded.includes(id))
        const backlog = backlogs.of(webhookId)
        if (!isOwned(webhookId)) noteLost(backlog)
        if (delivery.phase === 'done' || delivery.phase === 'evicted') noteEndedOfCall(backlog, delivery.callId)
        if (backlog.hasMore || backlog.nextOf.size > 0) backlogs.toLoad.add(backlog)
        if (urgent.delete(id)) prioritize(id).then(onLoaded, onFailed)
      }
      if (superseded.length > 0 || ownership.isShared) removeUnneeded()
    },

    removeUnneeded,

    /** Deliveries ended without an attempt: in a strict order others may have waited for them. */
    endedUntried(): void {
      for (const backlog of backlogs.all()) {
        if (!backlog.isStrict) continue
        noteChanged(backlog)
        backlogs.toLoad.add(backlog)
      }
    },

    /** Has to be called some 40 times a second: retries become due. */
    tick(): void {
      loaded.tick()
      for (const backlog of backlogs.all()) if (needsLoad(backlog, steadyUs())) backlogs.toLoad.add(backlog)
    },
  }
}
