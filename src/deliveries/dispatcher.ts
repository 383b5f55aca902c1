import type { Ownership } from '../cluster/ownership.ts'
import type { Log } from '../lib/log.ts'
import { createPauses } from '../lib/periodic.ts'
import type { NowUs } from '../lib/time.ts'
import type { StatusStore } from '../store/operations/statuses.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../webhooks/templates/renderer.ts'
import type { BreakerHealth } from './circuit-breaker.ts'
import type { Clock } from './clock.ts'
import { startRun } from './dispatcher-run.ts'
import type { Emitter } from './emitter.ts'
import type { Observer } from './observer.ts'
import type { OnOutage } from './outage-notices.ts'
import type { EndReserved } from './queue/reservations.ts'
import type { Attempt } from './sending/attempt.ts'

export type DispatcherOptions = {
  readonly store: Pick<Store, 'queue' | 'webhooks' | 'log' | 'outages'>
  readonly emitter: Emitter
  readonly attempt: Attempt
  readonly templates: TemplateRenderer
  readonly log: Log
  readonly clock: Clock
  readonly ownership: Ownership
  /** Hints between nodes that events were stored. */
  readonly hints?: Pick<StatusStore, 'arrivalHint' | 'arrivalListen'> | undefined
  /**
   * How long attempts may take to end when this stops or loses their account. Then they are aborted, and count as none.
   * `undefined`: no other node can send them, so a stop waits for each; no account is ever lost then.
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

export type Dispatcher = {
  /** Resolves when a request that is no delivery may begin; see `createReservations`. */
  reserve(webhookId: number): Promise<EndReserved>
  /** Returns how a webhook does. */
  health(webhookId: number): BreakerHealth
  /** How many requests are in flight. */
  readonly inFlight: number
  /** Returns how many attempts an error of this program has interrupted: their deliveries are sent again. */
  interrupted(): number
  /** Returns how often sending began again from the store after an error of this program. */
  restarts(): number
  /** Returns how many webhooks are down, and how many of them for five minutes or more. */
  down(): { now: number; long: number }
  /** Begins no more attempts; resolves when those in flight have ended and are recorded. */
  stop(): Promise<void>
}

/** The pause before sending begins again; it doubles while runs fail within `STABLE_MS`. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000
const STABLE_MS = 60_000

/**
 * Starts sending deliveries, in a run of the dispatcher. What a run has in memory is an index of the store. So after an
 * error of this program that may have left it wrong (an assertion that fails) the run is abandoned, and another one
 * begins from the store: nothing is lost, and what was in flight is sent again.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { log } = options
  const pauses = createPauses()
  const nextPauseMs = createBackoff()
  let isStopping = false
  let restarts = 0
  let interruptedBefore = 0
  let restarting: Promise<void> | undefined
  let run = startRun(options, onError)

  function onError(err: unknown): void {
    restarts += 1
    const pauseMs = nextPauseMs()
    const message =
      'an internal error stopped the sending of deliveries: it begins again from the store; please report it'
    log.error({ err, seconds: pauseMs / 1_000 }, message)
    restarting = restart(pauseMs)
  }
  async function restart(pauseMs: number): Promise<void> {
    await run.abandon()
    await pauses.wait(pauseMs)
    if (isStopping) return
    interruptedBefore += run.interrupted()
    run = startRun(options, onError)
  }

  return {
    reserve: (webhookId) => run.reserve(webhookId),
    health: (webhookId) => run.health(webhookId),
    interrupted: () => interruptedBefore + run.interrupted(),
    restarts: () => restarts,
    down: () => run.down(),
    get inFlight() {
      return run.inFlight
    },
    async stop() {
      isStopping = true
      pauses.end()
      await run.stop()
      await restarting
    },
  }
}

/** Returns a function that returns how long to wait after the end of a run that has just failed. */
function createBackoff(): () => number {
  let failures = 0
  let failedMs = performance.now()
  return () => {
    const nowMs = performance.now()
    failures = nowMs - failedMs >= STABLE_MS ? 1 : failures + 1
    failedMs = nowMs
    return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1))
  }
}
