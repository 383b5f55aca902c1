import type { Command } from 'commander'
import { DEFAULT_RETRY_SCHEDULE } from '../config.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { dataOption, list } from './options.ts'

/** The settings of the service, for every command that needs them: each a flag, and a variable. */
export const settings = (command: Command): Command =>
  command
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
    .option('--log-mask-numbers', 'hide phone numbers in the log, but for their last two digits')
    .option('--alert-url <url>', 'told by POST when a webhook or PBX has been down for 5 minutes, and when it is back')
