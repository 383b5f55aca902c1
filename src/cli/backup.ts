import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { backupStore } from '../db/backup.ts'
import { Fault } from '../lib/fault.ts'
import { dataOption, jsonOption } from './options.ts'

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
      const bytes = backupStore(store, resolve(file))
      console.log(json ? JSON.stringify({ file: resolve(file), bytes }) : `${bytes} bytes are in ${file}.`)
    })
}
