import { startDeadline } from '../lib/deadline.ts'

/** Whether commits fail at present. */
export type CommitWatch = {
  /** Notes that a commit begins. Returns a function that notes its end. */
  begin(): (isUnavailable: boolean) => void
  /**
   * Returns whether the last commit failed because the store was unavailable, or one has had no answer for seconds.
   */
  isFailing(): boolean
}

/** A commit takes milliseconds: after this time the store is not answering. */
const STUCK_MS = 3_000

type Options = {
  readonly nowMs?: () => number
  readonly after?: typeof startDeadline
  /** The time after which a failure no longer counts if no other commit was tried. */
  readonly forgetMs: number
}

/** Watches the commits of one group, which run one at a time. */
export function createCommitWatch({
  nowMs = () => performance.now(),
  after = startDeadline,
  forgetMs,
}: Options): CommitWatch {
  let isStuck = false
  let failedMs = Number.NEGATIVE_INFINITY
  return {
    begin() {
      // Not by the clock alone: while the event loop was held, the answer could not be read.
      const deadline = after(STUCK_MS, () => {
        isStuck = true
      })
      return (isUnavailable) => {
        deadline.cancel()
        isStuck = false
        failedMs = isUnavailable ? nowMs() : Number.NEGATIVE_INFINITY
      }
    },
    isFailing: () => isStuck || nowMs() - failedMs < forgetMs,
  }
}
