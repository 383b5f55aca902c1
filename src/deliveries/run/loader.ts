import type { Ownership } from '../../cluster/cluster.ts'
import type { NowUs } from '../../lib/time.ts'
import type { StoredEvent } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import {
  type Backlog,
  type Backlogs,
  needsLoad,
  noteChanged,
  noteEndedOfCall,
  noteStored,
  noteTaken,
  noteUnknown,
  setStrict,
} from '../queue/backlog.ts'
import { type LoadedDelivery, loadDelivery, newDelivery } from '../queue/delivery.ts'
import type { LoadedDeliveries } from '../queue/loaded-deliveries.ts'
import type { Scheduler } from '../queue/scheduler.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'
import { createBacklogReader, isOwnWebhook } from './backlog-reader.ts'
import { createBacklogSurvey } from './backlog-survey.ts'

/** Reading must not hold up the event loop: a load takes about a millisecond. */
const LOADS_AT_A_TIME = 4

type LoaderOptions = {
  readonly queue: Store['queue']
  readonly scheduler: Scheduler
  readonly loaded: LoadedDeliveries
  readonly backlogs: Backlogs
  readonly webhooks: WebhookCache
  readonly ownership: Ownership
  readonly steadyUs: NowUs
  /** Called after a load: deliveries may have been queued, or there may be more to load. */
  readonly onLoaded: () => void
  /** Makes the handler of a failed action, which is repeated later. */
  readonly onRejected: (action: string) => (error: unknown) => void
}

export type Loader = ReturnType<typeof createLoader>

/** Creates the loader: it fills the queues with deliveries as they are stored, and from the store within its limits. */
export function createLoader(options: LoaderOptions) {
  const { loaded, backlogs, webhooks, steadyUs } = options
  const refill = createRefill(options)
  const prioritize = createPrioritize(options)
  const removeUnneeded = () => removeUnneededWebhooks(options)
  const isLost = ({ webhookId }: LoadedDelivery) => !isOwnWebhook(options, webhookId)
  const cancelledTo = (webhookId: number): number => webhooks.get(webhookId)?.cancelledTo ?? 0

  return {
    refill,
    prioritize: prioritize.now,
    removeUnneeded,
    offer: (event: StoredEvent): void => offer(options, event),
    ...createAccountMoves(options),

    /** Loads the deliveries of webhooks that have come to this node. */
    adopt(webhookIds: readonly number[]): void {
      for (const webhookId of webhookIds) if (isOwnWebhook(options, webhookId)) backlogs.of(webhookId)
    },

    /**
     * Reloads all deliveries that may have changed in the store, for these and all known webhooks; of one account if it
     * is given.
     */
    refresh(by: 'us' | 'others', webhookIds: readonly number[], accountId?: number): void {
      for (const webhookId of webhookIds) if (isOwnWebhook(options, webhookId)) backlogs.of(webhookId)
      for (const backlog of backlogs.all()) {
        const { webhookId } = backlog
        if (accountId !== undefined && webhooks.get(webhookId)?.accountId !== accountId) continue
        const isReordered = setStrict(backlog, webhooks.get(webhookId)?.isStrict ?? false)
        loaded.refresh(webhookId, { cancelledTo: cancelledTo(webhookId), by: isReordered ? 'others' : by })
        if (by === 'others') noteUnknown(backlog)
        else noteChanged(backlog)
        backlogs.toLoad.add(backlog)
      }
      loaded.refreshActive(cancelledTo)
    },

    /** Returns the webhooks for which this node sends. */
    ownWebhooks: (): number[] =>
      Array.from(backlogs.all(), ({ webhookId }) => webhookId).filter((id) => isOwnWebhook(options, id)),

    /** Moves deliveries on when their outcomes are in the store; `superseded` ones had been changed there meanwhile. */
    recorded(deliveries: readonly LoadedDelivery[], superseded: readonly number[]): void {
      for (const delivery of deliveries) {
        loaded.recorded(delivery, superseded.length > 0 && superseded.includes(delivery.id))
        const backlog = backlogs.of(delivery.webhookId)
        if (isLost(delivery)) noteUnknown(backlog)
        if (delivery.phase === 'done' || delivery.phase === 'evicted') noteEndedOfCall(backlog, delivery.callId)
        if (backlog.hasMore || backlog.nextOf.size > 0) backlogs.toLoad.add(backlog)
        prioritize.afterRecording(delivery)
      }
      if (superseded.length > 0 || deliveries.some(isLost)) removeUnneeded()
    },

    /** Notes that deliveries ended without an attempt: in a strict order others may have waited for them. */
    endedUnsent(): void {
      for (const backlog of backlogs.all()) {
        if (!backlog.isStrict) continue
        noteChanged(backlog)
        backlogs.toLoad.add(backlog)
      }
    },

    /** Notices retries that became due. Call it some 40 times a second. */
    tick(): void {
      loaded.tick()
      for (const backlog of backlogs.due(steadyUs())) backlogs.toLoad.add(backlog)
    },
  }
}

/**
 * Queues the deliveries of an event that this node has just stored. If earlier deliveries of the call may be in the
 * store, they are left to the store.
 */
function offer({ loaded, backlogs, webhooks, ownership }: LoaderOptions, event: StoredEvent): void {
  if (!ownership.ownsAccount(event.accountId)) return
  for (const place of event.deliveries) {
    const { id, webhookId } = place
    const backlog = backlogs.of(webhookId)
    if (id <= backlog.cursor) continue
    // With a strict order another delivery of the call may be pending. After a lost answer this one may have been read
    // and sent.
    const isNext = !backlog.hasMore && !backlog.isStrict && backlog.load === undefined && id > backlog.seenTo
    if (isNext && webhooks.get(webhookId) !== undefined && loaded.freeOf(webhookId) > 0) {
      // Other nodes may have stored earlier events of other calls: these are read when they are noticed.
      noteTaken(backlog, id, ownership)
      loaded.add(newDelivery(event, place))
    } else {
      noteStored(backlog)
      backlogs.toLoad.add(backlog)
    }
  }
}

/** Makes the function that begins the due loads, as many as fit into a turn of the event loop. */
function createRefill(options: LoaderOptions): () => void {
  const { queue, loaded, backlogs, webhooks, ownership, steadyUs, onLoaded } = options
  const onFailed = options.onRejected('load deliveries')
  const load = createBacklogReader(options)
  const survey = createBacklogSurvey({
    queue,
    loaded,
    webhooks,
    ownership,
    backlogs,
    steadyUs,
    onSurveyed: onLoaded,
    onFailed,
  })
  let loads = 0

  function begin(backlog: Backlog): void {
    loads += 1
    survey.noteLoad(backlog)
    load(backlog).then(
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

  return () => {
    survey.begin()
    for (const backlog of backlogs.toLoad) {
      if (loads >= LOADS_AT_A_TIME) return
      if (survey.isAwaited(backlog)) continue
      backlogs.toLoad.delete(backlog)
      if (backlog.load !== undefined || !needsLoad(backlog, steadyUs())) continue
      if (!isOwnWebhook(options, backlog.webhookId)) continue
      // Half of the limit at a time: fewer reads.
      if (loaded.freeOf(backlog.webhookId) >= loaded.limitOf(backlog.webhookId) / 2) begin(backlog)
    }
  }
}

function createPrioritize(options: LoaderOptions) {
  const { queue, scheduler, loaded, webhooks, steadyUs, onLoaded, onRejected } = options
  /** Deliveries to prioritize as soon as they are recorded. */
  const urgent = new Set<number>()

  /**
   * Makes a delivery that was retried by hand the next one of its webhook, even if the webhook is down.
   * @throws Fault `unavailable`.
   */
  async function now(id: number): Promise<void> {
    const pending = loaded.get(id) === undefined ? await queue.deliveryGetPending(id) : undefined
    const delivery = loaded.get(id) ?? (pending === undefined ? undefined : loadDelivery(pending))
    if (delivery === undefined || scheduler.find(delivery.webhookId)?.breaker.open === undefined) return
    if (id <= (webhooks.get(delivery.webhookId)?.cancelledTo ?? 0) || !isOwnWebhook(options, delivery.webhookId)) return
    if (delivery.phase === 'recording') urgent.add(id)
    if (loaded.get(id) === undefined) loaded.add(delivery)
    scheduler.prioritize(delivery, steadyUs())
  }

  return {
    now,
    /** Prioritizes a delivery that was retried by hand while it was being recorded. */
    afterRecording({ id }: LoadedDelivery): void {
      if (urgent.delete(id)) now(id).then(onLoaded).catch(onRejected('load a delivery that was retried'))
    },
  }
}

/** The moves of whole accounts between the nodes of a cluster. */
function createAccountMoves(options: LoaderOptions) {
  const { loaded, backlogs, webhooks, ownership } = options
  const accountOf = ({ webhookId }: Backlog) => webhooks.get(webhookId)?.accountId
  return {
    /** Notes that another node may have stored events of accounts. */
    noteArrived(accountIds: ReadonlySet<number>): void {
      for (const backlog of backlogs.all()) {
        if (!accountIds.has(accountOf(backlog) ?? 0)) continue
        noteStored(backlog)
        backlogs.toLoad.add(backlog)
      }
    },
    /**
     * Notes that a PBX may have come from another node, which stored the earlier events of its calls: the store is read
     * before new events are queued directly.
     */
    noteOwnersChanged(): void {
      for (const backlog of backlogs.all()) {
        noteStored(backlog)
        backlogs.toLoad.add(backlog)
      }
    },
    /** Leaves the deliveries of accounts that this node no longer owns to the store. Returns those accounts. */
    releaseLost(): number[] {
      const lost = new Set<number>()
      for (const backlog of backlogs.all()) {
        const accountId = accountOf(backlog)
        if (accountId === undefined || ownership.ownsAccount(accountId)) continue
        lost.add(accountId)
        loaded.release(backlog.webhookId)
        noteUnknown(backlog)
      }
      removeUnneededWebhooks(options)
      return [...lost]
    },
    /** Returns how many deliveries of some accounts are in memory. */
    countOf(accountIds: readonly number[]): number {
      const ofAccounts = [...backlogs.all()].filter((backlog) => accountIds.includes(accountOf(backlog) ?? 0))
      return ofAccounts.reduce((sum, { webhookId }) => sum + loaded.countOf(webhookId), 0)
    },
  }
}

/** Removes the webhooks that have left the list or belong to another node, and have nothing in memory. */
function removeUnneededWebhooks(options: LoaderOptions): void {
  const { scheduler, loaded, backlogs, webhooks } = options
  for (const backlog of [...backlogs.all()]) {
    const { webhookId, load } = backlog
    const webhook = webhooks.get(webhookId)
    if (load !== undefined || loaded.countOf(webhookId) > 0) continue
    const isNeeded = webhook !== undefined && (webhook.listed || webhook.cancelledTo > 0)
    if (isNeeded && isOwnWebhook(options, webhookId)) continue
    backlogs.remove(backlog)
    scheduler.remove(webhookId)
    webhooks.remove(webhookId)
  }
}
