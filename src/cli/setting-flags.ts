import type { Command } from 'commander'
import { SETTINGS } from '../settings.ts'
import { list } from './options.ts'

/** Gives a command the settings of the service: each a flag, and a variable. */
export function settings(command: Command): Command {
  for (const setting of Object.values(SETTINGS)) {
    const value = 'default' in setting ? setting.default : undefined
    if (typeof value === 'object') command.option(setting.flag, `${setting.description} (repeatable)`, list, [])
    else command.option(setting.flag, setting.description, value)
  }
  return command
}
