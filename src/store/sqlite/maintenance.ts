import type { MaintenanceStore } from '../operations/maintenance.ts'
import type { Database } from './engine/database.ts'
import type { Tx } from './engine/mutation.ts'
import { versionOf } from './engine/open.ts'
import { prepared } from './engine/prepared.ts'
import { schemaDifference } from './engine/schema.ts'
import { probeWrite } from './engine/write-probe.ts'
import { pruneDeliveries } from './retention.ts'

/** Creates the maintenance operations that are the engine's own. */
export function createMaintenanceStore({
  read,
  commit,
}: Database): Pick<MaintenanceStore, 'writeProbe' | 'deliveryPrune' | 'fileFaults'> {
  return {
    writeProbe: () => commit(probeWrite, null),
    deliveryPrune: (step) => commit(pruneDeliveries, step),
    fileFaults: async (extent) => fileFaults(read, extent),
  }
}

/**
 * Returns the damage of the store's file, in SQLite's words, or else how its schema differs from the schema of
 * its version; empty without a difference. `brief`: the schema only, whatever the size of the file.
 */
function fileFaults(tx: Tx, extent: 'brief' | 'whole'): string[] {
  const rows = extent === 'brief' ? [] : prepared<{ quick_check: string }, []>(tx, 'PRAGMA quick_check(5)').all()
  const damage = rows.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok')
  if (damage.length > 0) return damage
  const difference = schemaDifference(tx, versionOf(tx))
  return difference === undefined ? [] : [difference]
}
