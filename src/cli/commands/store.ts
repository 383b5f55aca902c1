import { join } from 'node:path'
import type { Command } from 'commander'
import { wrongUsage } from '../../lib/usage.ts'
import { databaseName } from '../../store/database-url.ts'
import { importTables } from '../../store/postgres/engine/import.ts'
import { lockFolder } from '../../store/sqlite/engine/folder-lock.ts'
import { openTables } from '../../store/sqlite/engine/table-reader.ts'
import { recoverKeptOutcomes } from '../../store/sqlite/kept-outcomes.ts'
import { onWaiting, requireStore, type StoreFlags, storePlaceOf } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'
import { tableLines } from '../table.ts'

type Flags = StoreFlags & { json?: boolean }

/** Adds `hookswitch store`. */
export function storeCommand(program: Command): void {
  program
    .command('store')
    .description('manage the store')
    .command('copy')
    .description('copy everything from the folder to an empty Postgres database, with the same ids; all or nothing')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(copyStore)
}

async function copyStore({ data, databaseUrl, json = false }: Flags): Promise<void> {
  const { dataPath, database } = storePlaceOf({ data, databaseUrl })
  if (database === undefined)
    throw wrongUsage(
      '--database-url is missing: give the database to copy to, as postgres://user:password@host/database',
    )
  const path = join(dataPath, 'hookswitch.db')
  requireStore(path)
  // A running service has the lock, and none can start until everything is copied.
  const lock = lockFolder(join(dataPath, 'lock'))
  recoverKeptOutcomes(path, { isLocked: true })
  const opened = openTables(path)
  try {
    const copied = await importTables(database, opened.tables, onWaiting)
    if (json) printJson(copied)
    else {
      const filled = copied.filter(({ rows }) => rows > 0).map(({ table, rows }) => [table, rows])
      for (const line of tableLines(['table', 'rows'], filled)) print(line)
      print(`Everything is in ${databaseName(database)}. Start the service with --database-url from now on.`)
    }
  } finally {
    opened.close()
    lock.release()
  }
}
