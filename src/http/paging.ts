import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { Fault } from '../lib/fault.ts'

export const PAGE_SIZE = 50
const MAX_PAGE_SIZE = 200

/** The form of a cursor. */
export const CURSOR = { pattern: '^[A-Za-z0-9_-]+$' }

/** The query parameters of a list that has pages. */
export const PageLimit = t.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: PAGE_SIZE,
    description: 'How many there are on a page at most',
  }),
)
export const PageCursor = t.Optional(t.String({ description: '`next_cursor` of the page before', form: CURSOR }))

/** Encodes a position in a list as a cursor, which is opaque to clients. */
export function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/**
 * Decodes a cursor of the given shape; its numbers are whole, since a database refuses others.
 * @throws Fault `invalid`, with the `path` of its parameter, when it is not a cursor of this list.
 */
export function readCursor(
  cursor: string,
  shape: readonly ('string' | 'number')[],
  path = '/cursor',
): (string | number)[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const fits = (part: unknown, at: number) =>
      typeof part === shape[at] && (typeof part === 'string' || Number.isSafeInteger(part))
    if (Array.isArray(parts) && parts.length === shape.length && parts.every(fits)) return parts
  } catch {
    // Neither base64url nor JSON: not one of our cursors.
  }
  throw notOfThisList(path)
}

/** Makes the fault of a cursor that was not given out for this list. */
export const notOfThisList = (path = '/cursor') =>
  new Fault('invalid', 'The cursor does not belong to this list. Leave it out to start at the first page.', {
    errors: [{ path, message: 'is not a cursor of this list' }],
  })
