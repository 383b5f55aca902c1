import { createPauses } from '../../lib/periodic.ts'
import { createGrowingPause } from './growing-pause.ts'

/**
 * Requests snapshots when the known state is in doubt. Each time two snapshots, since a call is closed only if both
 * lack it (events.md 9), and more while a channel that was up is missing: FreeSWITCH's list lags behind, so a leg may
 * be in the first and not in the second. Always with pauses, since a caller may be the cause; they grow while reasons
 * come one after the other.
 */
export type Resync = {
  /** Begins with the snapshots after a login. Resolves with whether the first was complete. */
  first(): Promise<boolean>
  /** Requests snapshots soon. Returns `false` if they were already planned. */
  request(): boolean
  stop(): void
}

type Options = {
  /** Requests one snapshot and puts it into the inbox; never rejects, and resolves with whether it was complete. */
  readonly snapshot: () => Promise<boolean>
  /** Returns whether the last snapshot lacked a channel that was up. */
  readonly isAnyMissing?: (() => boolean) | undefined
  /** Returns whether nothing was heard of a live call for long: its end may have been lost. */
  readonly isAnySilent?: (() => boolean) | undefined
  readonly timeouts: {
    /** The pause between two snapshots. */
    readonly snapshotAgainMs: number
    /** The least time between two resyncs. */
    readonly resyncMs: number
    /** The most time between two resyncs while reasons do not end. */
    readonly doubtMaxMs: number
    /** How often `isAnySilent` is asked. */
    readonly silentCheckMs: number
  }
}

const ATTEMPTS = 3

/** Returns a resync; `first` begins it. */
export function createResync(options: Options): Resync {
  const { snapshot, isAnyMissing = () => false, isAnySilent = () => false, timeouts } = options
  let hasBegun = false
  let isStopped = false
  let isWanted = false
  const pauses = createPauses()
  /** Ends the wait for the next reason. */
  let wake = (): void => {}

  const reason = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  /** Requests snapshots until one is complete, each after a pause. */
  async function retry(attempts: number): Promise<void> {
    for (let left = attempts; left > 0; left--) {
      await pauses.wait(timeouts.snapshotAgainMs)
      if (isStopped || (await snapshot())) return
    }
  }
  async function run(isFirstComplete: boolean): Promise<void> {
    if (!isFirstComplete) await retry(ATTEMPTS - 1)
    const pause = createGrowingPause(timeouts.resyncMs, timeouts.doubtMaxMs)
    let pauseMs = timeouts.resyncMs
    while (!isStopped) {
      await retry(ATTEMPTS)
      await pauses.wait(pauseMs)
      pauseMs = pause.next(isWanted)
      if (!isStopped && !isWanted && !isAnyMissing()) await reason()
      if (isStopped) return
      isWanted = false
      if (!(await snapshot())) await retry(ATTEMPTS - 1)
    }
  }

  function request(): boolean {
    const isNew = hasBegun && !isWanted && !isStopped
    isWanted = hasBegun
    wake()
    return isNew
  }
  const silentCheck = setInterval(() => {
    if (isAnySilent()) request()
  }, timeouts.silentCheckMs)

  return {
    async first() {
      hasBegun = true
      const isComplete = await snapshot()
      void run(isComplete)
      return isComplete
    },
    request,
    stop() {
      isStopped = true
      clearInterval(silentCheck)
      pauses.end()
      wake()
    },
  }
}
