import { Fault } from '../../lib/fault.ts'
import type { CommitCounts } from '../records.ts'
import { type Job, type Reply, settle } from './batch.ts'
import type { Mutation, Tx } from './mutation.ts'
import { connect, prepareStore } from './open.ts'
import { type FromWriter, startWriter, type ToWriter } from './writer.ts'

/** The store. Reads see all that was committed; a write resolves once it is on disk. */
export type Database = {
  readonly read: Tx
  /**
   * Queues a mutation for the next group commit and resolves with its result when that commit is durable.
   * @throws Fault whatever the mutation threw, or `unavailable` when the store cannot be written: then nothing of it was kept.
   */
  commit<Args, Result>(mutation: Mutation<Args, Result>, args: Args): Promise<Result>
  /** Calls back, within a second, after another process wrote to the store: what was cached of it is stale. */
  onForeignChange(callback: () => void): void
  /** How many group commits there were, how many writes in them, and how many failed. */
  readonly commits: Readonly<CommitCounts>
  stop(): Promise<void>
}

export type DatabaseOptions = {
  /** Makes the thread that runs src/writer.ts; without it this thread writes, which fits short commands and tests. */
  readonly thread?: () => Worker
}

/** A batch larger than this would make the first write in it wait for the last. */
const MAX_BATCH = 4_096

type Waiting = { job: Job; resolve: (value: unknown) => void; reject: (error: unknown) => void }
type Backend = { run(jobs: readonly Job[], done: (replies: readonly Reply[]) => void): void; stop(): Promise<void> }

/** @throws Fault when the file is damaged or of a newer version: it is left as it is. */
export function openDatabase(path: string, { thread }: DatabaseOptions = {}): Database {
  prepareStore(path)
  const callbacks: (() => void)[] = []
  const foreign = () => {
    for (const callback of callbacks) callback()
  }
  const mutations = new Map<string, Mutation<unknown, unknown>>()
  const backend = thread === undefined ? inline(path, mutations, foreign) : threaded(path, thread, foreign)
  const reader = connect(path, 'reader')
  const queue = groupCommit(backend)
  return {
    read: reader.tx,
    commits: queue.counts,
    onForeignChange: (callback) => void callbacks.push(callback),
    commit<Args, Result>(mutation: Mutation<Args, Result>, args: Args): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      if (thread === undefined) mutations.set(mutation.name, mutation)
      // What comes back crossed a thread: that it is the mutation's own result is the registry's promise.
      queue.push({ job: [mutation.name, args], resolve: (value) => resolve(value as Result), reject })
      return promise
    },
    async stop() {
      await queue.drained()
      await backend.stop()
      reader.sqlite.close()
    },
  }
}

/** Collects writes while a commit runs; there is no other wait. */
function groupCommit(backend: Backend) {
  const counts: CommitCounts = { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 }
  let waiting: Waiting[] = []
  let running = false
  let scheduled = false
  let whenIdle: (() => void)[] = []

  const next = () => {
    scheduled = false
    if (running) return
    if (waiting.length === 0) {
      for (const callback of whenIdle.splice(0)) callback()
      return
    }
    const batch = waiting.length > MAX_BATCH ? waiting.splice(0, MAX_BATCH) : waiting
    if (batch === waiting) waiting = []
    counts.waiting = waiting.length
    running = true
    const startedMs = performance.now()
    backend.run(
      batch.map(({ job }) => job),
      (replies) => {
        running = false
        counts.batches += 1
        counts.writes += batch.length
        counts.lastMs = performance.now() - startedMs
        batch.forEach((one, index) => {
          answer(one, replies[index], counts)
        })
        next()
      },
    )
  }
  return {
    counts,
    push(one: Waiting) {
      waiting.push(one)
      counts.waiting = waiting.length
      if (running || scheduled) return
      scheduled = true
      // At the end of this turn of the event loop: all that one turn writes shares a commit.
      setImmediate(next)
    },
    drained: () =>
      new Promise<void>((resolve) => {
        whenIdle = [...whenIdle, resolve]
        setImmediate(next)
      }),
  }
}

function answer({ resolve, reject }: Waiting, reply: Reply | undefined, counts: CommitCounts): void {
  try {
    if (reply === undefined) throw new Fault('unavailable', 'the writer of the store has ended')
    resolve(settle(reply))
  } catch (error) {
    counts.failed += 1
    reject(error)
  }
}

function inline(path: string, mutations: Map<string, Mutation<unknown, unknown>>, onForeign: () => void): Backend {
  const writer = startWriter(path, mutations, onForeign)
  return {
    run: (jobs, done) => done(writer.run(jobs)),
    stop: async () => writer.stop(),
  }
}

function threaded(path: string, thread: () => Worker, onForeign: () => void): Backend {
  const worker = thread()
  const closed = Promise.withResolvers<void>()
  let done: ((replies: readonly Reply[]) => void) | undefined
  let broken: Error | undefined
  const send = (message: ToWriter) => worker.postMessage(message)
  const finish = (replies: readonly Reply[]) => {
    const callback = done
    done = undefined
    callback?.(replies)
  }
  worker.addEventListener('message', ({ data }: MessageEvent<FromWriter>) => {
    if (data === 'foreign') onForeign()
    else if (data === 'closed') closed.resolve()
    else finish(data.replies)
  })
  worker.addEventListener('error', (event) => {
    broken = new Error(`the writer's thread ended: ${event.message}`)
    closed.resolve()
    finish([])
  })
  send({ open: path })
  return {
    run(jobs, callback) {
      if (broken !== undefined) return callback([])
      done = callback
      send({ jobs })
    },
    async stop() {
      if (broken === undefined) send({ close: true })
      await closed.promise
      worker.terminate()
    },
  }
}
