/** A pause between two requests of a list, which grows while reasons to request it do not end. */
type GrowingPause = {
  /** Returns the next pause in milliseconds. `isAgain`: another reason came right after the last request. */
  next(isAgain: boolean): number
}

/**
 * Returns a pause that doubles from `firstMs` up to `maxMs`: a module of the PBX that sends malformed events all the
 * time must not make it list its channels, phones and queues all the time.
 */
export function createGrowingPause(firstMs: number, maxMs: number): GrowingPause {
  let pauseMs = firstMs
  return {
    next(isAgain) {
      pauseMs = isAgain ? Math.min(Math.max(maxMs, firstMs), pauseMs * 2) : firstMs
      return pauseMs
    },
  }
}
