import type { Command } from 'commander'
import { VERSION } from '../../lib/version.ts'
import { jsonOption } from '../options.ts'
import { print } from '../print.ts'

/** Adds `hookswitch version`. */
export function versionCommand(program: Command): void {
  program
    .command('version')
    .description('print the version')
    .addOption(jsonOption())
    .action(({ json }: { json?: boolean }) => {
      print(json ? JSON.stringify({ version: VERSION, bun: Bun.version }) : VERSION)
    })
}
