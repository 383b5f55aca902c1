import { createPauses } from '../../lib/periodic.ts'

/**
 * Requests snapshots when the known state is in doubt. Each time two snapshots, since a call is closed only if both
 * lack it (events.md 9), and more while a channel that was up is missing: FreeSWITCH's list lags behind, so a leg may
 * be in the first and not in the second. Always with pauses, since a caller may be the cause.
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
  readonly timeouts: {
    /** The pause between two snapshots. */
    readonly snapshotAgainMs: number
    /** The least time between two resyncs. */
    readonly resyncMs: number
  }
}

const ATTEMPTS = 3

/** Returns a resync; `first` begins it. */
export function createResync({ snapshot, isAnyMissing = () => false, timeouts }: Options): Resync {
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
    while (!isStopped) {
      await retry(ATTEMPTS)
      await pauses.wait(timeouts.resyncMs)
      if (!isStopped && !isWanted && !isAnyMissing()) await reason()
      if (isStopped) return
      isWanted = false
      if (!(await snapshot())) await retry(ATTEMPTS - 1)
    }
  }

  return {
    async first() {
      hasBegun = true
      const isComplete = await snapshot()
      void run(isComplete)
      return isComplete
    },
    request() {
      const isNew = hasBegun && !isWanted && !isStopped
      isWanted = hasBegun
      wake()
      return isNew
    },
    stop() {
      isStopped = true
      pauses.end()
      wake()
    },
  }
}
