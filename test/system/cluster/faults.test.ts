import { describe, expect, test } from 'bun:test'
import { type FaultReport, runFaults } from '../../help/faults/run-faults.ts'
import { POSTGRES_MISSING } from '../../help/postgres.ts'
import { createRandom } from '../../help/random.ts'
import { scaled, seedOf } from '../../help/seed.ts'

/**
 * `TEST_SCALE=50 bun run test test/system/cluster/faults.test.ts` runs for more than an hour. `CLUSTER_LOGS` names a
 * folder for the nodes' output if something is wrong.
 */
const FAULTS = scaled(20)
const SEED = seedOf(20_261_122)
/** It ends a test that hangs. */
const LIMIT_MS = 900_000 + FAULTS * 30_000

const summaryOf = (all: readonly number[]) => {
  const times = all.toSorted((a, b) => a - b).map(Math.round)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? '-'
  return `${times.length} (p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms)`
}

const describeReport = (report: FaultReport) => {
  const { faults, events, calls, repeated, aloneMs, overlapping, handOverAloneMs, handOverMs, returned } = report
  const late = overlapping.filter(({ lateMs }) => lateMs > 0)
  return `${faults} faults, ${events} events of ${calls} calls, ${repeated} repeated; takeovers: ${summaryOf(aloneMs)} alone, ${summaryOf(
    overlapping.map(({ ms }) => ms),
  )} beside other faults, of these late: ${summaryOf(late.map(({ lateMs }) => lateMs))}; ${returned} came back before; hand-overs: ${summaryOf(
    handOverAloneMs,
  )} alone, ${summaryOf(handOverMs)} beside other faults`
}

describe.skipIf(POSTGRES_MISSING !== undefined)('three nodes on one database', () => {
  test(
    `lose, reorder and forget nothing, under faults of any kind: ${FAULTS} faults`,
    async () => {
      const done: string[] = []
      const report = await runFaults({
        faults: FAULTS,
        pauseMs: [300, 1_500],
        aloneEach: FAULTS > 20 ? 10 : 20,
        callsPerSecond: 5,
        random: createRandom(SEED),
        logs: process.env.CLUSTER_LOGS,
        onFault: ({ kind, isAlone }) => void done.push(isAlone ? `${kind} alone` : kind),
        onRound: (sum) => void process.stderr.write(`${describeReport(sum)}\n`),
      })
      process.stderr.write(`TEST_SEED=${SEED}: ${done.slice(-50).join(', ')}\n`)
      expect(report.wrong).toEqual([])
      // Calls that began and ended while nobody watched have no event; every other call has its start and its end.
      expect(report.calls).toBeGreaterThan(100)
    },
    LIMIT_MS,
  )
})
