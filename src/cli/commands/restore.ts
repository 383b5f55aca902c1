import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { nowUs, rfc3339 } from '../../lib/time.ts'
import { restoreStore } from '../../store/sqlite/engine/restore.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

type Flags = StoreFlags & { json?: boolean }

/** Adds `hookswitch restore`. */
export function restoreCommand(program: Command): void {
  program
    .command('restore <file>')
    .description('replace the store by a backup, and verify it; the earlier store is kept beside it')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async (file: string, { data, databaseUrl, json = false }: Flags) => {
      if (storePlaceOf({ data, databaseUrl }).database !== undefined)
        throw new Fault('invalid', 'a Postgres database is restored with pg_restore, or with the tools of its server')
      const stamp = rfc3339(nowUs()).replaceAll(/[:.]/g, '')
      const { newestEventAt, movedTo } = restoreStore(resolve(file), resolve(data), stamp)
      const wrong = await withExistingStore({ data }, ({ maintenance }) => maintenance.verify())
      if (json) printJson({ newest_event_at: newestEventAt, moved_to: movedTo, whole: wrong.length === 0, wrong })
      else {
        const from = newestEventAt === null ? 'It has no events' : `Its newest event is of ${newestEventAt}`
        const before = movedTo === null ? '' : ` The earlier store is in ${movedTo}.`
        print(`The store is restored from ${file}. ${from}.${before}`)
        for (const text of wrong) print(text)
      }
      if (wrong.length > 0)
        throw new Fault('unavailable', 'the backup is not consistent, see above: restore another one')
    })
}
