import { type Command, CommanderError } from 'commander'
import { prepareEnvironment } from '../../app/config.ts'
import { Fault } from '../../lib/fault.ts'
import type { EndProcess } from '../fatal-errors.ts'
import { chooseStore, nameVariables, refuseHiddenCharacters } from '../options.ts'
import { printError } from '../print.ts'
import { unknownVariables } from '../unknown-variables.ts'
import { serviceLine } from './service-line.ts'

/**
 * Runs a command line. Returns the exit code: 0 success, 1 failure, 2 wrong usage. `end` ends the process at once,
 * after an error that nothing has caught.
 */
export async function runCommandLine(
  args: readonly string[],
  stopped: () => Promise<void>,
  end: EndProcess = () => {},
): Promise<number> {
  // The service spends neither time nor memory on the other commands.
  const program =
    args[0] === 'serve' ? serviceLine(stopped, end) : (await import('./commands.ts')).commandLine(stopped, end)
  try {
    prepareEnvironment(process.env)
    nameVariables(program, process.env)
    program.hook('preAction', (_, command) => {
      refuseHiddenCharacters(command)
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
    const text = (error instanceof Error ? error.message : String(error))
      .replace(/^error: /, '')
      .replace(/\s*\n\s*/g, ' ')
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
