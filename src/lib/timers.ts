/**
 * One timer per key. The earliest is found in O(log n): a heap whose stale entries are dropped when they come up, or
 * when most entries are stale.
 */
export type Timers = {
  get(key: string): number | undefined
  set(key: string, atUs: number): void
  delete(key: string): void
  /** The earliest time, `null` without a timer. */
  earliest(): number | null
  /** Removes and returns the keys that are due, at most `max`, ordered by time, then by key. */
  due(nowUs: number, max?: number): string[]
}

/** Fewer entries are not worth a search for stale ones. */
const MIN_ENTRIES = 64

type Entry = { readonly atUs: number; readonly key: string }

/** Returns an empty set of timers. */
export function newTimers(): Timers {
  const times = new Map<string, number>()
  let heap: Entry[] = []

  /** Timers that are often set anew would fill the memory until the earliest of them is due. */
  function dropStale(): void {
    heap = heap.filter(({ key, atUs }) => times.get(key) === atUs)
    // A sorted list is a heap.
    heap.sort((one, other) => one.atUs - other.atUs)
  }
  function top(): Entry | undefined {
    for (;;) {
      const first = heap[0]
      if (first === undefined || times.get(first.key) === first.atUs) return first
      pop(heap)
    }
  }
  return {
    get: (key) => times.get(key),
    set(key, atUs) {
      if (times.get(key) === atUs) return
      times.set(key, atUs)
      push(heap, { atUs, key })
      if (heap.length > MIN_ENTRIES && heap.length > 2 * times.size) dropStale()
    },
    delete: (key) => void times.delete(key),
    earliest: () => top()?.atUs ?? null,
    due(nowUs, max = Number.POSITIVE_INFINITY) {
      const due: Entry[] = []
      for (let first = top(); first !== undefined && first.atUs <= nowUs && due.length < max; first = top()) {
        due.push(first)
        times.delete(first.key)
      }
      // The heap's order of equal times depends on all other entries, also other customers': order them by key instead.
      due.sort((a, b) => a.atUs - b.atUs || (a.key < b.key ? -1 : 1))
      return due.map(({ key }) => key)
    },
  }
}

function push(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = heap[parent]
    if (above === undefined || above.atUs <= entry.atUs) break
    heap[index] = above
    index = parent
  }
  heap[index] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if ((heap[child + 1]?.atUs ?? Number.POSITIVE_INFINITY) < (heap[child]?.atUs ?? 0)) child += 1
    const below = heap[child]
    if (below === undefined || below.atUs >= last.atUs) break
    heap[index] = below
    index = child
  }
  heap[index] = last
}
