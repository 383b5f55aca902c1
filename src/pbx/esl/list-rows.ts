import { parseForeignJson } from '../../lib/foreign-json.ts'
import { runAtOnce } from '../../lib/slices.ts'

/** A row of a list, its values as text. */
export type ListRow = Record<string, string>

/**
 * Returns the rows of a list that FreeSWITCH prints as JSON (`show channels as json`), none if the text is no such
 * list. Invalid rows, and values that are neither text nor a number, are left out.
 */
export const listRows = (text: string): ListRow[] => runAtOnce(listRowsInSteps(text))

/**
 * Returns the rows of a list, in steps of some hundred rows: FreeSWITCH prints a list of 20,000 calls as 27 MB, and
 * begins each row at a line of its own or behind the row before it.
 */
export function* listRowsInSteps(text: string): Generator<void, ListRow[]> {
  if (!text.trimStart().startsWith('{')) return []
  const rows: ListRow[] = []
  const from = text.indexOf('[')
  if (text.length <= PART_CHARACTERS || from < 0) return rowsIn(text)
  const begin = text.slice(0, from + 1)
  if (!/"rows"\s*:\s*\[$/.test(begin)) return rowsIn(text)
  for (let at = from + 1; ; ) {
    const end = endOfPart(text, at)
    if (end < 0) {
      for (const row of rowsIn(begin + text.slice(at))) rows.push(row)
      return rows
    }
    for (const row of rowsIn(`${begin}${text.slice(at, end)}]}`)) rows.push(row)
    yield
    at = end + 1
  }
}

/** The length of the text that is parsed in one step, which takes some milliseconds. */
const PART_CHARACTERS = 256 * 1024

/** Returns the offset of the comma between two rows behind the next part; -1 for the last part. */
function endOfPart(text: string, from: number): number {
  if (text.length - from <= PART_CHARACTERS) return -1
  BETWEEN_ROWS.lastIndex = from + PART_CHARACTERS
  const found = BETWEEN_ROWS.exec(text)
  return found === null ? -1 : found.index + 1
}

/** Cannot be within a value, where quotes are escaped. */
const BETWEEN_ROWS = /\},\s*\{"/g

function rowsIn(text: string): ListRow[] {
  try {
    const rows: unknown = Object(parseForeignJson(text)).rows
    if (!Array.isArray(rows)) return []
    return rows.filter((row: unknown) => typeof row === 'object' && row !== null).map(textsOf)
  } catch {
    return []
  }
}

function textsOf(row: object): ListRow {
  const texts: ListRow = {}
  for (const [key, value] of Object.entries(row))
    if (typeof value === 'string' || typeof value === 'number') texts[key] = String(value)
  return texts
}
