import { Fault } from '../../../lib/fault.ts'
import { newFifo } from '../../../lib/fifo.ts'
import type { CommitWatch } from '../../commit-watch.ts'
import type { CommitCounts } from '../../store.ts'

/** A group larger than this would make the first write in it wait for the last. */
const MAX_ROWS = 4_096

type Waiting<Job, Result> = {
  readonly job: Job
  resolve(result: Result): void
  reject(error: unknown): void
}

export type GroupCommit<Job, Result> = {
  /** Resolves when this write is durable. */
  push(job: Job): Promise<Result>
  /** Resolves when no write is waiting. */
  drained(): Promise<void>
}

type GroupOptions<Job, Result> = {
  readonly counts: CommitCounts
  readonly watch?: CommitWatch
  readonly rowsOf: (job: Job) => number
  /** Writes jobs in their order with one statement; an Error in the place of a result is what that job rejects with. */
  readonly write: (jobs: readonly Job[]) => Promise<(Result | Error)[]>
  /** Returns the ids of the rows that a job changes, because a statement may change each row once; by default none. */
  readonly changedBy?: (job: Job) => readonly number[]
}

/** Collects jobs while the statement before runs, and writes them together: there is no other wait. */
export function groupCommit<Job, Result>(options: GroupOptions<Job, Result>): GroupCommit<Job, Result> {
  const { counts, watch, rowsOf, write, changedBy = () => [] } = options
  const waiting = newFifo<Waiting<Job, Result>>()
  let running: Promise<void> | undefined

  function nextGroup(): Waiting<Job, Result>[] {
    const group: Waiting<Job, Result>[] = []
    const changed = new Set<number>()
    let rows = 0
    for (let next = waiting.peek(); next !== undefined; next = waiting.peek()) {
      rows += rowsOf(next.job)
      const ids = changedBy(next.job)
      if (group.length > 0 && (rows > MAX_ROWS || ids.some((id) => changed.has(id)))) break
      for (const id of ids) changed.add(id)
      waiting.shift()
      group.push(next)
    }
    counts.waiting = waiting.size
    return group
  }
  async function runGroup(group: readonly Waiting<Job, Result>[]): Promise<void> {
    const startedMs = performance.now()
    counts.batches += 1
    const ended = watch?.begin()
    try {
      const results = await write(group.map(({ job }) => job))
      ended?.(false)
      counts.writes += group.length
      group.forEach((one, index) => {
        const result = results[index]
        if (result === undefined || result instanceof Error) {
          counts.failed += 1
          one.reject(result ?? new Error('no result'))
        } else one.resolve(result)
      })
    } catch (error) {
      ended?.(error instanceof Fault && error.code === 'unavailable')
      // An error in one of them must not affect the others.
      const isAllOfThem = group.length === 1 || error instanceof Fault
      if (!isAllOfThem) return await eachAlone(group)
      counts.writes += group.length
      counts.failed += group.length
      for (const { reject } of group) reject(error)
    } finally {
      counts.lastMs = performance.now() - startedMs
    }
  }
  async function eachAlone(group: readonly Waiting<Job, Result>[]): Promise<void> {
    for (const one of group) await runGroup([one])
  }
  async function run(): Promise<void> {
    // All writes of one turn of the event loop share a statement.
    await new Promise<void>((resolve) => void setImmediate(resolve))
    while (waiting.size > 0) await runGroup(nextGroup())
    running = undefined
  }
  return {
    push: (job) =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ job, resolve, reject })
        counts.waiting = waiting.size
        running ??= run()
      }),
    async drained() {
      while (running !== undefined) await running
    },
  }
}
