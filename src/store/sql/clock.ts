import { sql } from 'drizzle-orm'
import type { MaintenanceStore, SteppedClock } from '../operations/maintenance.ts'
import { type Declarations, read, write } from './operation.ts'
import { either, first, run, type Work } from './statement.ts'

type Clock = Awaited<ReturnType<MaintenanceStore['clockGet']>>

/** The latest steady time of a delivery; NULL without one. */
const LAST_STEADY = either({
  sqlite: sql`(SELECT since FROM deliveries ORDER BY id DESC LIMIT 1)`,
  postgres: sql`greatest((SELECT since FROM pending_deliveries ORDER BY id DESC LIMIT 1),
    (SELECT since FROM ended_deliveries ORDER BY id DESC LIMIT 1))`,
})

function* readClock(): Work<Clock> {
  const row = yield* first<SteppedClock & { lastSteadyUs: number | null; newestEventUs: number | null }>(sql`
    SELECT stepped AS "steppedUs", prune_from AS "pruneFromUs", ${LAST_STEADY} AS "lastSteadyUs",
      (SELECT at FROM events ORDER BY id DESC LIMIT 1) AS "newestEventUs" FROM clock`)
  const { steppedUs = 0, pruneFromUs = 0, lastSteadyUs, newestEventUs } = row ?? {}
  return { steppedUs, pruneFromUs, lastSteadyUs: lastSteadyUs ?? 0, newestEventUs: newestEventUs ?? undefined }
}

/** The operations on the difference of wall clock and steady clock. */
export const CLOCK: Declarations<Pick<MaintenanceStore, 'clockGet' | 'clockSet'>> = {
  clockGet: read(readClock),
  clockSet: write(({ steppedUs, pruneFromUs }) =>
    run(sql`UPDATE clock SET stepped = ${steppedUs}, prune_from = ${pruneFromUs}`),
  ),
}
