import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { lockProblem } from '../../store/sqlite/engine/folder-lock.ts'
import type { Store } from '../../store/store.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Commits that a standby lacked when it took over are lost: an older copy has even less. */
const adviceFor = ({ database }: Pick<ReturnType<typeof storePlaceOf>, 'database'>): string =>
  database === undefined
    ? 'restore a backup, or report it'
    : 'after a failover to a standby that lacked the newest commits, these records are lost, and no backup has them: go on, with synchronous standbys; otherwise restore a backup, or report it'

/** Returns all faults of a store. A file that lacks something cannot be asked for more. */
async function findFaults({ maintenance }: Pick<Store, 'maintenance'>): Promise<string[]> {
  const faults = await maintenance.fileFaults('whole')
  return faults.length > 0 ? faults : await maintenance.verify()
}

/** Adds `hookswitch verify`, which prints the errors in the store, and ends with exit code 1 if there are any. */
export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('verify that the store is complete and consistent')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ data, databaseUrl, json }: StoreFlags & { json?: boolean }) => {
      const place = storePlaceOf({ data, databaseUrl })
      // Calls come first: this takes a processor for as long as the store is large.
      setPriority(constants.priority.PRIORITY_LOW)
      const wrong = await withExistingStore({ data, databaseUrl }, findFaults)
      // The store is whole, but no service can start on it.
      const lock = place.database === undefined ? lockProblem(join(data, 'lock')) : undefined
      if (json) printJson({ whole: wrong.length === 0, wrong })
      else if (wrong.length === 0) print('The store is complete and consistent.')
      else for (const text of wrong) print(text)
      if (wrong.length > 0)
        throw new Fault('unavailable', `the store is not consistent, see above: ${adviceFor(place)}`)
      if (lock !== undefined) throw new Fault('unavailable', lock)
    })
}
