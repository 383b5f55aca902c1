import { GROUPS } from '../sql/groups.ts'
import type { Declarations } from '../sql/operation.ts'
import type { Store } from '../store.ts'
import { storeBatch } from './calls.ts'
import type { Database } from './engine/database.ts'
import { runOperations } from './engine/run-operations.ts'
import { withReadFaults } from './engine/store-fault.ts'
import { createKeptOutcomes, type KeptOutcomes } from './kept-outcomes.ts'
import { createLogStore } from './log.ts'
import { createMaintenanceStore } from './maintenance.ts'
import { createQueueStore } from './queue.ts'

/** Puts the operations of a store over its database. */
export function storeOver(db: Database, outcomes: KeptOutcomes = createKeptOutcomes(undefined)): Store {
  const group = <Group extends object>(create: (db: Database) => Group): Group => withReadFaults(create(db), db.path)
  const declared = <Group extends object>(name: string, declarations: Declarations<Group>): Group =>
    withReadFaults(runOperations(db, name, declarations), db.path)
  return {
    accounts: declared('accounts', GROUPS.accounts),
    webhooks: declared('webhooks', GROUPS.webhooks),
    queue: {
      ...group((of) => createQueueStore(of, outcomes)),
      outcomeKeep: outcomes.keep,
      ...declared('queue', GROUPS.queue),
      // The only process that has the file open to write sends to all webhooks.
      ownerRequestAdd: async () => undefined,
      ownerRequestTake: async () => [],
    },
    flows: declared('flows', GROUPS.flows),
    calls: { batchStore: (batch) => db.commit(storeBatch, batch), ...declared('calls', GROUPS.calls) },
    callRequests: declared('callRequests', GROUPS.callRequests),
    recordings: declared('recordings', GROUPS.recordings),
    pbxs: declared('pbxs', GROUPS.pbxs),
    log: { ...group(createLogStore), ...declared('log', GROUPS.log) },
    statistics: declared('statistics', GROUPS.statistics),
    audit: declared('audit', GROUPS.audit),
    authorizations: declared('authorizations', GROUPS.authorizations),
    contacts: declared('contacts', GROUPS.contacts),
    outages: declared('outages', GROUPS.outages),
    replays: declared('replays', GROUPS.replays),
    maintenance: { ...group(createMaintenanceStore), ...declared('maintenance', GROUPS.maintenance) },
    // No other process writes to the file of a running service: commands ask it.
    onForeignChange: () => undefined,
    // The writer's thread collects outcomes by itself.
    outcomeIntervalMs: 0,
    commits: db.commits,
    areCommitsFailing: db.areCommitsFailing,
    async stop() {
      await db.stop()
      outcomes.stop()
    },
  }
}
