import { newFifo } from '../../lib/fifo.ts'
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
  /**
   * Resolves when few entries wait; `undefined` if few do. There is always room before the first `next`, and while the
   * inbox is paused: what is waited for then arrives behind the entries.
   */
  room(): Promise<void> | undefined
  /** Stops giving out entries until a `resume` for each `pause`: several lists may be awaited at a time. */
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
  /** Few entries wait while they take less than this. */
  readonly aheadBytes?: number
  /** The memory of an entry beside its bytes. */
  readonly entryBytes?: number
  readonly defer?: (run: () => void) => void
}

/** While a list is awaited: some 45,000 frames of Asterisk with their objects, two seconds at 20,000 events/s. */
const MAX_BYTES = 64 * 1024 * 1024
/**
 * Else: some 600 of them, two slices. Further frames wait as bytes, which take a third of the memory, and a frame that
 * dies young costs far less than one that survives a collection of garbage.
 */
const AHEAD_BYTES = 1024 * 1024
/** Some 2 ms of tracking. */
export const SLICE = 256

type BoundedQueue<Entry> = Pick<Inbox<Entry>, 'push' | 'dropped' | 'unshift' | 'size' | 'waiting'> & {
  bytes(): number
  /** Removes and returns the first `count` entries. */
  take(count: number): readonly Entry[]
}

type QueueOptions<Entry> = Required<Omit<Options<Entry>, 'aheadBytes' | 'defer'>>

function createBoundedQueue<Entry>(options: QueueOptions<Entry>): BoundedQueue<Entry> {
  const { isSheddable, intake, maxBytes, entryBytes } = options
  let queue = newFifo<{ readonly entry: Entry; readonly size: number }>()
  let bytes = 0
  let hasOverrun = false
  let dropped = 0

  const add = (entry: Entry, size: number): void => {
    queue.push({ entry, size })
    bytes += size
    intake.waiting += 1
  }
  /**
   * Drops sheddable entries, once per overrun: searching all entries for each new one would cost more than processing
   * it.
   */
  const shed = (): void => {
    const all = queue.values()
    queue = newFifo()
    bytes = 0
    intake.waiting -= all.length
    for (const { entry, size } of all) if (!isSheddable(entry)) add(entry, size)
    hasOverrun = true
    dropped += all.length - queue.size
  }
  return {
    bytes: () => bytes,
    dropped: () => dropped,
    push(entry, size = 0) {
      const isFull = (): boolean => size > 0 && bytes + size > maxBytes
      if (isFull() && !hasOverrun) shed()
      if (isFull()) {
        dropped += 1
        return false
      }
      add(entry, size + entryBytes)
      return true
    },
    unshift(entry) {
      queue.unshift({ entry, size: 0 })
      intake.waiting += 1
    },
    size: () => queue.size,
    waiting: () => queue.values().map(({ entry }) => entry),
    take(count) {
      const taken: Entry[] = []
      for (let next = queue.peek(); next !== undefined && taken.length < count; next = queue.peek()) {
        queue.shift()
        bytes -= next.size
        taken.push(next.entry)
      }
      intake.waiting -= taken.length
      if (queue.size === 0) hasOverrun = false
      return taken
    },
  }
}

const later = (run: () => void): void => void nextPbxTurn().then(run)

export function createInbox<Entry>(options: Options<Entry>): Inbox<Entry> {
  const { intake = { waiting: 0 }, maxBytes = MAX_BYTES, aheadBytes = AHEAD_BYTES, defer = later } = options
  const { isSheddable, entryBytes = 0 } = options
  const queue = createBoundedQueue({ isSheddable, intake, maxBytes, entryBytes })
  /** Called when few entries wait. */
  let waiters: (() => void)[] = []
  let pauses = 0
  let isStopped = false
  let isScheduled = false
  let isAsked = false
  let receiver: ((slice: readonly Entry[]) => void) | undefined

  const hasRoom = (): boolean => !isAsked || pauses > 0 || isStopped || queue.bytes() < aheadBytes
  function releaseWaiters(): void {
    if (!hasRoom()) return
    const released = waiters
    waiters = []
    for (const resolve of released) resolve()
  }
  function take(count: number): readonly Entry[] {
    const taken = queue.take(count)
    releaseWaiters()
    return taken
  }
  const hasSomething = (): boolean => isStopped || (pauses === 0 && queue.size() > 0)
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
    resolve(isStopped ? [] : take(SLICE))
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
    room: () => (hasRoom() ? undefined : new Promise((resolve) => void waiters.push(resolve))),
    pause() {
      pauses += 1
      releaseWaiters()
    },
    resume() {
      pauses = Math.max(0, pauses - 1)
      schedule()
    },
    size: queue.size,
    waiting: queue.waiting,
    next() {
      const { promise, resolve } = Promise.withResolvers<readonly Entry[]>()
      receiver = resolve
      isAsked = true
      schedule()
      return promise
    },
    stop() {
      isStopped = true
      releaseWaiters()
      schedule()
    },
    drain: () => take(Number.POSITIVE_INFINITY),
  }
}
