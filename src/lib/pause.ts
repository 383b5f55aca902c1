/** The pauses of a task that can be stopped. `Promise.race` with a promise for the stop would keep each of them. */
export type Pauses = {
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
