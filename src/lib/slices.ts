/** How long one piece of work may hold the event loop: PBXs and receivers must not wait for a reader with thousands of calls. */
const SLICE_MS = 5

/**
 * Takes the next items of an iterator, for some 5 ms and one at least. What makes an item counts: an iterator that makes them as
 * they are asked for is asked for no more than fit.
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

let lastTurn: Promise<void> = Promise.resolve()

/** Resolves in a turn of the event loop of its own: of many readers at a time each turn has the slice of one. */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => void setImmediate(resolve)))
  return lastTurn
}

/** Collects all items of an iterator, with a turn for everybody else between two slices. */
export async function collectInSlices<T>(items: Iterator<T>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const { taken, done } = takeSlice(items)
    all.push(...taken)
    if (done) return all
    await nextTurn()
  }
}

/** A body of many pieces of text, each made when the reader takes it. */
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
