/** Wraps a function that is called back: an error in it, which is one of this program, ends the run alone. */
export type Guard = <Args extends unknown[], Result>(
  work: (...args: Args) => Result,
) => (...args: Args) => Result | undefined

/** The end of one run of the dispatcher by an error of this program, after which its state is not to be trusted. */
type RunGuard = {
  readonly guard: Guard
  /** Ends the run. After the first time it does nothing. */
  fail(error: unknown): void
  /** Resolves when the run has been ended so. */
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
