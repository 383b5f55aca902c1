import { nextTurn } from './slices.ts'

/**
 * Starts a task now and then every `everyMs`, one run at a time. A run ends early when `stopped()` is true, and must
 * not throw.
 */
export function startPeriodic(
  everyMs: number,
  round: (stopped: () => boolean) => Promise<void>,
): { stop(): Promise<void> } {
  let stopped = false
  let running: Promise<void> | undefined
  const start = (): void => {
    running ??= round(() => stopped).finally(() => {
      running = undefined
    })
  }
  const timer = setInterval(start, everyMs)
  start()
  return {
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}

/** Rows per step, which takes the store's writer a few milliseconds. */
export const STEP = 250
/** The pause between two steps, for other writes. */
export const PAUSE_MS = 20

/** Repeats a step of at most `STEP` rows until one changes fewer. Returns the number of changed rows. */
export async function inSmallSteps(step: () => Promise<number>, mayGoOn: () => boolean): Promise<number> {
  let total = 0
  for (let changed = STEP; changed === STEP && mayGoOn(); await Bun.sleep(PAUSE_MS)) {
    changed = await step()
    total += changed
  }
  return total
}

/**
 * The pauses of a task that can be stopped. `Promise.race` against one promise of the stop would leak a reaction for
 * each pause.
 */
type Pauses = {
  /** Resolves after this time, or when the pauses are ended. */
  wait(ms: number): Promise<void>
  /** Ends the pause that goes on; later ones end at once. */
  end(): void
}

/** Returns the pauses of one task, which has one at a time. */
export function createPauses(): Pauses {
  let isEnded = false
  let endPresent = (): void => {}
  return {
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, isEnded ? 0 : ms)
        endPresent = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    end() {
      isEnded = true
      endPresent()
    },
  }
}

/** A task that runs when it is requested, but not too often. */
type PacedTask = {
  /** Lets the task run in a later turn of the event loop, and again if it is running. */
  request(): void
  stop(): void
}

/**
 * Creates a task with a pause of `pauseMs` after each run: requests during a run or a pause lead to one more run. A run
 * must not throw.
 */
export function createPacedTask(pauseMs: number, run: () => Promise<void>): PacedTask {
  const pauses = createPauses()
  let isRequested = false
  let isActive = false
  let isStopped = false

  async function runAll(): Promise<void> {
    isActive = true
    while (isRequested && !isStopped) {
      await nextTurn()
      isRequested = false
      await run()
      await pauses.wait(pauseMs)
    }
    isActive = false
  }
  return {
    request() {
      isRequested = true
      if (!isActive) void runAll()
    },
    stop() {
      isStopped = true
      pauses.end()
    },
  }
}
