import type { Log } from '../lib/log.ts'
import { steadyUs as elapsedUs, type NowUs, SECOND, nowUs as wallUs } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/**
 * The clock on which everything that waits is reckoned: retries, ages, probes, in memory and on disk, over restarts. It was the wall
 * clock's time once, and never steps: a wall clock that is set back delays no retry, one that is set forward lets nothing fail by age.
 *
 * Invariant: steady time + `stepped` is wall time, to a second. `look` keeps it so: it says how far the wall clock was set, and
 * stores the sum, by which other processes, the log of deliveries and the next start find their way.
 */
export type Clock = {
  readonly steadyUs: NowUs
  look(): void
  /** False for a day after the wall clock was set, or found, far ahead: a time that was wrong must not cost the log. */
  mayPrune(): boolean
}

export type ClockOptions = {
  readonly maintenance: Store['maintenance']
  readonly log: Log
  readonly nowUs?: NowUs
  /** Never steps, in microseconds from any moment. */
  readonly steadyUs?: NowUs
}

/** Less is no step: clocks are read one after the other. */
const LEAST_STEP_US = SECOND
const DAY_US = 86_400 * SECOND
/** So long a quiet system may have stored nothing when it starts again, before its clock is doubted. */
const QUIET_US = 2 * DAY_US
/** Between two tries to store a step. */
const AGAIN_MS = 250

/** Reads how far the wall clock was set, and goes on from there. */
export async function openClock(options: ClockOptions): Promise<Clock> {
  const { maintenance, log, nowUs = wallUs, steadyUs: elapsed = elapsedUs } = options
  const { lastSteadyUs, newestEventUs, ...stored } = await maintenance.clockGet()
  let { steppedUs, pruneFromUs } = stored
  // If the wall clock was set back while nobody ran, time goes on from where it stood.
  const startUs = Math.max(nowUs() - steppedUs, lastSteadyUs) - Math.floor(elapsed())
  const steadyUs = () => startUs + Math.floor(elapsed())
  let unsaved = false
  let saving = false

  function holdPruning(): void {
    pruneFromUs = steadyUs() + DAY_US
    unsaved = true
    log.warn('nothing is taken out for its age for a day: set the clock back if it is wrong')
  }

  /** Nobody ran, so nobody saw whether time has passed or the clock was set: it is not believed at once, but once a day is enough. */
  function doubt(): void {
    // What was held for a clock that is right again is not held longer than from now on.
    const latestUs = steadyUs() + DAY_US
    if (pruneFromUs > latestUs) {
      pruneFromUs = latestUs
      unsaved = true
    }
    const known = [
      lastSteadyUs,
      ...(newestEventUs === undefined ? [] : [newestEventUs - steppedUs]),
      ...(pruneFromUs === 0 ? [] : [pruneFromUs - DAY_US]),
    ]
    const lastKnownUs = Math.max(...known)
    const aheadUs = steadyUs() - lastKnownUs
    if (lastKnownUs <= 0 || aheadUs < QUIET_US) return
    const days = Math.floor(aheadUs / DAY_US)
    log.warn({ days }, `the clock is ${days} days ahead of what was stored last`)
    holdPruning()
  }

  function stepped(byUs: number): void {
    const seconds = Math.round(Math.abs(byUs) / SECOND)
    steppedUs += byUs
    unsaved = true
    log.warn(
      { seconds },
      `the clock was set ${byUs > 0 ? 'forward' : 'back'} by ${seconds} s: what waits is not moved by it`,
    )
    if (byUs >= DAY_US) holdPruning()
  }

  async function save(): Promise<void> {
    saving = true
    unsaved = false
    try {
      await maintenance.clockSet({ steppedUs, pruneFromUs })
    } catch {
      // Whoever writes more often says that the store cannot be written.
      unsaved = true
      await Bun.sleep(AGAIN_MS)
    } finally {
      saving = false
    }
  }

  function look(): void {
    const byUs = nowUs() - steadyUs() - steppedUs
    if (Math.abs(byUs) > LEAST_STEP_US) stepped(byUs)
    if (unsaved && !saving) void save()
  }

  doubt()
  return {
    steadyUs,
    look,
    mayPrune() {
      look()
      return steadyUs() >= pruneFromUs
    },
  }
}
