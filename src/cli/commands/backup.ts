import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { backupStore } from '../../store/sqlite/backup.ts'
import { dataOption, jsonOption } from '../options.ts'
import { print } from '../print.ts'

type Flags = { data: string; json?: boolean }

export function backupCommand(program: Command): void {
  program
    .command('backup <file>')
    .description('copy the store, consistently, while the service runs')
    .addOption(dataOption())
    .addOption(jsonOption())
    .action((file: string, { data, json = false }: Flags) => {
      const store = join(data, 'hookswitch.db')
      if (!existsSync(store)) throw new Fault('not_found', `there is no store at ${store}: name its folder with --data`)
      const folder = dirname(resolve(file))
      if (!existsSync(folder))
        throw new Fault('not_found', `cannot write the backup ${file}: there is no folder ${folder}: make it first`)
      const bytes = backupStore(store, resolve(file))
      print(json ? JSON.stringify({ file: resolve(file), bytes }) : `${bytes} bytes are in ${file}.`)
    })
}
