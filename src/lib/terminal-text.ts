const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const

export type Colour = keyof typeof CODES
export type Paint = (colour: Colour, text: string) => string

/** Colours on a terminal alone, and not against the reader's wish (https://no-color.org). */
export function newPaint(
  isTerminal = process.stdout.isTTY === true,
  env: Record<string, string | undefined> = process.env,
): Paint {
  const plain = !isTerminal || Boolean(env.NO_COLOR) || env.TERM === 'dumb'
  return (colour, text) => (plain ? text : `\x1b[${CODES[colour]}m${text}\x1b[0m`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text of others (caller ids, answers) for a terminal: what would move its cursor or turn its direction is shown as `?`. */
export const harmless = (text: string): string => text.replace(UNSHOWN, '?')

/** Our own colours, and what is to be hidden but for tabs and line breaks. */
const UNPRINTED = new RegExp(`\\x1b\\[(?:0|${Object.values(CODES).join('|')})m|(?![\\t\\n])${UNSHOWN.source}`, 'g')

/** Returns text of any origin, some lines perhaps, with nothing in it by which a terminal is moved but our own colours. */
export const printable = (text: string): string => text.replace(UNPRINTED, (found) => (found.length > 1 ? found : '?'))

/** Returns a value as JSON in which nothing moves a terminal: what would is escaped. */
export const printableJson = (value: unknown): string => escaped(JSON.stringify(value) ?? '')

/** The same for JSON that is text already, on one line. */
export const escaped = (json: string): string =>
  json.replace(UNSHOWN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same on one line, whatever white space is in it. */
export const oneLine = (text: string): string => harmless(text.trim().replace(/\s+/g, ' '))
