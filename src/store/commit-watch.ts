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
  /** The time after which a failure no longer counts if no other commit was tried. */
  readonly forgetMs: number
}

/** Watches the commits of one group, which run one at a time. */
export function createCommitWatch({ nowMs = () => performance.now(), forgetMs }: Options): CommitWatch {
  let runningSinceMs: number | undefined
  let failedMs = Number.NEGATIVE_INFINITY
  return {
    begin() {
      runningSinceMs = nowMs()
      return (isUnavailable) => {
        runningSinceMs = undefined
        failedMs = isUnavailable ? nowMs() : Number.NEGATIVE_INFINITY
      }
    },
    isFailing() {
      const isStuck = runningSinceMs !== undefined && nowMs() - runningSinceMs > STUCK_MS
      return isStuck || nowMs() - failedMs < forgetMs
    },
  }
}
