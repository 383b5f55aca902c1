import type { Migrated } from '../migrated.ts'
import type { Store } from '../store.ts'
import { type DatabaseOptions, openDatabase } from './engine/database.ts'
import { prepareStore } from './engine/open.ts'
import { openKeptOutcomes, recoverKeptOutcomes } from './kept-outcomes.ts'
import { storeOver } from './store-over.ts'

/**
 * Opens the store in a SQLite file, and creates a missing file. With a thread, the store belongs to a service, which
 * has locked its folder. @throws Fault when the file is damaged or has a newer version: it is left as it is.
 */
export function openSqliteStore(
  path: string,
  {
    onMigrated,
    ...options
  }: DatabaseOptions & { readonly onMigrated?: ((migration: Migrated) => void) | undefined } = {},
): Store {
  prepareStore(path, { onMigrated })
  if (options.thread === undefined) {
    recoverKeptOutcomes(path)
    return storeOver(openDatabase(path, { ...options, isPrepared: true }))
  }
  const outcomes = openKeptOutcomes(path)
  return storeOver(openDatabase(path, { ...options, isPrepared: true, areOutcomesKept: outcomes.areKept }), outcomes)
}
