import { printable, printableJson } from '../lib/terminal-text.ts'

// The only way to the terminal: what callers, receivers and PBXs have written must not move it, whichever message it
// stands in.

/** Prints a result. */
export const print = (text: string): void => console.log(printable(text))

/** Prints a result for machines. */
export const printJson = (value: unknown): void => console.log(printableJson(value))

/** Prints to standard error. */
export const printError = (text: string): void => console.error(printable(text))
