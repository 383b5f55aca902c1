import type { Command } from 'commander'
import { newLinkKey } from '../../recordings/recordings.ts'
import { type StoreFlags, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption } from '../options.ts'
import { print } from '../print.ts'

/** Adds `hookswitch recordings`. */
export function recordingsCommand(program: Command): void {
  program
    .command('recordings')
    .description('manage links to recordings')
    .command('rotate-key')
    .description('replace the key that signs links to recordings: all earlier links stop working at once')
    .addOption(dataOption())
    .addOption(databaseOption())
    .action(async (flags: StoreFlags) => {
      await withExistingStore(flags, ({ recordings }) => recordings.linkKeyReplace(newLinkKey()))
      print('The key was replaced: earlier links to recordings no longer open them.')
    })
}
