import type { Command } from 'commander'
import { jsonOption } from './options.ts'
import { print, printJson } from './print.ts'
import { readThirdParty } from './third-party.ts' with { type: 'macro' }

const THIRD_PARTY = readThirdParty()

/** Adds the command that prints the licences of what is inside the executable. */
export function licensesCommand(program: Command): void {
  program
    .command('licenses')
    .description('print the licences of the software inside this executable')
    .addOption(jsonOption())
    .action(({ json }: { json?: boolean }) => {
      if (json) printJson(THIRD_PARTY)
      else print(THIRD_PARTY.map(textOf).join('\n'))
    })
}

const textOf = ({ name, version, terms }: (typeof THIRD_PARTY)[number]): string =>
  `${'='.repeat(72)}\n${name} ${version}\n${'='.repeat(72)}\n\n${terms}\n`
