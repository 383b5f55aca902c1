import { expect, test } from 'bun:test'
import { groupCommit } from '../../../src/store/postgres/engine/group-commit.ts'

type Job = { readonly at: number; readonly rows: number; readonly ids: readonly number[] }

const MAX_ROWS = 4_096

/** Writes jobs by a group commit, a part of them while others are written. Returns its groups, and its results. */
async function commit(jobs: readonly Job[], refused: (job: Job) => Error | undefined = () => undefined) {
  const counts = { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 }
  const groups: Job[][] = []
  const waiting: number[] = []
  const rest = [...jobs]
  const results: Promise<unknown>[] = []
  const give = (count: number) => {
    for (const job of rest.splice(0, count)) results.push(group.push(job).catch((error: Error) => error.message))
  }
  const group = groupCommit<Job, number>({
    counts,
    rowsOf: ({ rows }) => rows,
    changedBy: ({ ids }) => ids,
    async write(some) {
      groups.push([...some])
      waiting.push(counts.waiting)
      give(3)
      await Promise.resolve()
      return some.map((job) => refused(job) ?? job.at)
    },
  })
  give(jobs.length / 2)
  await group.drained()
  return { groups, waiting, counts, results: await Promise.all(results) }
}

test('each job is written once and in its order, with as many others as a statement may take', async () => {
  // Every 5th job fills a statement by itself, and neighbours often change the same.
  const jobs = Array.from({ length: 2_000 }, (_, at) => ({
    at,
    rows: at % 5 === 0 ? MAX_ROWS : 700,
    ids: [Math.floor(at / 3) % 7],
  }))
  const { groups, waiting, counts, results } = await commit(jobs)
  expect(groups.flat().map(({ at }) => at)).toEqual(jobs.map(({ at }) => at))
  expect(results).toEqual(jobs.map(({ at }) => at))
  for (const group of groups) {
    const ids = group.flatMap((job) => job.ids)
    expect(new Set(ids).size).toBe(ids.length)
    if (group.length > 1) expect(group.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(MAX_ROWS)
  }
  expect(groups.some((group) => group.length > 1)).toBe(true)
  // Before each group: the jobs of the first half without a group, and the jobs given while earlier groups were
  // written.
  let written = 0
  for (const [at, group] of groups.entries()) {
    written += group.length
    expect(waiting[at]).toBe(Math.min(jobs.length, jobs.length / 2 + 3 * at) - written)
  }
  expect(counts).toMatchObject({ batches: groups.length, writes: jobs.length, failed: 0, waiting: 0 })
})

test('a job that is refused affects no other', async () => {
  const jobs = Array.from({ length: 6 }, (_, at) => ({ at, rows: 1, ids: [at] }))
  const { results, counts } = await commit(jobs, ({ at }) => (at === 1 ? new Error('not this one') : undefined))
  expect(results).toEqual([0, 'not this one', 2, 3, 4, 5])
  expect(counts).toMatchObject({ writes: 6, failed: 1, waiting: 0 })
})
