import type { Command } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import { jsonOption } from '../options.ts'
import { print } from '../print.ts'

/** The version of package.json. */
export const VERSION: string = manifest.version

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
