import type { Command } from 'commander'
import { withStoreOptions } from '../options.ts'
import { print, printJson } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'

/** Adds `hookswitch recordings`. */
export function recordingsCommand(program: Command): void {
  const rotate = program
    .command('recordings')
    .description('manage links to recordings')
    .command('rotate-key')
    .description('replace the key that signs links to recordings: all earlier links stop working at once')
  withStoreOptions(rotate).action(async ({ json, ...flags }: ServiceFlags & { json?: boolean }) => {
    const { result, message } = await withService(flags, (service) => service.ask('POST', '/recording/rotate-key'))
    if (json) printJson(result)
    else print(message)
  })
}
