import { SLICE_MS } from './slices.ts'

/** Work on what arrives, in slices between which others have their turns. */
type SlicedWork = {
  /** Does a slice of the work now, unless some of it already waits for its turn; the rest follows in later turns. */
  request(): void
  /** Does the work in later turns. */
  requestLater(): void
  isIdle(): boolean
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>
}

type Options = {
  /** Begins the work on all that waits, one step after the other; a step takes microseconds. */
  readonly begin: () => Iterator<unknown>
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>
  /** Called with the error of a step, which ends the work that was begun. */
  readonly failed: (error: unknown) => void
  readonly nowMs?: () => number
}

/** Creates work of which nothing is requested yet. */
export function createSlicedWork(options: Options): SlicedWork {
  const { begin, nextTurn, failed, nowMs = () => performance.now() } = options
  let steps: Iterator<unknown> | undefined
  let isPlanned = false
  let isRunning = false
  const waiters: (() => void)[] = []

  /** Returns whether steps are left after this slice. */
  function takeSlice(): boolean {
    steps ??= begin()
    const untilMs = nowMs() + SLICE_MS
    do if (steps.next().done === true) return false
    while (nowMs() < untilMs)
    return true
  }
  function run(): void {
    isPlanned = false
    isRunning = true
    let isLeft = false
    try {
      isLeft = takeSlice()
    } catch (error) {
      failed(error)
    }
    isRunning = false
    if (isLeft) {
      plan()
      return
    }
    steps = undefined
    for (const resolve of waiters.splice(0)) resolve()
  }
  function plan(): void {
    if (isPlanned) return
    isPlanned = true
    void nextTurn().then(run)
  }
  const isIdle = (): boolean => steps === undefined && !isPlanned

  return {
    request() {
      if (!isPlanned && !isRunning) run()
    },
    requestLater() {
      if (!isRunning) plan()
    },
    isIdle,
    async idle() {
      if (!isIdle()) await new Promise<void>((resolve) => void waiters.push(resolve))
    },
  }
}
