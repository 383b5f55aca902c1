import type { DatabaseSource } from '../../lib/database-url.ts'
import { GROUPS } from '../sql/groups.ts'
import type { Store } from '../store.ts'
import { createCallStore } from './calls.ts'
import { type Database, openDatabase } from './engine/database.ts'
import { type PrepareOptions, prepareDatabase } from './engine/open.ts'
import { runOperations } from './engine/run-operations.ts'
import { openEventCommits } from './events.ts'
import { createLogStore } from './log.ts'
import { createMaintenanceStore } from './maintenance/maintenance.ts'
import { createStatisticsStore } from './minutes.ts'
import { openOutcomeCommits } from './outcomes.ts'
import { createPbxStore } from './pbxs.ts'
import { createQueueStore } from './queue.ts'
import { createRecordingStore } from './recordings.ts'
import { createWebhookStore } from './webhooks.ts'

export type PostgresOptions = PrepareOptions & {
  /** The key of this process's figures, so that processes do not overwrite each other's. */
  readonly node?: string | undefined
}

/** Puts the operations of a store over its database. */
export function storeOver(db: Database): Store {
  const events = openEventCommits(db)
  const outcomes = openOutcomeCommits(db)
  return {
    accounts: runOperations(db, GROUPS.accounts),
    webhooks: createWebhookStore(db),
    queue: createQueueStore(db, outcomes),
    calls: createCallStore(db, events),
    recordings: createRecordingStore(db),
    pbxs: createPbxStore(db),
    log: createLogStore(db),
    statistics: createStatisticsStore(db),
    maintenance: createMaintenanceStore(db),
    onForeignChange: db.onForeignChange,
    commits: db.commits,
    stop: () =>
      db.stop(async () => {
        await events.drained()
        await outcomes.drained()
      }),
  }
}

/**
 * Opens the store in a Postgres database; creates it if it does not exist. @throws Fault when the database cannot be
 * used, with what to do.
 */
export async function openPostgresStore(source: DatabaseSource, options: PostgresOptions = {}): Promise<Store> {
  await prepareDatabase(source, options)
  return storeOver(openDatabase(source, options.node ?? ''))
}
