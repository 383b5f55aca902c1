import { FormatRegistry, type StringOptions, type TSchema, Type } from '@sinclair/typebox'

// One rule for every text that people enter: names, addresses, filters, parameters, URLs and settings.

/** C0, DEL, C1, and the separators of lines and paragraphs; for a class of a regular expression. */
const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029'
/** Characters that show nothing and change the direction in which others are shown, and the byte order mark. */
const DIRECTION_CHARACTERS = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff'
/** Characters that no entered text may have, and that nothing prints; for a class of a regular expression. */
export const HIDDEN_CHARACTERS = `${CONTROL_CHARACTERS}${DIRECTION_CHARACTERS}`

const CONTROL = new RegExp(`[${CONTROL_CHARACTERS}]`)
const DIRECTION = new RegExp(`[${DIRECTION_CHARACTERS}]`)

/** Returns why people may not enter a text, and what to do; `undefined` if they may. Never repeats the text. */
export function textProblem(text: string): string | undefined {
  if (!text.isWellFormed()) return 'has half of a character (a lone surrogate): send the whole character'
  if (CONTROL.test(text)) return 'has a control character: remove it'
  return DIRECTION.test(text) ? 'has an invisible character that changes the direction of text: remove it' : undefined
}

/** Returns the form in which texts are compared: letters with accents have two spellings that look the same. */
export const comparedText = (text: string): string => text.normalize('NFC')

const TEXT = 'text'
FormatRegistry.Set(TEXT, (text) => textProblem(text) === undefined)

/** Returns the schema of a text that people enter. */
export const textSchema = (options: Omit<StringOptions, 'format' | 'pattern'> = {}) =>
  Type.String({
    ...options,
    format: TEXT,
    // For the API document, whose readers do not know the format.
    form: { pattern: `^[^${HIDDEN_CHARACTERS}]*$`, format: undefined },
  })

/** Returns whether a schema describes such a text. */
export const isTextSchema = (schema: TSchema): boolean => schema.format === TEXT
