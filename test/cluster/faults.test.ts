import { describe, expect, test } from 'bun:test'
import { runFaults } from '../help/cluster-faults.ts'
import { POSTGRES_MISSING } from '../help/postgres.ts'
import { createRandom } from '../help/random.ts'

/** With `CLUSTER_FAULTS=1000 bun test test/cluster/faults.test.ts` it goes on for an hour or so. */
const FAULTS = Number(process.env.CLUSTER_FAULTS ?? 6)
const SEED = Number(process.env.CLUSTER_SEED ?? 20_261_122)

describe.skipIf(POSTGRES_MISSING !== undefined)('three nodes on one database', () => {
  test(`lose, reorder and forget nothing, under faults of any kind: ${FAULTS} faults`, async () => {
    const done: string[] = []
    const report = await runFaults({
      faults: FAULTS,
      pauseMs: [1_000, 3_000],
      callsPerSecond: 10,
      random: createRandom(SEED),
      onFault: (what) => void done.push(what),
    })
    const summaryOf = (ms: readonly number[]) => {
      const times = ms.toSorted((a, b) => a - b).map(Math.round)
      const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? '-'
      return `${times.length} (p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms)`
    }
    const { events, calls, repeated, wrong, takeoverMs, handOverMs } = report
    process.stderr.write(
      `${events} events of ${calls} calls, ${repeated} repeated; takeovers: ${summaryOf(takeoverMs)}; ` +
        `hand-overs: ${summaryOf(handOverMs)}; CLUSTER_SEED=${SEED}: ${done.join(', ')}\n`,
    )
    expect(wrong).toEqual([])
    // What began and ended while nobody listened has no event; every other call has its start and its end.
    expect(calls).toBeGreaterThan(100)
  })
})
