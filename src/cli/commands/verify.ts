import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { withExistingStore } from '../open-store.ts'
import { dataOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Proves that the store is whole. Prints what is wrong, and ends with 1 then. */
export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('prove that the store is whole')
    .addOption(dataOption())
    .addOption(jsonOption())
    .action(async ({ data, json }: { data: string; json?: boolean }) => {
      const wrong = await withExistingStore(data, ({ maintenance }) => maintenance.verify())
      if (json) printJson({ whole: wrong.length === 0, wrong })
      else if (wrong.length === 0) print('The store is whole.')
      else for (const text of wrong) print(text)
      if (wrong.length > 0) throw new Fault('unavailable', `the store is not whole: ${wrong.length} kinds of fault`)
    })
}
