import type { CommitCounts } from '../../store.ts'
import type { Reply } from './batch.ts'
import { type Backend, createGroupCommit, KEPT_PACE_MS, PACE_MS } from './group-commit.ts'
import type { Mutation, Tx } from './mutation.ts'
import { connect, prepareStore } from './open.ts'
import { type FromWriter, startWriter, type ToWriter } from './writer.ts'

/**
 * An open store. Reads see everything that was committed; a write resolves when it has the durability of its mutation.
 */
export type Database = {
  readonly path: string
  readonly read: Tx
  /**
   * Queues a mutation for the next group commit, and resolves with its result when the commit has the mutation's
   * durability.
   * @throws the error of the mutation, or Fault `unavailable` when the store cannot be written. In both cases its
   * writes were undone.
   */
  commit<Args, Result>(mutation: Mutation<Args, Result>, args: Args): Promise<Result>
  /** How many group commits there were, how many writes in them, and how many failed. */
  readonly commits: Readonly<CommitCounts>
  /** Returns whether the last commit of a durability failed, or has had no answer for seconds. */
  areCommitsFailing(): boolean
  stop(): Promise<void>
}

export type DatabaseOptions = {
  /** Makes the thread of src/app/writer.ts; without it this thread writes, which fits short commands and tests. */
  readonly thread?: () => Worker
  /** Called when that thread has ended by itself. */
  readonly onThreadEnded?: (error: Error) => void
  /** Whether outcomes survive a kill before they are committed: then more of them make one commit. */
  readonly areOutcomesKept?: boolean
  /** Whether `prepareStore` has prepared the store: checking a store takes a while. */
  readonly isPrepared?: boolean
}

/**
 * Ends the process by an error that nothing catches: it is unknown whether the last commit succeeded, so the memory may
 * disagree with the store. The next process begins from the store.
 */
function endProcess(error: Error): never {
  throw error
}

/** Opens the store of a file. @throws Fault when the file is damaged or of a newer version; it is not changed then. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Database {
  const { thread, onThreadEnded = endProcess, areOutcomesKept = false, isPrepared = false } = options
  if (!isPrepared) prepareStore(path)
  const mutations = new Map<string, Mutation<unknown, unknown>>()
  const backend = thread === undefined ? inline(path, mutations) : threaded(path, { thread, onEnded: onThreadEnded })
  const reader = connect(path, 'reader')
  const queue = createGroupCommit(backend, {
    nowMs: () => performance.now(),
    paceMs: areOutcomesKept ? KEPT_PACE_MS : PACE_MS,
  })
  return {
    path,
    read: reader,
    commits: queue.counts,
    areCommitsFailing: queue.isFailing,
    commit<Args, Result>(mutation: Mutation<Args, Result>, args: Args): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      if (thread === undefined) mutations.set(mutation.name, mutation)
      // The value comes from another thread without its type: the registry guarantees that it is the mutation's result.
      queue.push({
        job: [mutation.name, args],
        durability: mutation.durability,
        resolve: (value) => resolve(value as Result),
        reject,
      })
      return promise
    },
    async stop() {
      await queue.drained()
      await backend.stop()
      reader.close()
    },
  }
}

function inline(path: string, mutations: Map<string, Mutation<unknown, unknown>>): Backend {
  const writer = startWriter(path, mutations)
  return {
    run: (batch, done) => done(writer.run(batch)),
    stop: async () => writer.stop(),
  }
}

type Threaded = {
  readonly thread: () => Worker
  readonly onEnded: (error: Error) => void
}

function threaded(path: string, { thread, onEnded }: Threaded): Backend {
  const worker = thread()
  const closed = Promise.withResolvers<void>()
  let done: ((replies: readonly Reply[]) => void) | undefined
  let isEnded = false
  const send = (message: ToWriter) => worker.postMessage(message)
  const finish = (replies: readonly Reply[]) => {
    const callback = done
    done = undefined
    callback?.(replies)
  }
  const end = (reason: string) => {
    if (isEnded) return
    isEnded = true
    closed.resolve()
    finish([])
    onEnded(new Error(`the thread that writes to the store has ended: ${reason}`))
  }
  worker.addEventListener('message', ({ data }: MessageEvent<FromWriter>) => {
    if (data === 'closed') {
      isEnded = true
      closed.resolve()
    } else if ('failed' in data) end(data.failed)
    else finish(data.replies)
  })
  // The message begins with the line of the source; the error follows it.
  worker.addEventListener('error', ({ message }) => end(/^error: (.+)$/m.exec(message)?.[1] ?? message))
  // The thread ended itself, without an error.
  worker.addEventListener('close', () => end('it gave no reason'))
  send({ open: path })
  return {
    run(batch, callback) {
      if (isEnded) return callback([])
      done = callback
      send(batch)
    },
    async stop() {
      if (!isEnded) send({ close: true })
      await closed.promise
      worker.terminate()
    },
  }
}
