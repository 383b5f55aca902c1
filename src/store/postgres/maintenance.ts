import { Fault } from '../../lib/fault.ts'
import type { MaintenanceStore } from '../operations/maintenance.ts'
import type { Query } from './engine/client.ts'
import type { Database } from './engine/database.ts'
import { pruneDeliveries } from './retention.ts'

/** Creates the maintenance operations that are the engine's own. */
export function createMaintenanceStore(
  db: Database,
): Pick<MaintenanceStore, 'writeProbe' | 'deliveryPrune' | 'fileFaults'> {
  const { read, maintenance, transaction } = db
  return {
    async writeProbe() {
      await transaction((query) => query('UPDATE clock SET probed = probed + 1'))
      // Needs no disk space and uses another table, so it succeeds when other writes do not.
      if (db.eventCommits.isFailing() || db.outcomeCommits.isFailing())
        throw new Fault('unavailable', `the last commit to the database ${db.name} failed: it is tried again`)
    },
    deliveryPrune: (step) => pruneDeliveries(maintenance, step),
    fileFaults: () => fileFaults(read),
  }
}

/** Returns the damage that the server found in the database's files; it checks them if their pages have checksums. */
async function fileFaults(read: Query): Promise<string[]> {
  const [row] = await read<{ count: number }>(
    'SELECT coalesce(checksum_failures, 0) AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  const count = row?.count ?? 0
  return count === 0 ? [] : [`the server found ${count} pages of the database with a wrong checksum`]
}
