import { Fault } from '../../../lib/fault.ts'
import type { CommitCounts } from '../../store.ts'
import { type Job, type Reply, resultOf } from './batch.ts'
import type { Durability } from './mutation.ts'
import type { Batch } from './writer.ts'

/** A write that waits for its commit. */
export type Write = {
  readonly job: Job
  readonly durability: Durability
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Commits batches, one at a time. */
export type Backend = {
  run(batch: Batch, done: (replies: readonly Reply[]) => void): void
  stop(): Promise<void>
}

/** A batch larger than this would make the first write in it wait for the last. */
const MAX_BATCH = 4_096
/**
 * The pause between two commits that do not wait for the disk. A commit costs as much as some 20 writes, so it pays to
 * collect more.
 */
const PACE_MS = 3
/** Writes of durability `crash` are on disk after this time at the latest: a power cut may undo no more. */
const DISK_WITHIN_MS = 100

/**
 * Collects writes while a commit runs, and commits those of one durability together. Writes that need not wait for the
 * disk have the first turn, in a commit of their own: on a slow disk, or beside a long commit of events, they would
 * hold up sending. The two take turns.
 */
export function createGroupCommit(backend: Backend, nowMs: () => number) {
  const counts: CommitCounts = { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 }
  const waiting: Record<Durability, Write[]> = { 'power cut': [], crash: [] }
  let running = false
  let scheduled = false
  let paced: Timer | undefined
  let lastDurability: Durability = 'power cut'
  let lastStartMs = Number.NEGATIVE_INFINITY
  let lastDurableMs = Number.NEGATIVE_INFINITY
  let whenIdle: (() => void)[] = []

  const count = () => {
    counts.waiting = waiting.crash.length + waiting['power cut'].length
  }

  function next(): void {
    scheduled = false
    if (running) return
    const isAwaited = waiting['power cut'].length > 0
    if (waiting.crash.length > 0 && !(isAwaited && lastDurability === 'crash')) commitSoon(isAwaited)
    else if (isAwaited) commit('power cut')
    else for (const callback of whenIdle.splice(0)) callback()
  }

  function commitSoon(isAwaited: boolean): void {
    const waitMs = lastStartMs + PACE_MS - nowMs()
    if (waitMs <= 0 || isAwaited || whenIdle.length > 0) commit('crash')
    else
      paced ??= setTimeout(() => {
        paced = undefined
        next()
      }, waitMs)
  }

  function commit(kind: Durability): void {
    clearTimeout(paced)
    paced = undefined
    const writes = waiting[kind].splice(0, MAX_BATCH)
    count()
    running = true
    lastStartMs = nowMs()
    lastDurability = kind
    const durability = lastStartMs - lastDurableMs > DISK_WITHIN_MS ? 'power cut' : kind
    if (durability === 'power cut') lastDurableMs = lastStartMs
    backend.run({ jobs: writes.map(({ job }) => job), durability }, (replies) => {
      running = false
      answerAll(writes, replies, counts, nowMs() - lastStartMs)
      next()
    })
  }

  return {
    counts,
    /** Adds a write to the next commit of its durability. */
    push(write: Write): void {
      waiting[write.durability].push(write)
      count()
      if (running || scheduled) return
      scheduled = true
      // At the end of this turn of the event loop, so that all its writes share a commit.
      setImmediate(next)
    },
    /** Resolves when no write is queued. */
    drained: () =>
      new Promise<void>((resolve) => {
        whenIdle = [...whenIdle, resolve]
        setImmediate(next)
      }),
  }
}

/** Resolves or rejects the writes of a batch, and counts them. */
function answerAll(writes: readonly Write[], replies: readonly Reply[], counts: CommitCounts, tookMs: number): void {
  counts.lastMs = tookMs
  counts.batches += 1
  counts.writes += writes.length
  for (const [index, write] of writes.entries()) answer(write, replies[index], counts)
}

function answer({ resolve, reject }: Write, reply: Reply | undefined, counts: CommitCounts): void {
  try {
    if (reply === undefined)
      throw new Fault('unavailable', 'cannot write to the store: the thread that writes to it has ended')
    resolve(resultOf(reply))
  } catch (error) {
    counts.failed += 1
    reject(error)
  }
}
