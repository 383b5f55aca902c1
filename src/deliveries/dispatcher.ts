import type { Ownership } from '../cluster/ownership.ts'
import type { Log } from '../lib/log.ts'
import { type NowUs, nowUs as wallUs } from '../lib/time.ts'
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
  /**
   * How long attempts may take to end when this stops or loses their account. Then they are aborted, and count as none.
   */
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
  /** Resolves when a request that is no delivery may begin; see `createReservations`. */
  reserve(webhookId: number): Promise<EndReserved>
  /** Returns how a webhook does. */
  health(webhookId: number): WebhookHealth
  /** How many requests are in flight. */
  readonly inFlight: number
  /** Returns how many attempts an error of this program has interrupted: their deliveries are sent again. */
  interrupted(): number
  /** Returns how many webhooks are down, and how many of them for five minutes or more. */
  down(): { now: number; long: number }
  /** Begins no more attempts; resolves when those in flight have ended and are recorded. */
  stop(): Promise<void>
}

/** How often the clock is read: for retries, probes, and requests that have become slow. */
const TICK_MS = 25

/** Starts sending deliveries: connects the loader, the scheduler, the sender and the outcome writer. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, emitter, attempt, log, clock, ownership, observer = silent, onOutage, isIntakeBehind } = options
  const { scheduleMs = DEFAULT_SCHEDULE_MS, nowUs = wallUs, random = Math.random } = options
  const { steadyUs } = clock
  const [run, onLoaded] = [() => loop.run(), () => loop.runSoon()]
  const onFailed = (err: unknown) => log.warn({ err }, 'cannot load deliveries: the store is unavailable, will retry')

  const scheduler = createScheduler()
  const backlogs = createBacklogs()
  const webhooks = createWebhookCache({ webhooks: store.webhooks, nowUs, steadyUs, onLoaded: scheduler.setTiming })
  const loaded = createLoadedDeliveries({ scheduler, backlogs, steadyUs })
  const known = { scheduler, loaded, backlogs, webhooks, log, clock, nowUs, steadyUs }
  const parts = { ...known, queue: store.queue, ownership }
  const loader = createLoader({ ...parts, onLoaded, onFailed })
  const outcomes = createOutcomeWriter({ ...parts, onRecorded })
  const onUnsent = (reason: string) => loop.pause(reason)
  const sender = createSender({ ...parts, attempt, outcomes, observer, scheduleMs, random, onUnsent, onEnded: run })
  const reservations = createReservations({ ...parts, onEnded: run })
  const loop = createSchedulingLoop({ ...parts, loader, send: sender.send, reservations, outcomes, isIntakeBehind })
  const outages = startOutageNotices({ ...parts, onOutage })
  const ending = { maxAgeUs: maxAgeUsOf(scheduleMs), onEnded: onEndedUnsent, onCancelled: loader.removeUnneeded }
  const expiry = startExpiry({ ...parts, ...ending })
  const onAnswered = (webhookId: number) => scheduler.noteAnswered(webhookId, steadyUs())
  const refreshing = { onAnswered, onRefreshed: expiry.cancel, run, onFailed }
  const refresh = startWebhookRefresh({ ...parts, ...refreshing, store, emitter, loader })
  const following = { loader, sender, drainMs: options.drainMs, onGained: refresh.refresh, run }
  const accounts = followAccounts({ ...parts, ...following, events: store.log })

  function onRecorded(deliveries: readonly LoadedDelivery[], superseded: readonly number[]): void {
    loader.recorded(deliveries, superseded)
    const ids = () => deliveries.map(({ id }) => id)
    if (emitter.listenerCount('deliveries') > 0) emitter.emit('deliveries', ids())
    run()
  }
  function onEndedUnsent(ids: readonly number[], state: 'failed' | 'cancelled'): void {
    observer.endedUnsent(ids.length, state)
    if (state === 'failed') loader.endedUnsent()
    emitter.emit('deliveries', ids)
  }
  scheduler.subscribe((webhookId, change) => change === 'removed' && observer.webhookRemoved(webhookId))
  const ticker = setInterval(() => loop.tick(), TICK_MS)

  return {
    reserve: reservations.reserve,
    health: (webhookId) => healthOf(scheduler.find(webhookId)?.breaker),
    interrupted: sender.interrupted,
    down: () => countOpen(scheduler.queues(), steadyUs()),
    get inFlight() {
      return scheduler.inFlight
    },
    async stop() {
      for (const part of [reservations, expiry, refresh, outages, accounts]) part.stop()
      await accounts.drained(loop.drain())
      clearInterval(ticker)
      await outcomes.stop()
    },
  }
}
