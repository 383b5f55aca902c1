import type { Log } from '../lib/log.ts'
import { steadyUs as elapsedUs, type NowUs, SECOND, nowUs as wallUs } from '../lib/time.ts'
import type { Store } from './store.ts'

/**
 * The steady clock, which times retries, ages and probes, in memory, on disk and across restarts. It began at the wall
 * clock's time and moves forward at normal speed: setting the wall clock back delays no retry, setting it forward
 * expires no delivery.
 *
 * Invariant: steady time + `steppedUs` is wall time, to a second. `check` maintains it: it detects steps of the wall
 * clock and stores their sum, for other processes, the log of deliveries and the next start.
 */
export type Clock = {
  readonly steadyUs: NowUs
  check(): void
  /** Returns false for a day after the wall clock was set far ahead: a wrong time must not delete the log. */
  mayPrune(): boolean
}

type ClockOptions = {
  readonly maintenance: Store['maintenance']
  readonly log: Log
  readonly nowUs?: NowUs
  /** Counts microseconds from an arbitrary moment; never set. */
  readonly steadyUs?: NowUs
}

/** A smaller difference is no step: the clocks are read one after the other. */
const LEAST_STEP_US = SECOND
const DAY_US = 86_400 * SECOND
/** A system that was off or quiet for this long is plausible; a longer gap makes its clock doubtful. */
const QUIET_US = 2 * DAY_US
/** The pause between two tries to store a step. */
const RETRY_MS = 250

/** Opens the steady clock from its state in the store. @throws Fault `unavailable`. */
export async function openClock(options: ClockOptions): Promise<Clock> {
  const { maintenance, log, nowUs = wallUs, steadyUs: elapsed = elapsedUs } = options
  const { lastSteadyUs, newestEventUs, steppedUs, pruneFromUs } = await maintenance.clockGet()
  // If the wall clock was set back while no process ran, time continues from the last stored one.
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

  // The clock is right again: the pause ends a day from now at most.
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
      // Other parts, which write more often, log this.
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
 * Returns how many days the clock is ahead of the last record, 0 if that is plausible. Since no process ran, either
 * time has passed or the clock was set: so it is not trusted at once.
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
