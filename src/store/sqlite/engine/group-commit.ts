import { startDeadline } from '../../../lib/deadline.ts'
import { Fault } from '../../../lib/fault.ts'
import { type CommitWatch, createCommitWatch } from '../../commit-watch.ts'
import type { CommitCounts } from '../../store.ts'
import { type Job, type Reply, resultOfReply } from './batch.ts'
import type { Durability } from './mutation.ts'
import type { Batch } from './writer.ts'

/** A write that waits for its commit. */
type Write = {
  readonly job: Job
  readonly durability: Durability
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type Options = {
  readonly nowMs: () => number
  readonly paceMs: number
  readonly after?: typeof startDeadline
}

/** Commits batches, one at a time. */
export type Backend = {
  run(batch: Batch, done: (replies: readonly Reply[]) => void): void
  stop(): Promise<void>
}

/** A batch larger than this would make the first write in it wait for the last. */
const MAX_BATCH = 4_096
/**
 * The shortest time between two commits that do not wait for the disk. A commit costs as much as some 20 writes, so it
 * pays to collect more; on a fast disk, events that come one after the other then do not wait for a commit each.
 */
export const PACE_MS = 3
/** The same while outcomes survive a kill before they are committed, so that hundreds of them are one commit. */
export const KEPT_PACE_MS = 20
/** Writes of durability `crash` are on disk after this time at the latest, which limits the loss in a power cut. */
const DISK_WITHIN_MS = 100
/** Events and outcomes that could not be written are tried again four times a second. */
const FORGET_MS = 2_000

/**
 * Collects writes while a commit runs, and commits writes of one durability together. Writes that need not wait for the
 * disk have the first turn every `paceMs`, in a commit of their own: on a slow disk, or beside a long commit of
 * events, they would delay sending. Then the two take turns.
 */
export function createGroupCommit(backend: Backend, { nowMs, paceMs, after = startDeadline }: Options) {
  const counts: CommitCounts = { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 }
  const waiting: Record<Durability, Write[]> = { 'power cut': [], crash: [] }
  const newWatch = () => createCommitWatch({ nowMs, after, forgetMs: FORGET_MS })
  const watches: Readonly<Record<Durability, CommitWatch>> = { 'power cut': newWatch(), crash: newWatch() }
  let running = false
  let scheduled = false
  let paced: Timer | undefined
  let lastDurability: Durability = 'power cut'
  let lastQuickMs = Number.NEGATIVE_INFINITY
  let lastDurableMs = Number.NEGATIVE_INFINITY
  let whenIdle: (() => void)[] = []

  const count = () => {
    counts.waiting = waiting.crash.length + waiting['power cut'].length
  }

  function next(): void {
    scheduled = false
    if (running) return
    const isAwaited = waiting['power cut'].length > 0
    const hasQuick = waiting.crash.length > 0
    const waitMs = whenIdle.length > 0 ? 0 : lastQuickMs + paceMs - nowMs()
    if (hasQuick && waitMs <= 0 && !(isAwaited && lastDurability === 'crash')) commit('crash')
    else if (isAwaited) commit('power cut')
    else if (hasQuick) paced ??= setTimeout(resume, waitMs)
    else for (const callback of whenIdle.splice(0)) callback()
  }

  function resume(): void {
    paced = undefined
    next()
  }

  function commit(kind: Durability): void {
    clearTimeout(paced)
    paced = undefined
    const writes = waiting[kind].splice(0, MAX_BATCH)
    count()
    running = true
    const startMs = nowMs()
    lastDurability = kind
    if (kind === 'crash') lastQuickMs = startMs
    const durability = startMs - lastDurableMs > DISK_WITHIN_MS ? 'power cut' : kind
    if (durability === 'power cut') lastDurableMs = startMs
    const ended = watches[kind].begin()
    backend.run({ jobs: writes.map(({ job }) => job), durability }, (replies) => {
      running = false
      ended(replies.length < writes.length || replies.some(isRefused))
      answerAll(writes, replies, counts, nowMs() - startMs)
      next()
    })
  }

  return {
    counts,
    /** Returns whether the last commit of a durability could not be written, or has had no answer for seconds. */
    isFailing: (): boolean => watches['power cut'].isFailing() || watches.crash.isFailing(),
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

/** Mutations have faults of other codes: this one says that nothing of its batch was written. */
const isRefused = (reply: Reply): boolean => 'fault' in reply && reply.fault.code === 'unavailable'

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
    resolve(resultOfReply(reply))
  } catch (error) {
    counts.failed += 1
    reject(error)
  }
}
