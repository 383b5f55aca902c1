import type { Command } from 'commander'
import { jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'
import type { Notice } from '../third-party-notices.ts'

/** Adds `hookswitch licenses`. */
export function licensesCommand(program: Command): void {
  program
    .command('licenses')
    .description('print the licences of Hookswitch and of all software in it')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: boolean }) => {
      const { NOTICES, OWN_LICENSE } = await import('../license-texts.ts')
      if (json) printJson(NOTICES)
      else print([OWN_LICENSE, ...NOTICES.map(headed)].join('\n\n'))
    })
}

const headed = ({ name, version, license, text }: Notice) =>
  `${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n\n${text}`
