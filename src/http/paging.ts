import { Fault } from '../lib/fault.ts'

/** How many items a page has, unless asked for otherwise, and at most. */
export const PAGE_SIZE = 50
export const MAX_PAGE_SIZE = 200

/** A place in a list, opaque to clients: numbers and words in base64url. */
export function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** Reads a cursor of this shape. @throws Fault 422, with the `path` of the parameter that it came in, when it is not one of ours. */
export function readCursor(
  cursor: string,
  shape: readonly ('string' | 'number')[],
  path = '/cursor',
): (string | number)[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts) && parts.length === shape.length && parts.every((part, at) => typeof part === shape[at])) {
      return parts
    }
  } catch {
    // not base64url, or not JSON: just as wrong
  }
  throw new Fault('invalid', 'The cursor is not one of this list: leave it out to begin at the first page.', {
    errors: [{ path, message: 'is no cursor of this list' }],
  })
}
