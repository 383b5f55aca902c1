/** How often the translator releases delayed events if no other event arrives. */
export const RELEASE_MS = 50

/** A longer delay of the timer shows that the process got no processor, so bytes may wait to be read. */
const LATE_MS = 20

type Options = {
  /** Returns whether bytes or events of the PBX wait to be processed. */
  readonly isBehind: () => boolean
  /** Releases the events that have waited long enough for others. */
  readonly release: () => void
  readonly nowMs: () => number
}

/**
 * Returns the function that a timer calls every `RELEASE_MS`. It releases events only when all that has arrived is
 * read: the event for which another one waits may be among it.
 */
export function createReleaseTimer({ isBehind, release, nowMs }: Options): () => void {
  let dueMs = nowMs() + RELEASE_MS
  let wasLate = false
  return () => {
    const isLate = nowMs() - dueMs > LATE_MS && !wasLate
    wasLate = isLate
    dueMs = nowMs() + RELEASE_MS
    if (!isLate && !isBehind()) release()
  }
}
