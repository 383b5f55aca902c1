import { Command, CommanderError } from 'commander'
import { prepareEnvironment } from '../../app/config.ts'
import { Fault } from '../../lib/fault.ts'
import { VERSION } from '../../lib/version.ts'
import type { EndProcess } from '../fatal-errors.ts'
import { chooseStore, nameVariables } from '../options.ts'
import { printError } from '../print.ts'
import { unknownVariables } from '../unknown-variables.ts'
import { auditCommand } from './audit.ts'
import { backupCommand } from './backup.ts'
import { callCommand } from './call.ts'
import { storeCommand } from './copy.ts'
import { deliveryCommand } from './delivery.ts'
import { demoCommand } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { healthCommand } from './health.ts'
import { helpCommand } from './help.ts'
import { licensesCommand } from './licenses.ts'
import { listenCommand } from './listen.ts'
import { metricsCommand } from './metrics.ts'
import { nodesCommand } from './nodes.ts'
import { pbxCommand } from './pbx.ts'
import { recordingsCommand } from './recordings.ts'
import { restoreCommand } from './restore.ts'
import { serveCommand } from './serve.ts'
import { stateCommands } from './states.ts'
import { userCommand } from './user.ts'
import { verifyCommand } from './verify.ts'
import { versionCommand } from './version.ts'
import { webhookCommand } from './webhook.ts'

/**
 * Creates the command line with all commands, or with `serve` alone if `args` begin with it: adding the others would
 * delay the start of the service. Long-running commands stop when `stopped()` resolves.
 */
export function commandLine(
  stopped: () => Promise<void>,
  end: EndProcess = () => {},
  args: readonly string[] = [],
): Command {
  const program = new Command('hookswitch')
    .description('Call-event webhooks for Asterisk and FreeSWITCH: signed, in order, delivered.')
    .version(VERSION, '-V, --version')
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  serveCommand(program, stopped, end)
  if (args[0] === 'serve') return program
  demoCommand(program, stopped)
  listenCommand(program, stopped)
  userCommand(program)
  healthCommand(program)
  pbxCommand(program, stopped)
  deliveryCommand(program)
  webhookCommand(program)
  stateCommands(program)
  nodesCommand(program)
  auditCommand(program)
  verifyCommand(program)
  backupCommand(program)
  restoreCommand(program)
  storeCommand(program)
  callCommand(program)
  recordingsCommand(program)
  doctorCommand(program)
  metricsCommand(program)
  helpCommand(program)
  licensesCommand(program)
  versionCommand(program)
  return program
}

/**
 * Runs a command line. Returns the exit code: 0 success, 1 failure, 2 wrong usage. `end` ends the process at once,
 * after an error that nothing has caught.
 */
export async function runCommandLine(
  args: readonly string[],
  stopped: () => Promise<void>,
  end: EndProcess = () => {},
): Promise<number> {
  const program = commandLine(stopped, end, args)
  try {
    prepareEnvironment(process.env)
    nameVariables(program, process.env)
    program.hook('preAction', (_, command) => {
      chooseStore(command)
      // The service has them in its log.
      if (command.name() === 'serve') return
      for (const warning of unknownVariables(program, process.env)) printError(`hookswitch: ${warning}`)
    })
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    // Without a command the help is printed instead of an error.
    if (error instanceof CommanderError && error.code === 'commander.help') return 2
    const message = error instanceof Error ? error.message : String(error)
    const text = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
    printError(`hookswitch: ${isParsers(error) ? `${text.replace(/\.$/, '')}: see ${helpOf(program, args)}` : text}`)
    if (error instanceof CommanderError) return 2
    if (!(error instanceof Fault) && error instanceof Error) printError(error.stack ?? '')
    return 1
  }
}

/** Our own messages say what to do; the parser's messages get a hint to the help. */
const isParsers = (error: unknown): boolean => error instanceof CommanderError && error.code.startsWith('commander.')

/** Returns the help command for the command that was called: `hookswitch pbx check --help`. */
function helpOf(program: Command, args: readonly string[]): string {
  const names = ['hookswitch']
  let command: Command | undefined = program
  for (const arg of args) {
    command = command.commands.find((one) => one.name() === arg)
    if (command === undefined) break
    names.push(arg)
  }
  return `${names.join(' ')} --help`
}
