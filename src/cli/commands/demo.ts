import type { Command } from 'commander'
import { SETTINGS } from '../../app/settings.ts'
import type { DemoFlags } from '../demo/demo.ts'
import { list } from '../options.ts'

/** Adds `hookswitch demo`. */
export function demoCommand(program: Command, stopped: () => Promise<void>): void {
  program
    .command('demo')
    .description('end-to-end demo: a service, a receiver, and recorded calls of a real Asterisk and a real FreeSWITCH')
    .option('--once', 'end after the last event; exit code 1 if an event is missing')
    .option('--bodies', 'show the body of each request')
    .option('--listen <address>', 'address and port of the API and the web page', '127.0.0.1:0')
    .option(SETTINGS.hosts.flag, `${SETTINGS.hosts.description} (repeatable)`, list, [])
    .action(async (flags: DemoFlags) => {
      const stop = stopped()
      // The recordings are loaded by this command alone.
      const { runDemo } = await import('../demo/demo.ts')
      await runDemo(flags, stop)
    })
}
