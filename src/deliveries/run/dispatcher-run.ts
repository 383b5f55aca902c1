import type { Ownership } from '../../cluster/cluster.ts'
import type { MakeTurn } from '../../flows/flows.ts'
import { isInternalError } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import { type NowUs, SECOND, nowUs as wallUs } from '../../lib/time.ts'
import { type BreakerHealth, countOpen, healthOf } from '../../outbound/circuit-breaker.ts'
import type { Clock } from '../../store/clock.ts'
import { LeaseLost } from '../../store/operations/cluster.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { createBacklogs } from '../queue/backlog.ts'
import type { LoadedDelivery } from '../queue/delivery.ts'
import { createLoadedDeliveries } from '../queue/loaded-deliveries.ts'
import { createReservations, type EndReserved } from '../queue/reservations.ts'
import { DEFAULT_SCHEDULE_MS, maxAgeUsOf } from '../queue/retry-policy.ts'
import { createScheduler } from '../queue/scheduler.ts'
import type { Attempt } from '../sending/attempt.ts'
import { type Observer, silent } from '../sending/observer.ts'
import { createOutcomeWriter } from '../sending/outcome-writer.ts'
import { createSender } from '../sending/sender.ts'
import { createWebhookCache } from '../sending/webhook-cache.ts'
import { followAccounts } from './account-follower.ts'
import type { Emitter } from './emitter.ts'
import { startExpiry } from './expiry.ts'
import { createLoader } from './loader.ts'
import { type OnOutage, startOutageNotices } from './outage-notices.ts'
import { newRunGuard } from './run-guard.ts'
import { createSchedulingLoop } from './scheduling-loop.ts'
import { startWebhookRefresh } from './webhook-refresh.ts'

export type Dispatcher = {
  /** Resolves when a request that is not a delivery may begin; see `createReservations`. */
  reserve(webhookId: number): Promise<EndReserved>
  health(webhookId: number): BreakerHealth
  /** How many requests are in flight. */
  readonly inFlight: number
  /** Returns the number of attempts that an internal error interrupted; their deliveries are sent again. */
  interrupted(): number
  /** Returns how often sending was restarted from the store after an internal error. */
  restarts(): number
  /** Returns how many webhooks are down, and how many of them for five minutes or more. */
  down(): { now: number; long: number }
  /** Stops beginning attempts. Resolves when all attempts in flight have ended and are recorded. */
  stop(): Promise<void>
}

export type DispatcherOptions = {
  readonly store: Pick<Store, 'queue' | 'flows' | 'webhooks' | 'log' | 'outages' | 'outcomeIntervalMs'>
  readonly emitter: Emitter
  readonly attempt: Attempt
  /** Makes the turns of flows. */
  readonly makeTurn: MakeTurn
  readonly templates: TemplateRenderer
  readonly log: Log
  readonly clock: Clock
  readonly ownership: Ownership
  /** Hints between nodes that events were stored. */
  readonly hints?: Pick<StatusStore, 'arrivalHint' | 'arrivalListen'> | undefined
  /**
   * How long attempts may go on after a stop or the loss of their account; then they are aborted and do not count.
   * `undefined`: no other node can send them, so a stop waits for each attempt.
   */
  readonly drainMs?: number | undefined
  readonly scheduleMs?: readonly number[]
  readonly observer?: Observer
  /** Called when a webhook has been down for five minutes, and when it is up after that. */
  readonly onOutage?: OnOutage
  /** Returns whether signals from PBXs are queued: then fewer attempts begin. */
  readonly isIntakeBehind?: () => boolean
  readonly nowUs?: NowUs
  readonly random?: () => number
}

/** One run of the dispatcher, from the store to an end. */
type DispatcherRun = Omit<Dispatcher, 'restarts'> & {
  /** Ends a failed run: aborts its attempts, and records the outcomes of ended ones. */
  abandon(): Promise<void>
}

type Ended = { readonly state: 'failed' | 'cancelled'; readonly accountId: number }

/** How often the clock is read: for retries, probes, and requests that have become slow. */
const TICK_MS = 25
/** The shortest pause between two log lines about the same action, which is retried many times a second. */
const LOG_EVERY_US = 5 * SECOND

/**
 * Starts a run: connects the loader, the scheduler, the sender and the outcome writer. An internal error outside of an
 * attempt ends the run: `onError` is called once, and only `abandon` works after that.
 */
export function startRun(options: DispatcherOptions, onError: (error: unknown) => void): DispatcherRun {
  const {
    store,
    templates,
    emitter,
    attempt,
    makeTurn,
    log,
    clock,
    ownership,
    observer = silent,
    onOutage,
    isIntakeBehind,
  } = options
  const { scheduleMs = DEFAULT_SCHEDULE_MS, nowUs = wallUs, random = Math.random, drainMs, hints } = options
  const { queue } = store
  const { steadyUs } = clock
  const { guard, fail, failed } = newRunGuard(onError)
  const onRejected = newRejectionHandlers(options, fail)
  const run = () => loop.run()

  const scheduler = createScheduler()
  const backlogs = createBacklogs()
  const webhooks = createWebhookCache({ webhooks: store.webhooks, templates, nowUs, onLoaded: scheduler.setTiming })
  const loaded = createLoadedDeliveries({ scheduler, backlogs, steadyUs })
  const loader = createLoader({
    queue,
    scheduler,
    loaded,
    backlogs,
    webhooks,
    ownership,
    steadyUs,
    onLoaded: () => loop.runSoon(),
    onRejected,
  })
  const outcomes = createOutcomeWriter({
    queue,
    flows: store.flows,
    ownership,
    log,
    intervalMs: store.outcomeIntervalMs,
    onRecorded: guard(onRecorded),
  })
  const sender = createSender({
    attempt,
    makeTurn,
    webhooks,
    scheduler,
    loaded,
    outcomes,
    observer,
    log,
    scheduleMs,
    random,
    nowUs,
    steadyUs,
    onUnsent: (reason) => loop.pause(reason),
    onEnded: run,
    fail,
  })
  const reservations = createReservations({ scheduler, steadyUs, onEnded: run })
  const loop = createSchedulingLoop({
    scheduler,
    loader,
    send: sender.send,
    reservations,
    outcomes,
    isIntakeBehind,
    ownership,
    clock,
    guard,
    log,
  })
  const outages = startOutageNotices({ scheduler, webhooks, store, ownership, steadyUs, log, onOutage })
  const expiry = startExpiry({
    queue,
    scheduler,
    backlogs,
    webhooks,
    ownership,
    nowUs,
    steadyUs,
    maxAgeUs: maxAgeUsOf(scheduleMs),
    onEnded: onEndedUnsent,
    onCancelled: loader.removeUnneeded,
    onRejected,
  })
  const refresh = startWebhookRefresh({
    store,
    ownership,
    emitter,
    webhooks,
    loader,
    guard,
    onAnswered: (webhookId) => scheduler.noteAnswered(webhookId, steadyUs()),
    onRefreshed: expiry.cancel,
    run,
    onRejected,
  })
  const accounts = followAccounts({
    ownership,
    events: store.log,
    emitter,
    hints,
    backlogs,
    webhooks,
    loader,
    sender,
    guard,
    log,
    drainMs,
    onGained: refresh.gained,
    run,
  })

  function onRecorded(deliveries: readonly LoadedDelivery[], superseded: readonly number[]): void {
    loader.recorded(deliveries, superseded)
    if (emitter.listenerCount('deliveries') > 0)
      for (const [accountId, own] of Map.groupBy(deliveries, (one) => one.accountId)) {
        const ids = own.map(({ id }) => id)
        emitter.emit('deliveries', ids, accountId)
      }
    run()
  }
  function onEndedUnsent(ids: readonly number[], { state, accountId }: Ended): void {
    observer.endedUnsent(ids.length, state)
    if (state === 'failed') loader.endedUnsent()
    emitter.emit('deliveries', ids, accountId)
  }
  scheduler.subscribe((webhookId, change) => change === 'removed' && observer.webhookRemoved(webhookId))
  const ticker = setInterval(
    guard(() => loop.tick()),
    TICK_MS,
  )
  function stopParts(): void {
    for (const part of [reservations, expiry, refresh, outages, accounts]) part.stop()
  }

  return {
    reserve: reservations.reserve,
    health: (webhookId) => healthOf(scheduler.find(webhookId)?.breaker),
    interrupted: sender.interrupted,
    down: () => countOpen(scheduler.queues(), steadyUs()),
    get inFlight() {
      return scheduler.inFlight
    },
    async stop() {
      stopParts()
      await Promise.race([accounts.drained(loop.drain()), failed])
      clearInterval(ticker)
      await outcomes.stop()
    },
    async abandon() {
      clearInterval(ticker)
      stopParts()
      await sender.abortAll()
      await outcomes.stop()
    },
  }
}

/** Makes handlers for the rejection of an action: the store is unavailable, or the error is internal. */
function newRejectionHandlers({ log, clock: { steadyUs } }: DispatcherOptions, fail: (error: unknown) => void) {
  return (action: string) => {
    let loggedUs = Number.NEGATIVE_INFINITY
    return (err: unknown): void => {
      // The new owner of the account repeats the action.
      if (err instanceof LeaseLost) return
      const isInternal = isInternalError(err)
      if (isInternal) fail(err)
      if (isInternal || steadyUs() - loggedUs < LOG_EVERY_US) return
      loggedUs = steadyUs()
      log.warn({ err }, `cannot ${action}: the store is unavailable, will retry`)
    }
  }
}
