import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { SETTINGS } from '../app/settings.ts'
import { CONTROL_SOCKET } from '../http/control-socket.ts'
import { textProblem } from '../lib/text.ts'
import { wrongUsage } from '../lib/usage.ts'

/**
 * Collects the values of a repeatable flag, for `.option(flag, help, list, [])`. In its variable they are separated by
 * white space.
 */
export const list = (value: string, before: readonly string[]): string[] => [
  ...before,
  ...value.split(/\s+/).filter(Boolean),
]

/** Returns the option `--data`, for every command that uses the store. */
export const dataOption = () =>
  new Option('--data <folder>', 'the folder that holds hookswitch.db').default(SETTINGS.dataPath.default)

/** Returns the option `--database-url`, for every command that has `--data`. */
export const databaseOption = () => new Option(SETTINGS.database.flag, SETTINGS.database.description)

/** Returns the option `--control`, for every command that asks the service. */
export const controlOption = () => new Option(SETTINGS.control.flag, SETTINGS.control.description)

/** Gives a command the flags of every command that asks the service on a store, and returns it. */
export const withStoreOptions = (command: Command): Command =>
  command.addOption(dataOption()).addOption(databaseOption()).addOption(controlOption()).addOption(jsonOption())

/**
 * Leaves a command one place of the store: the flag `--data` wins over a database in the environment, and any other
 * database over the folder. A folder that is given beside a database is for the control socket alone. `store copy`
 * takes both: it copies between them.
 */
export function chooseStore(command: Command): void {
  const source = (attribute: string) => command.getOptionValueSource(attribute)
  const isCopy = command.name() === 'copy' && command.parent?.name() === 'store'
  if (isCopy || source('databaseUrl') === undefined) return
  const folder: unknown = command.getOptionValue('data')
  if (source('data') === 'cli' && source('databaseUrl') !== 'cli')
    command.setOptionValueWithSource('databaseUrl', undefined, 'default')
  else if (
    typeof folder === 'string' &&
    source('data') !== 'default' &&
    command.getOptionValue('control') === undefined
  )
    command.setOptionValueWithSource('control', join(folder, CONTROL_SOCKET), source('data'))
}

/**
 * Checks the texts of a command: nobody can see a hidden character in them. Templates and JSON may have several lines.
 * @throws CommanderError (exit code 2) that names the flag or the argument.
 */
export function refuseHiddenCharacters(command: Command): void {
  const flags = command.options.map((one) => [one.long ?? one.flags, command.getOptionValue(one.attributeName())])
  const texts = command.args.map((one, at) => [`<${command.registeredArguments[at]?.name() ?? 'argument'}>`, one])
  for (const [name, given] of [...flags, ...texts])
    for (const one of [given].flat()) {
      const problem = typeof one === 'string' ? textProblem(one.replaceAll(/[\t\r\n]/g, ' ')) : undefined
      if (problem !== undefined) throw wrongUsage(`${name} ${problem}`)
    }
}

/** Returns the option `--json`, for every command that prints a result. */
export const jsonOption = () => new Option('--json', 'print the result as JSON, for machines')

/** Returns the value of a flag. @throws CommanderError (exit code 2) unless it is a whole number in this range. */
export function wholeNumber(
  flag: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most))
    throw wrongUsage(`${flag} is ${JSON.stringify(text)}: give a number from ${least} to ${most}`)
  return number
}

/** Adds a flag for each setting of the service to a command, and returns the command. */
export function addSettingFlags(command: Command): Command {
  for (const setting of Object.values(SETTINGS)) {
    const value = 'default' in setting ? setting.default : undefined
    if (typeof value === 'object') command.option(setting.flag, `${setting.description} (repeatable)`, list, [])
    else command.option(setting.flag, setting.description, value)
  }
  return command
}

/**
 * Gives each flag without a variable of its own one: `HOOKSWITCH_ALLOW_NET` for `--allow-net`. A flag wins over its
 * variable.
 */
export function nameVariables(command: Command, env: Record<string, string | undefined>): void {
  for (const option of command.options) {
    // The help would show `[]` as the default.
    if (Array.isArray(option.defaultValue)) option.defaultValueDescription ??= 'none'
    const variable = `HOOKSWITCH_${(option.long ?? '').replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`
    if (option.long === '--version' || option.envVar !== undefined) continue
    option.env(variable)
    // Commander reads a variable only if the option had one when it was added.
    command.on(`optionEnv:${option.name()}`, (text?: string) => {
      const isSwitch = option.isBoolean() || option.negate
      if (isSwitch && !isOn(`${option.long} (${variable})`, env[variable] ?? '')) return
      const value = isSwitch ? !option.negate : (option.parseArg?.(text ?? '', option.defaultValue) ?? text)
      command.setOptionValueWithSource(option.attributeName(), value, 'env')
    })
  }
  for (const child of command.commands) nameVariables(child, env)
}

/** Returns whether a variable switches its flag on; an empty one does not. @throws CommanderError (exit code 2) */
function isOn(setting: string, text: string): boolean {
  if (/^(1|true|yes|on)$/i.test(text)) return true
  if (/^(0|false|no|off|)$/i.test(text)) return false
  throw wrongUsage(`${setting} is ${JSON.stringify(text)}: give true or false`)
}
