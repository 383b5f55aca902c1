import { Fault } from '../../../lib/fault.ts'
import type { MaintenanceStore } from '../../operations/maintenance.ts'
import type { Query } from '../engine/client.ts'
import type { Database } from '../engine/database.ts'
import { readClock, setClock } from './clock.ts'
import { readCondition } from './condition.ts'
import { eraseCalls, eraseLive, findCallsOf } from './erase.ts'
import { pruneCalls, pruneDeliveries, pruneSecrets, pruneWebhooks } from './retention.ts'
import { findWrong } from './verify.ts'

/** Creates the maintenance operations of the engine. */
export function createMaintenanceStore(db: Database): MaintenanceStore {
  const { read, maintenance, transaction, change } = db
  const slowly = maintenance.transaction
  return {
    async writeProbe() {
      await transaction((query) => query('UPDATE clock SET probed = probed + 1'))
      // This needs no room on the disk, and another table: it succeeds where nothing else does.
      if (db.eventCommits.isFailing() || db.outcomeCommits.isFailing())
        throw new Fault('unavailable', `the last commit to the database ${db.name} failed: it is tried again`)
    },
    clockGet: () => readClock(read),
    clockSet: (clock) => change((query) => setClock(query, clock)),
    deliveryPrune: (step) => pruneDeliveries(maintenance, step),
    webhookPrune: (limit) => slowly((query) => pruneWebhooks(query, limit)),
    secretPrune: (step) => slowly((query) => pruneSecrets(query, step)),
    callPrune: (step) => slowly((query) => pruneCalls(query, step)),
    callListWithNumber: (number) => findCallsOf(maintenance.read, number),
    callErase: (ids) => slowly((query) => eraseCalls(query, ids)),
    liveCallErase: (number) => slowly((query) => eraseLive(query, number)),
    verify: () => slowly((query) => findWrong(query)),
    fileFaults: () => fileFaults(read),
    conditionGet: (sinceUs) => readCondition(read, sinceUs),
  }
}

/**
 * Returns the damages that the server found in the files of this database; it checks them if their pages have
 * checksums.
 */
async function fileFaults(read: Query): Promise<string[]> {
  const [row] = await read<{ count: number }>(
    'SELECT coalesce(checksum_failures, 0)::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  const count = row?.count ?? 0
  return count === 0 ? [] : [`the server found ${count} pages of the database with a wrong checksum`]
}
