import { type Command, Option } from 'commander'
import { SETTINGS } from '../settings.ts'

/** For `.option(flag, help, list, [])`: a flag that may be repeated, or separated by white space in its variable. */
export const list = (value: string, before: readonly string[]): string[] => [
  ...before,
  ...value.split(/\s+/).filter(Boolean),
]

/** `--data`, on every command that uses the store. */
export const dataOption = () =>
  new Option('--data <folder>', 'the folder that holds hookswitch.db').default(SETTINGS.dataPath.default)

/** What a line that one may paste needs to reach the same store; nothing for the default one. */
export const dataFlag = (dataPath: string): string =>
  dataPath === SETTINGS.dataPath.default
    ? ''
    : ` --data ${/^[\w./-]+$/.test(dataPath) ? dataPath : `'${dataPath.replaceAll("'", `'\\''`)}'`}`

export const addUserLine = (dataPath: string): string =>
  `hookswitch user add --email you@example.com --name You${dataFlag(dataPath)}`

/** `--json`, on every command that prints a result. */
export const jsonOption = () => new Option('--json', 'print the result as JSON, for machines')

/** Gives every flag of every command its variable, unless it has its own: `--allow-net` is `HOOKSWITCH_ALLOW_NET`. Flags win. */
export function nameVariables(command: Command, env: Record<string, string | undefined>): void {
  for (const option of command.options) {
    // `[]` says less to whoever reads the help.
    if (Array.isArray(option.defaultValue)) option.defaultValueDescription = 'none'
    const variable = `HOOKSWITCH_${(option.long ?? '').replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`
    const off = option.isBoolean() && /^(0|false|no|off)$/i.test(env[variable] ?? '')
    if (off || option.long === '--version' || option.envVar !== undefined) continue
    option.env(variable)
    // Commander listens for a variable only if the option had one when it was added.
    command.on(`optionEnv:${option.name()}`, (text?: string) => {
      const value = option.isBoolean() ? true : (option.parseArg?.(text ?? '', option.defaultValue) ?? text)
      command.setOptionValueWithSource(option.attributeName(), value, 'env')
    })
  }
  for (const child of command.commands) nameVariables(child, env)
}
