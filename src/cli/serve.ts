import type { Command } from 'commander'
import { startApp } from '../app.ts'
import { DEFAULT_RETRY_SCHEDULE, readConfig, type ServeFlags } from '../config.ts'
import { createLog, LOG_LEVELS } from '../lib/log.ts'
import { dataOption, list } from './options.ts'
import { VERSION } from './version.ts'

export function serveCommand(program: Command, stopped: () => Promise<void>): void {
  program
    .command('serve')
    .description('run the service')
    .option('--listen <address>', 'where to listen', '127.0.0.1:8080')
    .addOption(dataOption())
    .option(
      '--pbx <url>',
      'a PBX to watch: ami://user:secret@host, amis://…, esl://:password@host (repeatable)',
      list,
      [],
    )
    .option(
      '--allow-net <net>',
      'where webhooks may go besides the internet: private, loopback, CIDR (repeatable)',
      list,
      [],
    )
    .option('--trust-proxy <net>', 'a reverse proxy whose X-Forwarded-For is believed (repeatable)', list, [])
    .option('--proxy <url>', 'send webhooks through this egress proxy, which then has to guard')
    .option('--metrics-token <token>', 'serve /metrics to whoever has this token')
    .option('--retry-schedule <durations>', 'when a failed delivery is tried again', DEFAULT_RETRY_SCHEDULE)
    .option('--retention <duration>', 'how long delivered ones are kept', '30d')
    .option('--retention-failed <duration>', 'how long failed and cancelled ones are kept', '90d')
    .option('--retention-calls <duration>', 'how long call records are kept', '90d')
    .option('--log-level <level>', LOG_LEVELS.join(', '), 'info')
    .action(async (flags: ServeFlags) => {
      const config = readConfig(flags, process.env)
      const app = await startApp(config, { log: createLog(config.logLevel), version: VERSION })
      if (app.hasNoUser)
        console.error('hookswitch: nobody can log in yet: hookswitch user add --email you@example.com --name You')
      // Before the line that says it is ready: whoever reads it may stop us at once.
      const stop = stopped()
      console.log(`hookswitch ready on ${app.url}`)
      await stop
      await app.stop()
    })
}
