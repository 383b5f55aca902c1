import type { Ownership } from '../cluster/ownership.ts'
import type { Log } from '../lib/log.ts'
import { type NowUs, nowUs as wallUs } from '../lib/time.ts'
import type { StoredEvent } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { countOpen, healthOf, type WebhookHealth } from './circuit-breaker.ts'
import type { Clock } from './clock.ts'
import type { Emitter } from './emitter.ts'
import { startExpiry } from './expiry.ts'
import { type Observer, silent } from './observer.ts'
import { startOutageNotices } from './outage-notices.ts'
import { createOutcomeWriter } from './outcome-writer.ts'
import { followAccounts } from './queue/account-follower.ts'
import { createBacklogs } from './queue/backlog.ts'
import type { LoadedDelivery } from './queue/delivery.ts'
import { createLoadedDeliveries } from './queue/loaded-deliveries.ts'
import { createLoader } from './queue/loader.ts'
import { createReservations, type EndReserved } from './queue/reservations.ts'
import { createScheduler } from './queue/scheduler.ts'
import { createSchedulingLoop } from './queue/scheduling-loop.ts'
import { createWebhookCache } from './queue/webhook-cache.ts'
import { startWebhookRefresh } from './queue/webhook-refresh.ts'
import { DEFAULT_SCHEDULE_MS, maxAgeUsOf } from './retry-policy.ts'
import type { Attempt } from './sending/attempt.ts'
import { createSender } from './sending/sender.ts'

export type DispatcherOptions = {
  readonly store: Pick<Store, 'queue' | 'webhooks' | 'log'>
  readonly emitter: Emitter
  readonly attempt: Attempt
  readonly log: Log
  readonly clock: Clock
  readonly ownership: Ownership
  /** How long attempts may take to end when this stops, or loses their account: then they are aborted, and count as none. */
  readonly drainMs?: number | undefined
  readonly scheduleMs?: readonly number[]
  readonly observer?: Observer
  /** Called when a webhook has been down for five minutes, and when it is up after that. */
  readonly onOutage?: (url: string, state: 'down' | 'up') => void
  /** Returns whether signals from PBXs are queued: then fewer attempts begin. */
  readonly isIntakeBehind?: () => boolean
  readonly nowUs?: NowUs
  readonly random?: () => number
}

export type Dispatcher = {
  /**
   * Resolves when there is room for a request to a webhook that is no delivery; it precedes deliveries. Its success closes the circuit breaker.
   * @throws Fault `unavailable` when the service stops before.
   */
  reserve(webhookId: number): Promise<EndReserved>
  /** Returns how a webhook does. */
  health(webhookId: number): WebhookHealth
  /** How many requests are in flight. */
  readonly inFlight: number
  /** Returns how many webhooks are down, and how many of them for five minutes or more. */
  down(): { now: number; long: number }
  /** Begins no more attempts; resolves when those in flight have ended and are recorded. */
  stop(): Promise<void>
}

/** How often the clock is read: for retries, probes, and requests that have become slow. */
const TICK_MS = 25

/** Starts sending deliveries: wires the loader, the scheduler, the sender and the outcome writer together. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const {
    store,
    emitter,
    attempt,
    log,
    clock,
    ownership,
    scheduleMs = DEFAULT_SCHEDULE_MS,
    observer = silent,
    onOutage,
  } = options
  const { nowUs = wallUs, random = Math.random, isIntakeBehind = () => false } = options
  const { queue } = store
  const { steadyUs } = clock
  const [run, runSoon] = [() => loop.run(), () => loop.runSoon()]
  const onFailed = (err: unknown) =>
    log.warn({ err }, 'cannot read pending deliveries: the store is unavailable, will retry')

  const scheduler = createScheduler()
  const backlogs = createBacklogs()
  const webhooks = createWebhookCache({ webhooks: store.webhooks, nowUs, steadyUs, onLoaded: scheduler.setTiming })
  const loaded = createLoadedDeliveries({ scheduler, backlogs, steadyUs })
  const known = { scheduler, loaded, backlogs, webhooks, ownership, log, nowUs, steadyUs }
  const loader = createLoader({ ...known, queue, onLoaded: runSoon, onFailed })
  const outcomes = createOutcomeWriter({ queue, ownership, log, recorded: onRecorded })
  const onUnsent = (reason: string) => loop.pause(reason)
  const sender = createSender({ ...known, attempt, outcomes, observer, scheduleMs, random, onUnsent, onEnded: run })
  const reservations = createReservations({ scheduler, steadyUs, onEnded: run })
  const { isTrusted } = ownership
  const room = { isFull: outcomes.congested, isIntakeBehind, isTrusted, beginReserved: reservations.beginPending }
  const loop = createSchedulingLoop({ ...known, ...room, loader, send: sender.send })
  const outages = startOutageNotices({ ...known, urlOf: webhooks.urlOf, onOutage })
  const maxAgeUs = maxAgeUsOf(scheduleMs)
  const expiry = startExpiry({ ...known, queue, maxAgeUs, onEnded: onEndedUntried, onCancelled: loader.removeUnneeded })
  const refresh = startWebhookRefresh({ ...known, store, emitter, loader, onRefreshed, onPrioritized: run, onFailed })
  const accounts = followAccounts({
    ...known,
    events: store.log,
    drainMs: options.drainMs,
    loader,
    sender,
    onGained: refresh.refresh,
    run,
  })

  function onRecorded(deliveries: readonly LoadedDelivery[], superseded: readonly number[]): void {
    loader.recorded(deliveries, superseded)
    const ids = () => deliveries.map(({ id }) => id)
    if (emitter.listenerCount('deliveries') > 0) emitter.emit('deliveries', ids())
    run()
  }
  function onRefreshed(): void {
    expiry.cancel()
    run()
  }
  function onEndedUntried(ids: readonly number[], state: 'failed' | 'cancelled'): void {
    observer.dropped(ids.length, state)
    if (state === 'failed') loader.endedUntried()
    emitter.emit('deliveries', ids)
  }
  function onStored(events: readonly StoredEvent[]): void {
    for (const event of events) loader.offer(event)
    run()
  }

  scheduler.subscribe((webhookId, change) => {
    if (change === 'removed') observer.left(webhookId)
  })
  emitter.on('stored', onStored)
  const ticker = setInterval(() => {
    clock.look()
    loop.tick()
  }, TICK_MS)

  return {
    reserve: reservations.reserve,
    health: (webhookId) => healthOf(scheduler.find(webhookId)?.breaker, steadyUs()),
    down: () =>
      countOpen(
        Array.from(scheduler.queues(), ({ breaker }) => breaker),
        steadyUs(),
      ),
    get inFlight() {
      return scheduler.inFlight
    },
    async stop() {
      for (const part of [reservations, expiry, refresh, outages, accounts]) part.stop()
      emitter.off('stored', onStored)
      await accounts.drained(loop.drain())
      clearInterval(ticker)
      await outcomes.stop()
    },
  }
}
