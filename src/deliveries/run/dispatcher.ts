import { backoff } from '../../lib/backoff.ts'
import { createPauses } from '../../lib/periodic.ts'
import { type Dispatcher, type DispatcherOptions, startRun } from './dispatcher-run.ts'

/** The pause before sending begins again; it doubles while runs fail within `STABLE_MS`. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000
const STABLE_MS = 60_000

/**
 * Starts to send deliveries, in a run of the dispatcher. The memory of a run is only an index of the store. So after an
 * internal error that may have corrupted it, such as a failed assertion, the run is abandoned and another one begins
 * from the store: nothing is lost, and deliveries in flight are sent again.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { log } = options
  const pauses = createPauses()
  const nextPauseMs = newRestartPauses()
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

/** Makes the function that counts a failed run and returns the pause before the next one. */
function newRestartPauses(): () => number {
  let failures = 0
  let failedMs = performance.now()
  return () => {
    const nowMs = performance.now()
    failures = nowMs - failedMs >= STABLE_MS ? 1 : failures + 1
    failedMs = nowMs
    return backoff(failures, FIRST_PAUSE_MS, MAX_PAUSE_MS)
  }
}
