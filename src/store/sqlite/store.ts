import type { Store } from '../store.ts'
import { createAccountStore } from './accounts.ts'
import { createCallStore } from './calls.ts'
import { type Database, type DatabaseOptions, openDatabase } from './engine/database.ts'
import { createLogStore } from './log.ts'
import { createMaintenanceStore } from './maintenance/maintenance.ts'
import { createStatisticsStore } from './minutes.ts'
import { createPbxStore } from './pbxs.ts'
import { createQueueStore } from './queue.ts'
import { createRecordingStore } from './recordings.ts'
import { createWebhookStore } from './webhooks.ts'

/** Puts the operations of a store over its database. */
export function storeOver(db: Database): Store {
  return {
    accounts: createAccountStore(db),
    webhooks: createWebhookStore(db),
    queue: createQueueStore(db),
    calls: createCallStore(db),
    recordings: createRecordingStore(db),
    pbxs: createPbxStore(db),
    log: createLogStore(db),
    statistics: createStatisticsStore(db),
    maintenance: createMaintenanceStore(db),
    onForeignChange: db.onForeignChange,
    commits: db.commits,
    stop: db.stop,
  }
}

/**
 * Opens the store in a SQLite file, and makes it if there is none.
 * @throws Fault when the file is damaged or of a newer version: it is left as it is.
 */
export const openSqliteStore = (path: string, options: DatabaseOptions = {}): Store =>
  storeOver(openDatabase(path, options))
