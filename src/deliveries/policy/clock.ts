import type { Log } from '../../lib/log.ts'
import { steadyUs as elapsedUs, type NowUs, SECOND, nowUs as wallUs } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

/**
 * The steady clock: retries, ages and probes are in its time, in memory and on disk, over restarts. It began as the
 * time of the wall clock, and only moves forward at its normal speed: a wall clock that is set back delays no retry,
 * one that is set forward expires no delivery.
 *
 * Invariant: steady time + `steppedUs` is wall time, to a second. `check` keeps it so: it finds by how much the wall
 * clock was set and stores the sum, for other processes, the log of deliveries and the next start.
 */
export type Clock = {
  readonly steadyUs: NowUs
  check(): void
  /** Returns false for a day after the wall clock was set far ahead: a time that is wrong must not delete the log. */
  mayPrune(): boolean
}

type ClockOptions = {
  readonly maintenance: Store['maintenance']
  readonly log: Log
  readonly nowUs?: NowUs
  /** Counts microseconds from any moment, and is never set. */
  readonly steadyUs?: NowUs
}

/** Less is no step: clocks are read one after the other. */
const LEAST_STEP_US = SECOND
const DAY_US = 86_400 * SECOND
/** So long a quiet system may have stored nothing when it starts again, before its clock is doubted. */
const QUIET_US = 2 * DAY_US
/** Between two tries to store a step. */
const RETRY_MS = 250

/** Opens the steady clock where the store has it. @throws Fault `unavailable`. */
export async function openClock(options: ClockOptions): Promise<Clock> {
  const { maintenance, log, nowUs = wallUs, steadyUs: elapsed = elapsedUs } = options
  const { lastSteadyUs, newestEventUs, steppedUs, pruneFromUs } = await maintenance.clockGet()
  // If the wall clock was set back while no process ran, time continues from the last that was stored.
  const startUs = Math.max(nowUs() - steppedUs, lastSteadyUs) - Math.floor(elapsed())
  const steadyUs = () => startUs + Math.floor(elapsed())
  const saved = createSavedSteps(maintenance, { steppedUs, pruneFromUs })

  function pausePruning(): void {
    saved.change({ pruneFromUs: steadyUs() + DAY_US })
    log.warn('no old record is deleted for a day: set the clock back if it is wrong')
  }

  function check(): void {
    const byUs = nowUs() - steadyUs() - saved.steps().steppedUs
    if (Math.abs(byUs) > LEAST_STEP_US) {
      const seconds = Math.round(Math.abs(byUs) / SECOND)
      saved.change({ steppedUs: saved.steps().steppedUs + byUs })
      log.warn(
        { seconds },
        `the clock was set ${byUs > 0 ? 'forward' : 'back'} by ${seconds} s: retries and expiry are not affected`,
      )
      if (byUs >= DAY_US) pausePruning()
    }
    saved.save()
  }

  // A pause for a clock that is right again does not last longer than from now on.
  if (pruneFromUs > steadyUs() + DAY_US) saved.change({ pruneFromUs: steadyUs() + DAY_US })
  const days = daysAhead({ lastSteadyUs, newestEventUs, ...saved.steps() }, steadyUs())
  if (days > 0) {
    log.warn({ days }, `the clock is ${days} days ahead of the last record that was stored`)
    pausePruning()
  }
  return {
    steadyUs,
    check,
    mayPrune() {
      check()
      return steadyUs() >= saved.steps().pruneFromUs
    },
  }
}

type Steps = { readonly steppedUs: number; readonly pruneFromUs: number }

/** Keeps the steps of the wall clock, and stores them until that succeeds. */
function createSavedSteps(maintenance: Store['maintenance'], stored: Steps) {
  let steps = stored
  let unsaved = false
  let saving = false

  async function save(): Promise<void> {
    saving = true
    unsaved = false
    try {
      await maintenance.clockSet(steps)
    } catch {
      // Parts that write more often log that the store cannot be written.
      unsaved = true
      await Bun.sleep(RETRY_MS)
    } finally {
      saving = false
    }
  }

  return {
    steps: () => steps,
    change(change: Partial<Steps>): void {
      steps = { ...steps, ...change }
      unsaved = true
    },
    save(): void {
      if (unsaved && !saving) void save()
    },
  }
}

type LastKnown = Steps & { readonly lastSteadyUs: number; readonly newestEventUs: number | undefined }

/**
 * Returns by how many days the clock is ahead of the last record, 0 if that is plausible. No process ran meanwhile, so
 * time may have passed or the clock may have been set: it is not trusted at once. Once a day is enough.
 */
function daysAhead({ lastSteadyUs, newestEventUs, steppedUs, pruneFromUs }: LastKnown, nowSteadyUs: number): number {
  const lastKnownUs = Math.max(
    lastSteadyUs,
    ...(newestEventUs === undefined ? [] : [newestEventUs - steppedUs]),
    ...(pruneFromUs === 0 ? [] : [pruneFromUs - DAY_US]),
  )
  const aheadUs = nowSteadyUs - lastKnownUs
  return lastKnownUs <= 0 || aheadUs < QUIET_US ? 0 : Math.floor(aheadUs / DAY_US)
}
