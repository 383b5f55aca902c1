import type { MaintenanceStore, SteppedClock } from '../../operations/maintenance.ts'
import type { Query } from '../engine/client.ts'

/** For a statement: turns steady time into the wall clock's, and back. */
export const STEPPED = '(SELECT stepped FROM clock)'

/** Returns how far the wall clock was set, and the latest times that the store knows of. */
export async function readClock(read: Query): ReturnType<MaintenanceStore['clockGet']> {
  const [row] = await read<SteppedClock & { lastSteadyUs: number | null; newestEventUs: number | null }>(
    `SELECT stepped::float8 AS "steppedUs", prune_from::float8 AS "pruneFromUs",
       greatest((SELECT since FROM pending_deliveries ORDER BY id DESC LIMIT 1),
         (SELECT since FROM ended_deliveries ORDER BY id DESC LIMIT 1))::float8 AS "lastSteadyUs",
       (SELECT at FROM events ORDER BY id DESC LIMIT 1)::float8 AS "newestEventUs" FROM clock`,
  )
  const { steppedUs = 0, pruneFromUs = 0, lastSteadyUs, newestEventUs } = row ?? {}
  return { steppedUs, pruneFromUs, lastSteadyUs: lastSteadyUs ?? 0, newestEventUs: newestEventUs ?? undefined }
}

/** Stores how far the wall clock was set. */
export async function setClock(query: Query, { steppedUs, pruneFromUs }: SteppedClock): Promise<void> {
  await query('UPDATE clock SET stepped = $1::bigint, prune_from = $2::bigint', [steppedUs, pruneFromUs])
}
