import type { CommitCounts } from '../../store.ts'
import type { Reply } from './batch.ts'
import { type Backend, createGroupCommit } from './group-commit.ts'
import type { Mutation, Tx } from './mutation.ts'
import { connect, prepareStore } from './open.ts'
import { type FromWriter, startWriter, type ToWriter } from './writer.ts'

/**
 * An open store. Reads see everything that was committed; a write resolves when it has the durability of its mutation.
 */
export type Database = {
  readonly read: Tx
  /**
   * Queues a mutation for the next group commit, and resolves with its result when the commit has the mutation's
   * durability.
   * @throws the error of the mutation, or Fault `unavailable` when the store cannot be written. In both cases its
   * writes were undone.
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

/** Opens the store of a file. @throws Fault when the file is damaged or of a newer version; it is not changed then. */
export function openDatabase(path: string, { thread }: DatabaseOptions = {}): Database {
  prepareStore(path)
  const callbacks: (() => void)[] = []
  const foreign = () => {
    for (const callback of callbacks) callback()
  }
  const mutations = new Map<string, Mutation<unknown, unknown>>()
  const backend = thread === undefined ? inline(path, mutations, foreign) : threaded(path, thread, foreign)
  const reader = connect(path, 'reader')
  const queue = createGroupCommit(backend, () => performance.now())
  return {
    read: reader.tx,
    commits: queue.counts,
    onForeignChange: (callback) => void callbacks.push(callback),
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
      reader.sqlite.close()
    },
  }
}

function inline(path: string, mutations: Map<string, Mutation<unknown, unknown>>, onForeign: () => void): Backend {
  const writer = startWriter(path, mutations, onForeign)
  return {
    run: (batch, done) => done(writer.run(batch)),
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
    run(batch, callback) {
      if (broken !== undefined) return callback([])
      done = callback
      send(batch)
    },
    async stop() {
      if (broken === undefined) send({ close: true })
      await closed.promise
      worker.terminate()
    },
  }
}
