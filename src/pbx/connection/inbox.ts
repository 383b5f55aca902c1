/** How many entries of all PBXs together are not handled yet. */
export type Intake = { waiting: number }

/**
 * The queue between the socket of a PBX and the tracker. The socket's callback only puts entries in; a session takes
 * them out in slices, between which the sockets are read, since a PBX drops a client that does not read.
 *
 * Bounded by bytes: when it is full, sheddable entries are dropped first, then new ones. Either way something is
 * missing, which `push` reports once, until the inbox has been empty again.
 */
export type Inbox<Entry> = {
  /** Appends an entry of that size. Returns how many entries were dropped when an overrun begins, else `undefined`. */
  push(entry: Entry, bytes?: number): number | undefined
  /** Puts an entry before all others. */
  unshift(entry: Entry): void
  /** Gives nothing out until `resume`. */
  pause(): void
  resume(): void
  /** Returns the entries that wait, in order. */
  waiting(): readonly Entry[]
  /**
   * Resolves with the next slice, in a later turn of the event loop than its `push`; with an empty one after `stop`.
   */
  next(): Promise<readonly Entry[]>
  /** Ends `next`; entries that wait are left to `drain`. */
  stop(): void
  /** Takes out all entries that wait, paused or not. */
  drain(): readonly Entry[]
}

type Options<Entry> = {
  readonly isSheddable: (entry: Entry) => boolean
  readonly intake?: Intake
  readonly maxBytes?: number
  readonly defer?: (run: () => void) => void
}

/** Some 600,000 frames of Asterisk: half a minute of 20,000 events a second while nothing at all is handled. */
const MAX_BYTES = 256 * 1024 * 1024
/** Some 2 ms of tracking. */
const SLICE = 256

/** Returns an empty inbox, which is not paused. */
export function createInbox<Entry>(options: Options<Entry>): Inbox<Entry> {
  const { isSheddable, intake = { waiting: 0 }, maxBytes = MAX_BYTES, defer = setImmediate } = options
  let entries: Entry[] = []
  /** The size of each of `entries`. */
  let sizes: number[] = []
  let bytes = 0
  /** The place of the first entry that waits. */
  let first = 0
  let isPaused = false
  let isStopped = false
  let isScheduled = false
  let hasOverrun = false
  let receiver: ((slice: readonly Entry[]) => void) | undefined

  const isEmpty = (): boolean => first === entries.length

  /** Takes out that many entries. */
  function take(count: number): readonly Entry[] {
    const slice = entries.slice(first, first + count)
    for (let at = first; at < first + slice.length; at += 1) bytes -= sizes[at] ?? 0
    first += slice.length
    intake.waiting -= slice.length
    if (isEmpty()) {
      entries = []
      sizes = []
      bytes = 0
      first = 0
      hasOverrun = false
    }
    return slice
  }
  function schedule(): void {
    const hasNothing = !isStopped && (isPaused || isEmpty())
    if (isScheduled || receiver === undefined || hasNothing) return
    isScheduled = true
    defer(give)
  }
  function give(): void {
    isScheduled = false
    if (receiver === undefined || (!isStopped && (isPaused || isEmpty()))) return
    const resolve = receiver
    receiver = undefined
    resolve(isStopped ? [] : take(SLICE))
  }
  /**
   * Drops what is sheddable, once in an overrun: searching all of it for each new entry would cost more than handling
   * it.
   */
  function shed(): number {
    const before = entries.length - first
    const sized = entries.map((entry, at) => ({ entry, size: sizes[at] ?? 0 }))
    const kept = sized.slice(first).filter(({ entry }) => !isSheddable(entry))
    entries = kept.map(({ entry }) => entry)
    sizes = kept.map(({ size }) => size)
    bytes = sizes.reduce((sum, one) => sum + one, 0)
    first = 0
    hasOverrun = true
    intake.waiting += entries.length - before
    return before - entries.length
  }

  return {
    push(entry, size = 1) {
      const dropped = bytes + size > maxBytes && !hasOverrun ? shed() : undefined
      if (bytes + size > maxBytes) return dropped
      entries.push(entry)
      sizes.push(size)
      bytes += size
      intake.waiting += 1
      schedule()
      return dropped
    },
    unshift(entry) {
      entries = [entry, ...entries.slice(first)]
      sizes = [0, ...sizes.slice(first)]
      first = 0
      intake.waiting += 1
      schedule()
    },
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      schedule()
    },
    waiting: () => entries.slice(first),
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
    drain: () => take(entries.length - first),
  }
}
