import { FormatRegistry, type TSchema, Type } from '@sinclair/typebox'
import { HIDDEN_CHARACTERS, textProblem } from './text.ts'

/** Names that people give to webhooks, tokens, users and PBXs: they stand in lists, logs, mails and terminals. */
export const MAX_NAME_CHARACTERS = 100

const NAME = 'name'
/** The rule as a pattern, for readers of the API document, who do not know the format. */
export const NAME_PATTERN = `^[^${HIDDEN_CHARACTERS}]*[^\\s${HIDDEN_CHARACTERS}][^${HIDDEN_CHARACTERS}]*$`
const FORM = {
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern: NAME_PATTERN,
  format: undefined,
}

/** Returns why a text cannot be a name, and what to do; `undefined` if it can. Never repeats the text. */
export function nameProblem(text: string): string | undefined {
  if (text.trim() === '') return 'must not be empty'
  const problem = textProblem(text)
  if (problem !== undefined) return problem
  return [...text].length > MAX_NAME_CHARACTERS ? `may have ${MAX_NAME_CHARACTERS} characters at most` : undefined
}

FormatRegistry.Set(NAME, (text) => nameProblem(text) === undefined)

/** Returns the schema of a name. */
export const nameSchema = (description: string) => Type.String({ format: NAME, description, form: FORM })

/** Returns whether a schema describes a name. */
export const isNameSchema = (schema: TSchema): boolean => schema.format === NAME
