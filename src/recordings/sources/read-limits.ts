/** Time limits for a place of files: a place that trickles would block every waiting reader. */
export type ReadLimits = {
  /** Until the answer to a request. */
  readonly answerMs: number
  /** Between two parts of a file. */
  readonly silentMs: number
  /** The span over which the average rate must reach `leastBytesPerS`. */
  readonly spanMs: number
  readonly leastBytesPerS: number
  /** Waiting for one file in all. */
  readonly wholeMs: number
}

/** Uncompressed telephone sound has 16 KB a second: a slower place cannot keep up with one call. */
export const READ_LIMITS: ReadLimits = {
  answerMs: 10_000,
  silentMs: 30_000,
  spanMs: 30_000,
  leastBytesPerS: 8_000,
  wholeMs: 3_600_000,
}

/** Resolves like `work`; rejects with `reason` after `ms`. The work itself is not cancelled. */
export async function withinMs<Result>(ms: number, reason: string, work: Promise<Result>): Promise<Result> {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(reason)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}

/**
 * Returns a function that awaits the next part of a file within the limits. Only the time spent waiting for the place
 * counts, not a slow client. The function rejects with the reason.
 */
export function limitedReads({ silentMs, spanMs, leastBytesPerS, wholeMs }: ReadLimits) {
  let wholeUsedMs = 0
  let spanUsedMs = 0
  let spanBytes = 0
  return async <Part extends { readonly length: number } | undefined>(next: () => Promise<Part>): Promise<Part> => {
    const beganMs = performance.now()
    const part = await withinMs(Math.min(silentMs, wholeMs - wholeUsedMs), 'it sends no more', next())
    const usedMs = performance.now() - beganMs
    wholeUsedMs += usedMs
    spanUsedMs += usedMs
    spanBytes += part?.length ?? 0
    if (wholeUsedMs >= wholeMs) throw new Error('it takes too long to send the file')
    if (spanUsedMs >= spanMs) {
      if (spanBytes < (leastBytesPerS * spanUsedMs) / 1_000)
        throw new Error(`it sends less than ${leastBytesPerS} bytes a second`)
      spanUsedMs = 0
      spanBytes = 0
    }
    return part
  }
}
