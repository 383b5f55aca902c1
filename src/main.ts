#!/usr/bin/env bun
import { Command, CommanderError } from 'commander'
import { healthCommand } from './cli/health.ts'
import { nameVariables } from './cli/options.ts'
import { pbxCommand } from './cli/pbx.ts'
import { serveCommand } from './cli/serve.ts'
import { userCommand } from './cli/user.ts'
import { VERSION, versionCommand } from './cli/version.ts'
import { settleEnvironment } from './config.ts'
import { Fault } from './lib/fault.ts'

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const onSignal = () => {
      if (asked) process.exit(1)
      asked = true
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

function commandLine(): Command {
  const program = new Command('hookswitch')
    .description('Tells your systems of every call on your PBX, by signed webhooks.')
    .version(VERSION, '-V, --version')
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  serveCommand(program, stopSignal)
  userCommand(program)
  healthCommand(program)
  pbxCommand(program, stopSignal)
  versionCommand(program)
  nameVariables(program, process.env)
  return program
}

/** Runs a command line. @returns the exit code: 0 done, 1 failed, 2 wrong usage. */
async function run(args: readonly string[]): Promise<number> {
  try {
    settleEnvironment(process.env)
    await commandLine().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    // No command: the help was shown in place of an error.
    if (error instanceof CommanderError && error.code === 'commander.help') return 2
    const message = error instanceof Error ? error.message : String(error)
    console.error(`hookswitch: ${message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')}`)
    if (error instanceof CommanderError) return 2
    if (!(error instanceof Fault) && error instanceof Error) console.error(error.stack)
    return 1
  }
}

/**
 * `fetch` runs at most 256 requests in the whole process, unless this variable is set before the process starts: so the
 * process replaces itself by one that has it (execve, POSIX alone). The variable itself keeps it from going round.
 */
function liftRequestLimit(): void {
  const variable = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
  if (process.env[variable] !== undefined || process.execve === undefined || process.platform === 'win32') return
  const [, script = '', ...rest] = process.argv
  const compiled = script.startsWith('/$bunfs/')
  const args = compiled ? rest : [...process.execArgv, script, ...rest]
  process.execve(process.execPath, [process.execPath, ...args], { ...process.env, [variable]: '65336' })
}

if (process.argv[2] === 'serve' || process.argv[2] === 'demo') liftRequestLimit()
process.exit(await run(process.argv.slice(2)))
