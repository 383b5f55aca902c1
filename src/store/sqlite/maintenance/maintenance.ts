import type { MaintenanceStore } from '../../operations/maintenance.ts'
import type { Database } from '../engine/database.ts'
import type { Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'
import { probeWrite } from '../engine/write-probe.ts'
import { lastSteadyUs, newestEventUs, readClock, setClock } from './clock.ts'
import { readCondition } from './condition.ts'
import { eraseCalls, eraseLive, findCallsOf } from './erase.ts'
import { pruneCalls, pruneDeliveries, pruneSecrets, pruneWebhooks } from './retention.ts'
import { findWrong } from './verify.ts'

/** Creates the maintenance operations of the engine. */
export function createMaintenanceStore({ read, commit }: Database): MaintenanceStore {
  return {
    writeProbe: () => commit(probeWrite, null),
    clockGet: async () => ({
      ...readClock(read),
      lastSteadyUs: lastSteadyUs(read),
      newestEventUs: newestEventUs(read),
    }),
    clockSet: (clock) => commit(setClock, clock),
    deliveryPrune: (step) => commit(pruneDeliveries, step),
    webhookPrune: (limit) => commit(pruneWebhooks, limit),
    secretPrune: (step) => commit(pruneSecrets, step),
    callPrune: (step) => commit(pruneCalls, step),
    callListWithNumber: async (number) => findCallsOf(read, number),
    callErase: (ids) => commit(eraseCalls, ids),
    liveCallErase: (number) => commit(eraseLive, number),
    verify: async () => findWrong(read),
    fileFaults: async () => fileFaults(read),
    conditionGet: async (sinceUs) => readCondition(read, sinceUs),
  }
}

/** Returns the damages of the store's file, in SQLite's words; empty if there are none. Reads the whole file. */
function fileFaults(tx: Tx): string[] {
  const rows = prepared<{ quick_check: string }, []>(tx, 'PRAGMA quick_check(5)').all()
  return rows.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok')
}
