import { standardError } from '../lib/standard-streams.ts'
import { printable, printableJson } from '../lib/terminal-text.ts'

// The only way to the terminal: text from callers, receivers and PBXs must not control it, in any message.

/** Prints a result. */
export const print = (text: string): void => console.log(printable(text))

/** Prints a result for machines. */
export const printJson = (value: unknown): void => console.log(printableJson(value))

/** Prints to standard error, in its turn among the lines of the log, and without waiting for a reader. */
export const printError = (text: string): void => standardError().write(`${printable(text)}\n`)

/** Returns a count with its noun: `1 call`, `2 calls`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
