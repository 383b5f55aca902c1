import { nextPbxTurn } from '../../lib/slices.ts'

/** The number of unprocessed entries of all PBXs. */
export type Intake = { waiting: number }

/**
 * The queue between the socket of a PBX and the tracker. The reader of frames only puts entries in; a session takes
 * them out in slices, between which the sockets are read, since a PBX drops a client that does not read.
 *
 * Limited in bytes. When it is full, sheddable entries are dropped first (once until it has been empty again), then new
 * entries; `dropped` counts both.
 */
export type Inbox<Entry> = {
  /** Appends an entry with its size; one without a size always fits. Returns whether it fitted. */
  push(entry: Entry, bytes?: number): boolean
  dropped(): number
  /** Puts an entry before all others. */
  unshift(entry: Entry): void
  /** Stops giving out entries until `resume`. */
  pause(): void
  resume(): void
  size(): number
  /** Returns the waiting entries, in order. */
  waiting(): readonly Entry[]
  /**
   * Resolves with the next slice, in a later turn of the event loop than its `push`; with an empty one after `stop`.
   */
  next(): Promise<readonly Entry[]>
  /** Ends `next`; waiting entries are left to `drain`. */
  stop(): void
  /** Removes and returns all entries, paused or not. */
  drain(): readonly Entry[]
}

type Options<Entry> = {
  readonly isSheddable: (entry: Entry) => boolean
  readonly intake?: Intake
  readonly maxBytes?: number
  /** What an entry takes beside its bytes. */
  readonly entryBytes?: number
  readonly defer?: (run: () => void) => void
}

/** Some 90,000 frames of Asterisk, with what their objects take: four seconds at 20,000 events per second. */
const MAX_BYTES = 128 * 1024 * 1024
/** Some 2 ms of tracking. */
export const SLICE = 256

type BoundedQueue<Entry> = Pick<Inbox<Entry>, 'push' | 'dropped' | 'unshift' | 'size' | 'waiting'> & {
  isEmpty(): boolean
  /** Removes and returns the first `count` entries. */
  take(count: number): readonly Entry[]
}

function createBoundedQueue<Entry>(options: Required<Options<Entry>>): BoundedQueue<Entry> {
  const { isSheddable, intake, maxBytes, entryBytes } = options
  let entries: Entry[] = []
  /** The size of each of `entries`. */
  let sizes: number[] = []
  let bytes = 0
  /** The place of the first entry that waits. */
  let first = 0
  let hasOverrun = false
  let dropped = 0

  const replace = (nextEntries: Entry[], nextSizes: number[]): void => {
    intake.waiting += nextEntries.length - (entries.length - first)
    entries = nextEntries
    sizes = nextSizes
    bytes = sizes.reduce((sum, size) => sum + size, 0)
    first = 0
  }
  /**
   * Drops sheddable entries, once per overrun: searching all entries for each new one would cost more than processing
   * it.
   */
  const shed = (): void => {
    const sized = entries.map((entry, at) => ({ entry, size: sizes[at] ?? 0 }))
    const kept = sized.slice(first).filter(({ entry }) => !isSheddable(entry))
    hasOverrun = true
    dropped += entries.length - first - kept.length
    replace(
      kept.map(({ entry }) => entry),
      kept.map(({ size }) => size),
    )
  }
  return {
    isEmpty: () => first === entries.length,
    dropped: () => dropped,
    push(entry, size = 0) {
      const isFull = (): boolean => size > 0 && bytes + size > maxBytes
      if (isFull() && !hasOverrun) shed()
      if (isFull()) {
        dropped += 1
        return false
      }
      entries.push(entry)
      sizes.push(size + entryBytes)
      bytes += size + entryBytes
      intake.waiting += 1
      return true
    },
    unshift: (entry) => replace([entry, ...entries.slice(first)], [0, ...sizes.slice(first)]),
    size: () => entries.length - first,
    waiting: () => entries.slice(first),
    take(count) {
      const slice = entries.slice(first, first + count)
      for (let at = first; at < first + slice.length; at += 1) bytes -= sizes[at] ?? 0
      first += slice.length
      intake.waiting -= slice.length
      if (first < entries.length) return slice
      entries = []
      sizes = []
      bytes = 0
      first = 0
      hasOverrun = false
      return slice
    },
  }
}

const later = (run: () => void): void => void nextPbxTurn().then(run)

export function createInbox<Entry>(options: Options<Entry>): Inbox<Entry> {
  const { intake = { waiting: 0 }, maxBytes = MAX_BYTES, entryBytes = 0, defer = later } = options
  const queue = createBoundedQueue({ ...options, intake, maxBytes, entryBytes, defer })
  let isPaused = false
  let isStopped = false
  let isScheduled = false
  let receiver: ((slice: readonly Entry[]) => void) | undefined

  const hasSomething = (): boolean => isStopped || (!isPaused && !queue.isEmpty())
  function schedule(): void {
    if (isScheduled || receiver === undefined || !hasSomething()) return
    isScheduled = true
    defer(give)
  }
  function give(): void {
    isScheduled = false
    if (receiver === undefined || !hasSomething()) return
    const resolve = receiver
    receiver = undefined
    resolve(isStopped ? [] : queue.take(SLICE))
  }
  return {
    push(entry, bytes) {
      const isTaken = queue.push(entry, bytes)
      schedule()
      return isTaken
    },
    dropped: queue.dropped,
    unshift(entry) {
      queue.unshift(entry)
      schedule()
    },
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      schedule()
    },
    size: queue.size,
    waiting: queue.waiting,
    next() {
      const { promise, resolve } = Promise.withResolvers<readonly Entry[]>()
      receiver = resolve
      schedule()
      return promise
    },
    stop() {
      isStopped = true
      schedule()
    },
    drain: () => queue.take(Number.POSITIVE_INFINITY),
  }
}
