import type { Command } from 'commander'
import { startApp } from '../app.ts'
import { readConfig } from '../config.ts'
import { createLog } from '../lib/log.ts'
import type { GivenSettings } from '../settings.ts'
import { addUserLine } from './options.ts'
import { print, printError } from './print.ts'
import { settings } from './settings.ts'
import { VERSION } from './version.ts'

export function serveCommand(program: Command, stopped: () => Promise<void>): void {
  settings(program.command('serve').description('run the service')).action(async (flags: GivenSettings) => {
    const config = readConfig(flags, process.env)
    const app = await startApp(config, {
      log: createLog(config.logLevel, { maskNumbers: config.logMaskNumbers }),
      version: VERSION,
    })
    if (app.hasNoUser) printError(`hookswitch: nobody can log in yet: ${addUserLine(config.dataPath)}`)
    // Before the line that says it is ready: whoever reads it may stop us at once.
    const stop = stopped()
    print(`hookswitch ready on ${app.url}`)
    await stop
    await app.stop()
  })
}
