/**
 * The longest time that one piece of work may block the event loop: PBXs and receivers must not wait for a client with
 * thousands of calls.
 */
export const SLICE_MS = 5

/**
 * Takes items from an iterator for some 5 ms, at least one. The time that the iterator needs to make an item counts.
 */
export function takeSlice<T>(
  items: Iterator<T>,
  nowMs: () => number = () => performance.now(),
): { readonly taken: readonly T[]; readonly done: boolean } {
  const untilMs = nowMs() + SLICE_MS
  const taken: T[] = []
  do {
    const next = items.next()
    if (next.done === true) return { taken, done: true }
    taken.push(next.value)
  } while (nowMs() < untilMs)
  return { taken, done: false }
}

/** Returns a function that resolves in a later turn of the event loop, one waiter per turn. */
function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => new Promise((resolve) => void setImmediate(resolve)))
    return last
  }
}

/** Resolves in a later turn of the event loop, one waiter per turn, so that each turn serves one client. */
export const nextTurn = createTurns()

/** The same for the data of PBXs: they share turns with each other, and do not wait for clients. */
export const nextPbxTurn = createTurns()

/** Collects all items of an iterator, and lets other work run between two slices. */
export async function collectInSlices<T>(items: Iterator<T>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const { taken, done } = takeSlice(items)
    all.push(...taken)
    if (done) return all
    await nextTurn()
  }
}

/** Takes all steps of an iterator, and lets other work run between two slices. Returns the iterator's result. */
export async function runInSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  for (;;) {
    const untilMs = performance.now() + SLICE_MS
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (performance.now() < untilMs)
    await nextTurn()
  }
}

/** Takes all steps of an iterator in one go, and returns the iterator's result. */
export function runAtOnce<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Returns a response body that makes its pieces of text only when the client reads them. */
export function bodyInSlices(pieces: Iterator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await nextTurn()
        const { taken, done } = takeSlice(pieces)
        if (taken.length > 0) controller.enqueue(encoder.encode(taken.join('')))
        if (done) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
