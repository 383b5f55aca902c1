import { Command, CommanderError } from 'commander'
import { settleEnvironment } from '../config.ts'
import { Fault } from '../lib/fault.ts'
import { backupCommand } from './backup.ts'
import { callCommand } from './call.ts'
import { deliveryCommand } from './delivery.ts'
import { demoCommand } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { healthCommand } from './health.ts'
import { listenCommand } from './listen.ts'
import { nameVariables } from './options.ts'
import { pbxCommand } from './pbx.ts'
import { serveCommand } from './serve.ts'
import { userCommand } from './user.ts'
import { verifyCommand } from './verify.ts'
import { VERSION, versionCommand } from './version.ts'
import { webhookCommand } from './webhook.ts'

export function commandLine(stopped: () => Promise<void>): Command {
  const program = new Command('hookswitch')
    .description('Tells your systems of every call on your PBX, by signed webhooks.')
    .version(VERSION, '-V, --version')
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  serveCommand(program, stopped)
  demoCommand(program, stopped)
  listenCommand(program, stopped)
  userCommand(program)
  healthCommand(program)
  pbxCommand(program, stopped)
  deliveryCommand(program)
  webhookCommand(program)
  verifyCommand(program)
  backupCommand(program)
  callCommand(program)
  doctorCommand(program)
  versionCommand(program)
  nameVariables(program, process.env)
  return program
}

/** Runs a command line; what serves does so until `stopped`. @returns the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function run(args: readonly string[], stopped: () => Promise<void>): Promise<number> {
  try {
    settleEnvironment(process.env)
    await commandLine(stopped).parseAsync(args, { from: 'user' })
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
