import { HIDDEN_CHARACTERS } from './text.ts'

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const

export type Colour = keyof typeof CODES
export type Paint = (colour: Colour, text: string) => string

/** Returns a function that colours text, but only on a terminal and without NO_COLOR (https://no-color.org). */
export function newPaint(
  isTerminal = process.stdout.isTTY === true,
  env: Record<string, string | undefined> = process.env,
): Paint {
  const plain = !isTerminal || Boolean(env.NO_COLOR) || env.TERM === 'dumb'
  return (colour, text) => (plain ? text : `\x1b[${CODES[colour]}m${text}\x1b[0m`)
}

const CONTROL = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'g')

/**
 * Replaces the control characters in text from outside (caller ids, responses) by `?`, so that it cannot move the
 * terminal's cursor.
 */
export const harmless = (text: string): string => text.replace(CONTROL, '?')

/** Our own colours, and control characters except tabs and line breaks. */
const UNPRINTED = new RegExp(`\\x1b\\[(?:0|${Object.values(CODES).join('|')})m|(?![\\t\\n])${CONTROL.source}`, 'g')

/** Returns text of any origin, also of several lines, without control characters except our own colours. */
export const printable = (text: string): string => text.replace(UNPRINTED, (found) => (found.length > 1 ? found : '?'))

/** Returns a value as JSON whose control characters are escaped. */
export const printableJson = (value: unknown): string => escaped(JSON.stringify(value) ?? '')

/** Escapes the control characters of a JSON text on one line. */
export const escaped = (json: string): string =>
  json.replace(CONTROL, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Joins the lines of a text from outside and replaces its control characters by `?`. */
export const oneLine = (text: string): string => harmless(text.trim().replace(/\s+/g, ' '))
