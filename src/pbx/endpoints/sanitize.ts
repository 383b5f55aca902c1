import { HIDDEN_CHARACTERS } from '../../lib/text.ts'

/** Placeholders that PBXs print where there is no number or name. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  '<unknown>',
  'unknown',
  'anonymous',
  'restricted',
  'private',
  'unavailable',
  'withheld',
  'asterisk',
  '_undef_',
])

/** Callers choose their names themselves. */
const CONTROLS = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'g')

/** Long enough for any name; a caller may send kilobytes. */
const MAX_CHARS = 256

/**
 * Returns a number or name for display: without controls, cut to 256 characters; `null` for an empty one or a
 * placeholder.
 */
export function cleanText(text: string): string | null {
  const cleaned = cleanValue(text)
  return cleaned === null || PLACEHOLDERS.has(cleaned.toLowerCase()) ? null : cleaned
}

/** Returns a value for display: without controls, cut to 256 characters; `null` for an empty one. */
export function cleanValue(text: string): string | null {
  const cleaned = text.replace(CONTROLS, '').trim()
  if (cleaned === '') return null
  return cleaned.length <= MAX_CHARS ? cleaned : [...cleaned].slice(0, MAX_CHARS).join('')
}
