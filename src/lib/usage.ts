import { CommanderError } from 'commander'

/** Returns the error that ends a command with exit code 2 and this message. */
export const wrongUsage = (message: string) => new CommanderError(2, 'hookswitch.usage', message)
