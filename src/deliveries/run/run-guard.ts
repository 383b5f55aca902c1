/** Wraps a callback, so that an internal error in it ends only the run. */
export type Guard = <Args extends unknown[], Result>(
  work: (...args: Args) => Result,
) => (...args: Args) => Result | undefined

/** Ends a run of the dispatcher after an internal error, since its state can no longer be trusted. */
type RunGuard = {
  readonly guard: Guard
  /** Ends the run. After the first time it does nothing. */
  fail(error: unknown): void
  /** Resolves when the run has failed. */
  readonly failed: Promise<void>
}

/** Creates the guard of one run; `onError` is called once. From then on guarded functions do nothing. */
export function newRunGuard(onError: (error: unknown) => void): RunGuard {
  const { promise: failed, resolve } = Promise.withResolvers<void>()
  let isOver = false

  function fail(error: unknown): void {
    if (isOver) return
    isOver = true
    resolve()
    onError(error)
  }
  return {
    fail,
    failed,
    guard:
      (work) =>
      (...args) => {
        if (isOver) return undefined
        try {
          return work(...args)
        } catch (error) {
          fail(error)
          return undefined
        }
      },
  }
}
