import { fstatSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../../app/config.ts'
import type { GivenSettings } from '../../app/settings.ts'
import { createLog, isJournal } from '../../lib/log.ts'
import { standardOutput } from '../../lib/standard-streams.ts'
import { VERSION } from '../../lib/version.ts'
import { databaseName } from '../../store/database-url.ts'
import { type EndProcess, logFatalErrors } from '../fatal-errors.ts'
import { addSettingFlags } from '../options.ts'
import { addUserLine, remotePageLine } from '../suggested-commands.ts'
import { unknownVariables } from '../unknown-variables.ts'

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2

/** When the memory is released that only the start needed, 3 MB: after the ready line, before most load. */
const SHRINK_AFTER_MS = 1_000

/** Adds `hookswitch serve`, the service itself. */
export function serveCommand(program: Command, stopped: () => Promise<void>, end: EndProcess): void {
  addSettingFlags(program.command('serve').description('run the service')).action(
    async (flags: GivenSettings, command: Command) => {
      const config = readConfig(flags, process.env)
      const { logLevel, logMaskNumbers: maskNumbers, dataPath, database } = config
      const log = createLog(logLevel, { maskNumbers, priorities: isJournal(STANDARD_ERROR) })
      logFatalErrors(log, end)
      for (const warning of unknownVariables(command, process.env)) log.warn(warning)
      // The other commands start without it.
      const { startApp } = await import('../../app/app.ts')
      const app = await startApp(config, { log, version: VERSION })
      const startedMs = performance.now()
      const where = database === undefined ? { data: resolve(dataPath) } : { database: databaseName(database) }
      log.info({ version: VERSION, url: app.url, ...where, pbxs: app.pbxs }, 'hookswitch has started')
      if (app.hasNoUser) log.warn(`no user exists, so nobody can log in yet: ${addUserLine(config)}`)
      const remote = remotePageLine(app.url, { name: hostname(), env: process.env })
      if (remote !== undefined) log.info(remote)
      // Before the ready line: a program that reads it may stop us at once.
      const stop = stopped()
      const ready = `hookswitch ready on ${app.url}`
      // Where both go to one file or journal every line of it is JSON.
      if (isOneStream()) log.info(ready)
      else standardOutput().write(`${ready}\n`)
      const shrinking = setTimeout(Bun.shrink, SHRINK_AFTER_MS)
      await stop
      clearTimeout(shrinking)
      log.info('hookswitch is stopping: requests in flight are finished first')
      await app.stop()
      log.info({ seconds: Math.round((performance.now() - startedMs) / 1_000) }, 'hookswitch has stopped')
    },
  )
}

/** Returns whether standard output and standard error are one file, pipe or socket, and no terminal. */
function isOneStream(): boolean {
  try {
    const [output, error] = [fstatSync(STANDARD_OUTPUT), fstatSync(STANDARD_ERROR)]
    return output.dev === error.dev && output.ino === error.ino && !output.isCharacterDevice()
  } catch {
    return false
  }
}
