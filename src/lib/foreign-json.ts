/** Values of systems that people use are some ten levels deep. */
const MAX_DEPTH = 100
const QUOTE = 0x22
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Parses JSON that others wrote. Nested values cost far more than their bytes: 256 KB of brackets would stop the thread
 * for 70 ms, so they are counted first. @throws SyntaxError if it is malformed or nested too deeply.
 */
export function parseForeignJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`)
  return JSON.parse(text)
}

/**
 * Returns the JSON of an answer; `undefined` if the text is missing or malformed, or is nested too deeply. An integer
 * that a number cannot hold is a string of its digits: rounded, the id of one contact would be the id of another.
 */
export function foreignJsonOf(text: string | null): unknown {
  try {
    if (text === null) return undefined
    const value = parseForeignJson(text)
    return LONG_INTEGER.test(text) ? JSON.parse(text, withWholeIntegers) : value
  } catch {
    return undefined
  }
}

/** The first integer that a number cannot hold has 16 digits. */
const LONG_INTEGER = /\d{16}/

function withWholeIntegers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source ?? ''
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? source : value
}

/** Counts a malformed text correctly only up to its first fault: the rest is not parsed. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1
      if (depth > MAX_DEPTH) return true
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1
  }
  return false
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) break
    if (code === BACKSLASH) at += 1
  }
  return at
}

/** Returns the fields of a value if it is an object, else none. */
export const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
