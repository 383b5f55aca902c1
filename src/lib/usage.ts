import { CommanderError } from 'commander'

/** Ends the command with exit code 2 and this one line. */
export const wrongUsage = (message: string) => new CommanderError(2, 'hookswitch.usage', message)
