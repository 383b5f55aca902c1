import { SLICE_MS } from './slices.ts'

/** Work on arriving items, in slices between which others have their turns. */
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
  /**
   * Begins the work on all that waits, one step after the other; a step takes microseconds. A step that is a promise
   * ends the slice, and the next one waits for it.
   */
  readonly begin: () => Iterator<unknown>
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>
  /** Called with the error of a step, which ends the work that was begun. */
  readonly failed: (error: unknown) => void
  readonly nowMs?: () => number
}

const NOTHING = Promise.resolve()

/** Creates work that nobody has requested yet. */
export function createSlicedWork(options: Options): SlicedWork {
  const { begin, nextTurn, failed, nowMs = () => performance.now() } = options
  let steps: Iterator<unknown> | undefined
  let isPlanned = false
  let isRunning = false
  const waiters: (() => void)[] = []

  /** Returns what to wait for before the steps that are left after this slice; `undefined` if none is left. */
  function takeSlice(): Promise<unknown> | undefined {
    steps ??= begin()
    const untilMs = nowMs() + SLICE_MS
    do {
      const { done, value } = steps.next()
      if (done === true) return undefined
      if (value instanceof Promise) return value
    } while (nowMs() < untilMs)
    return NOTHING
  }
  function run(): void {
    isPlanned = false
    isRunning = true
    let before: Promise<unknown> | undefined
    try {
      before = takeSlice()
    } catch (error) {
      failed(error)
    }
    isRunning = false
    if (before !== undefined) {
      plan(before)
      return
    }
    steps = undefined
    for (const resolve of waiters.splice(0)) resolve()
  }
  function plan(before: Promise<unknown> = NOTHING): void {
    if (isPlanned) return
    isPlanned = true
    void (before === NOTHING ? nextTurn() : before.then(nextTurn)).then(run)
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
