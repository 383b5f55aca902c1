import type { MaintenanceStore } from '../store.ts'
import { lastSteadyUs, newestEventUs, readClock, setClock } from './clock.ts'
import { readCondition } from './condition.ts'
import type { Database } from './database.ts'
import { eraseCalls, eraseLive, findCallsOf } from './erase.ts'
import { fileFaults } from './faults.ts'
import { probeWrite } from './probe.ts'
import { pruneCalls, pruneDeliveries, pruneSecrets, pruneWebhooks } from './retention.ts'
import { findWrong } from './verify.ts'

/** What keeps a store in order. */
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
