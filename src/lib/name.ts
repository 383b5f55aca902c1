import { FormatRegistry, type TSchema, Type } from '@sinclair/typebox'

/** Names that people give to webhooks, tokens, users and PBXs: they stand in lists, logs, mails and terminals. */
export const MAX_NAME_CHARACTERS = 100

const NAME = 'name'
/** The same for the API document, whose readers do not know the format. */
const FORM = {
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$',
  format: undefined,
}

/** Returns why a text cannot be a name, and what to do; `undefined` if it can. Never repeats the text. */
export function nameProblem(text: string): string | undefined {
  if (text.trim() === '') return 'must not be empty'
  if (!text.isWellFormed()) return 'has half of a character (a lone surrogate): send the whole character'
  if (/\p{Cc}/u.test(text)) return 'has a control character: remove it'
  return [...text].length > MAX_NAME_CHARACTERS ? `may have ${MAX_NAME_CHARACTERS} characters at most` : undefined
}

FormatRegistry.Set(NAME, (text) => nameProblem(text) === undefined)

/** Returns the schema of a name. */
export const nameSchema = (description: string) => Type.String({ format: NAME, description, form: FORM })

/** Returns whether a schema describes a name. */
export const isNameSchema = (schema: TSchema): boolean => schema.format === NAME
