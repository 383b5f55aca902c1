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

/** The same on one line, whatever white space is in it. */
export const oneLine = (text: string): string => harmless(text.trim().replace(/\s+/g, ' '))
