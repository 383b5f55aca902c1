import { parseForeignJson } from '../../lib/foreign-json.ts'

/** A row of a list, its values as text. */
export type ListRow = Record<string, string>

/**
 * Returns the rows of a list that FreeSWITCH prints as JSON (`show channels as json`), none if the text is no such
 * list. Invalid rows, and values that are neither text nor a number, are left out.
 */
export function listRows(text: string): ListRow[] {
  if (!text.trimStart().startsWith('{')) return []
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
