import type { NowUs } from '../../lib/time.ts'
import { type Backlogs, noteEvicted, noteReleased, noteSuperseded } from './backlog.ts'
import {
  cancelAttempt,
  evict,
  finishRecording,
  interruptAttempt,
  type LoadedDelivery,
  planAfterRecording,
  requeue,
} from './delivery.ts'
import { createDueTimes } from './due-times.ts'
import type { Scheduler } from './scheduler.ts'

/** The queue of one webhook: a burst of a second, so that few deliveries are evicted and read again. */
const MAX_QUEUED = 1_024
/** About as many over all webhooks: with many, each has a shorter queue, but no shorter than a webhook that is down. */
const MAX_QUEUED_OF_ALL = 8_192
/** The queue of a webhook that is down or paused: enough different calls for its probes. */
const MAX_QUEUED_WHEN_DOWN = 64
const MAX_SCHEDULED = 64
/**
 * All bodies in memory; webhooks that are down or paused get half. Above the limit each webhook still has its next
 * deliveries.
 */
const MAX_BYTES = 64 * 1024 * 1024
const QUEUED_BEYOND_MAX_BYTES = 2

type LoadedDeliveriesOptions = {
  readonly scheduler: Scheduler
  readonly backlogs: Backlogs
  readonly steadyUs: NowUs
}

export type LoadedDeliveries = ReturnType<typeof createLoadedDeliveries>

/**
 * Creates the index of the deliveries in memory. It moves each delivery together with its place: the lane of its call,
 * the schedule of its webhook, or the backlog.
 * Invariants: a delivery is in memory once, until it is done or evicted; the bodies in memory are bounded.
 */
export function createLoadedDeliveries(options: LoadedDeliveriesOptions) {
  const { scheduler, backlogs, steadyUs } = options
  const index = createIndex()
  const { isDown, queue, requeueAll, remove, leaveToStore, evictAll } = createMoves(options, index)

  const limitOf = (webhookId: number): number => {
    const few = isDown(webhookId) || scheduler.queueOf(webhookId).pace.isPaused
    if (index.bytes > (few ? MAX_BYTES / 2 : MAX_BYTES)) return QUEUED_BEYOND_MAX_BYTES
    const share = Math.floor(MAX_QUEUED_OF_ALL / Math.max(1, index.webhooks))
    return few ? MAX_QUEUED_WHEN_DOWN : Math.max(MAX_QUEUED_WHEN_DOWN, Math.min(MAX_QUEUED, share))
  }
  followScheduler(scheduler, index, { requeueAll, evictAll })

  return {
    ...createRefresh(scheduler, index, evictAll),
    get: index.get,
    countOf: (webhookId: number): number => index.of(webhookId).ids.size,
    retryIdsOf: (webhookId: number): number[] =>
      [...index.of(webhookId).ids].filter((id) => index.get(id)?.dueUs !== undefined),
    /** Returns how many deliveries may be queued for a webhook. */
    limitOf,
    /** Returns how many more may be queued for it. */
    freeOf: (webhookId: number): number => limitOf(webhookId) - scheduler.queueOf(webhookId).size,
    /** Takes a delivery into memory, and queues it. @throws Error when it is in memory. */
    add(delivery: LoadedDelivery): void {
      index.add(delivery)
      queue(delivery)
    },
    /**
     * Opens the lane of a delivery that is being recorded, unless it will be queued again: then it precedes the others.
     */
    attemptEnded(delivery: LoadedDelivery): void {
      if (delivery.state === 'pending' && (delivery.plan === 'queue' || isDown(delivery.webhookId)))
        planAfterRecording(delivery, 'queue')
      else scheduler.release(delivery, steadyUs())
    },
    /** Queues a delivery as before: nothing was sent. */
    attemptCancelled(delivery: LoadedDelivery): void {
      if (cancelAttempt(delivery) === 'queued') queue(delivery)
      else leaveToStore(delivery)
      scheduler.release(delivery, steadyUs())
    },
    /**
     * Leaves a delivery to the store after an error of this program, in any phase. One whose outcome is being recorded
     * leaves memory after that.
     */
    attemptInterrupted(delivery: LoadedDelivery): void {
      scheduler.queueOf(delivery.webhookId).remove((one) => one === delivery)
      index.unschedule(delivery)
      if (index.get(delivery.id) === delivery && interruptAttempt(delivery) === 'evicted') leaveToStore(delivery)
      scheduler.release(delivery, steadyUs())
    },
    /** Moves a delivery on when its outcome is in the store; `superseded`: its row had been changed meanwhile. */
    recorded(delivery: LoadedDelivery, superseded: boolean): void {
      const { webhookId } = delivery
      const { scheduled } = index.of(webhookId)
      const maySchedule = scheduled.length < MAX_SCHEDULED
      const phase = finishRecording(delivery, { superseded, webhookDown: isDown(webhookId), maySchedule })
      if (phase === 'queued') queue(delivery)
      else if (phase === 'scheduled') index.schedule(delivery)
      else if (phase === 'evicted' && !superseded) leaveToStore(delivery)
      else remove(delivery)
      if (superseded) {
        noteSuperseded(backlogs.of(webhookId))
        backlogs.toLoad.add(backlogs.of(webhookId))
      }
      // The lane of an ended delivery is open since `attemptEnded`.
      if (delivery.state === 'pending') scheduler.release(delivery, steadyUs())
    },
    /** Queues the scheduled deliveries that are due. */
    tick: (): void => requeueAll(index.takeDue(steadyUs())),
  }
}

type Index = ReturnType<typeof createIndex>
type EvictAll = (deliveries: readonly LoadedDelivery[]) => void

/** The moves of deliveries, each with its change of the index, the lanes and the backlog. */
function createMoves({ scheduler, backlogs, steadyUs }: LoadedDeliveriesOptions, index: Index) {
  const queue = (delivery: LoadedDelivery) => scheduler.add(delivery, steadyUs())
  const remove = (delivery: LoadedDelivery) => {
    index.remove(delivery)
    noteReleased(backlogs.of(delivery.webhookId), delivery.id)
  }
  const leaveToStore = (delivery: LoadedDelivery) => {
    remove(delivery)
    noteEvicted(backlogs.of(delivery.webhookId), delivery)
  }
  const requeueAll = (deliveries: readonly LoadedDelivery[]) => {
    for (const delivery of deliveries) {
      requeue(delivery)
      queue(delivery)
    }
  }
  const evictAll: EvictAll = (deliveries) => {
    for (const delivery of deliveries) if (evict(delivery) === 'evicted') leaveToStore(delivery)
  }
  const isDown = (webhookId: number): boolean => scheduler.queueOf(webhookId).breaker.open !== undefined
  return { isDown, queue, requeueAll, remove, leaveToStore, evictAll }
}

/** Moves deliveries when their webhook goes down, is paused or removed. */
function followScheduler(
  scheduler: Scheduler,
  index: Index,
  { requeueAll, evictAll }: { requeueAll: (deliveries: readonly LoadedDelivery[]) => void; evictAll: EvictAll },
): void {
  const evictMost = (webhookId: number) => {
    const queued = scheduler.queueOf(webhookId)
    const lastKept = queued.ids()[MAX_QUEUED_WHEN_DOWN - 1]
    if (lastKept !== undefined) evictAll(queued.remove(({ id }) => id > lastKept))
  }
  scheduler.subscribe((webhookId, change) => {
    // The next delivery of any call may be the probe, due or not; surplus deliveries are evicted.
    if (change === 'opened') {
      requeueAll(index.takeScheduled(webhookId))
      for (const delivery of index.active(webhookId))
        if (delivery.phase === 'recording') planAfterRecording(delivery, 'queue')
    }
    if (change === 'opened' || change === 'paused') evictMost(webhookId)
    else if (change === 'removed') index.removeWebhook(webhookId)
  })
}

/** Evicts deliveries that may be out of date after the store was changed. */
function createRefresh(scheduler: Scheduler, index: Index, evictAll: EvictAll) {
  return {
    /**
     * Evicts deliveries of a webhook: those that are scheduled, those that are cancelled (an id up to `cancelledTo`),
     * and after a change by another process all that are queued.
     */
    refresh(webhookId: number, { cancelledTo, by }: { cancelledTo: number; by: 'us' | 'others' }): void {
      evictAll(index.takeScheduled(webhookId))
      if (cancelledTo === 0 && by === 'us') return
      evictAll(scheduler.queueOf(webhookId).remove(({ id }) => by === 'others' || id <= cancelledTo))
    },
    /** Evicts all deliveries of a webhook; those in flight or being recorded when that has ended. */
    release(webhookId: number): void {
      evictAll(index.takeScheduled(webhookId))
      evictAll(scheduler.queueOf(webhookId).remove(() => true))
      for (const delivery of index.active(webhookId)) evict(delivery)
    },
    /** Marks deliveries that are in flight or being recorded: they are evicted in the same way when that has ended. */
    refreshActive(cancelledToOf: (webhookId: number) => number): void {
      for (const delivery of index.all()) {
        const { phase, id, webhookId } = delivery
        if (phase === 'recording') planAfterRecording(delivery, 'reload')
        if ((phase === 'recording' || phase === 'in flight') && id <= cancelledToOf(webhookId)) evict(delivery)
      }
    },
  }
}

/** The deliveries of one webhook that are in memory, and which of them are scheduled. */
type OfWebhook = { readonly ids: Set<number>; scheduled: LoadedDelivery[] }

/** The deliveries in memory, by their id and by their webhook. */
function createIndex() {
  const byId = new Map<number, LoadedDelivery>()
  const byWebhook = new Map<number, OfWebhook>()
  const dueTimes = createDueTimes<OfWebhook>()
  let bytes = 0

  const of = (webhookId: number): OfWebhook => {
    const known = byWebhook.get(webhookId)
    if (known !== undefined) return known
    const none = { ids: new Set<number>(), scheduled: [] }
    byWebhook.set(webhookId, none)
    return none
  }

  return {
    get bytes() {
      return bytes
    },
    get webhooks() {
      return byWebhook.size
    },
    of,
    get: (id: number): LoadedDelivery | undefined => byId.get(id),
    all: () => byId.values(),
    /** Returns the deliveries of a webhook that are in flight or being recorded. */
    active: (webhookId: number): LoadedDelivery[] =>
      [...of(webhookId).ids]
        .flatMap((id) => byId.get(id) ?? [])
        .filter(({ phase }) => phase === 'in flight' || phase === 'recording'),
    removeWebhook(webhookId: number): void {
      dueTimes.remove(of(webhookId))
      byWebhook.delete(webhookId)
    },
    add(delivery: LoadedDelivery): void {
      if (byId.has(delivery.id)) throw new Error(`delivery ${delivery.id} is in memory already`)
      byId.set(delivery.id, delivery)
      of(delivery.webhookId).ids.add(delivery.id)
      bytes += delivery.body.length
    },
    remove(delivery: LoadedDelivery): void {
      if (!byId.delete(delivery.id)) throw new Error(`delivery ${delivery.id} is not in memory`)
      of(delivery.webhookId).ids.delete(delivery.id)
      bytes -= delivery.body.length
    },
    /** Takes all scheduled deliveries of a webhook. */
    takeScheduled: (webhookId: number): LoadedDelivery[] => of(webhookId).scheduled.splice(0),
    unschedule(delivery: LoadedDelivery): void {
      const ofWebhook = of(delivery.webhookId)
      ofWebhook.scheduled = ofWebhook.scheduled.filter((one) => one !== delivery)
    },
    schedule(delivery: LoadedDelivery): void {
      const ofWebhook = of(delivery.webhookId)
      ofWebhook.scheduled.push(delivery)
      dueTimes.plan(ofWebhook, delivery.dueUs ?? 0)
    },
    /** Takes the due deliveries of all webhooks. */
    takeDue(nowUs: number): LoadedDelivery[] {
      const due: LoadedDelivery[] = []
      for (const ofWebhook of dueTimes.take(nowUs)) {
        const { scheduled } = ofWebhook
        due.push(...scheduled.filter(({ dueUs = 0 }) => dueUs <= nowUs))
        ofWebhook.scheduled = scheduled.filter(({ dueUs = 0 }) => dueUs > nowUs)
        for (const { dueUs = 0 } of ofWebhook.scheduled) dueTimes.plan(ofWebhook, dueUs)
      }
      return due
    },
  }
}
