import { textProblem } from '../../lib/text.ts'
import { matches } from '../endpoints/endpoint-classifier.ts'

// The values of a request that reach a PBX: a number to dial, and a name to show. Nothing else of a request ever does.

const MAX_DIGITS = 32
const MAX_NAME_CHARACTERS = 80
/** The characters that people write between digits. Other white space is refused: it may hide the end of a number. */
const BETWEEN_DIGITS = /[ ()[\].\-/]/g
const DIALLED = new RegExp(`^\\+?[0-9*#]{1,${MAX_DIGITS}}$`)
/** Characters with a meaning in a dial string, a variable, a header or an expression of a PBX. */
const SPECIAL = /["<>\\${}[\]',^|&;]/g

type Checked = { readonly value: string } | { readonly problem: string }

/** Returns the number that a PBX is to dial: digits, `*`, `#` and a leading `+`; or why a text is no number. */
export function numberToDial(text: string): Checked {
  const value = text.replace(BETWEEN_DIGITS, '')
  if (DIALLED.test(value)) return { value }
  if (value === '' || value === '+') return { problem: 'must be a number' }
  return { problem: `must be digits, * and #, ${MAX_DIGITS} at most, with + only in front` }
}

/** Returns the name that a phone is to show, without the characters that mean something to a PBX; or why it cannot. */
export function nameToShow(text: string): Checked {
  const problem = textProblem(text)
  if (problem !== undefined) return { problem }
  if ([...text].length > MAX_NAME_CHARACTERS) return { problem: `may have ${MAX_NAME_CHARACTERS} characters at most` }
  return { value: plainText(text) }
}

/** Removes the characters that mean something to a PBX from a text, such as the name of a phone. */
export const plainText = (text: string): string => text.replace(SPECIAL, '').replace(/\s+/g, ' ').trim()

/** Returns whether a number matches one of the patterns; without patterns any number does. */
export const mayBeCalled = (number: string, patterns: readonly string[]): boolean =>
  patterns.length === 0 || patterns.some((pattern) => matches(pattern, number))
