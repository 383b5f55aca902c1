import { existsSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { startSyncThread } from '../../app/start-sync-thread.ts'
import { Fault } from '../../lib/fault.ts'
import { backupStore } from '../../store/sqlite/engine/backup.ts'
import { recoverKeptOutcomes } from '../../store/sqlite/kept-outcomes.ts'
import { requireStore, type StoreFlags, storePlaceOf } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { print } from '../print.ts'

type Flags = StoreFlags & { json?: boolean }

/** Adds `hookswitch backup`. */
export function backupCommand(program: Command): void {
  program
    .command('backup <file>')
    .description('copy the store consistently, also while the service runs')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async (file: string, { data, databaseUrl, json = false }: Flags) => {
      if (storePlaceOf({ data, databaseUrl }).database !== undefined)
        throw new Fault('invalid', 'a Postgres database is backed up with pg_dump, or with the tools of its server')
      const store = join(data, 'hookswitch.db')
      requireStore(store)
      const folder = dirname(resolve(file))
      if (!existsSync(folder))
        throw new Fault(
          'not_found',
          `cannot write the backup ${file}: the folder ${folder} does not exist, create it first`,
        )
      recoverKeptOutcomes(store)
      // Calls come first: the copy takes a processor for as long as the store is large.
      setPriority(constants.priority.PRIORITY_LOW)
      const bytes = await backupStore(store, resolve(file), startSyncThread)
      print(json ? JSON.stringify({ file: resolve(file), bytes }) : `Backup written to ${file} (${bytes} bytes).`)
    })
}
