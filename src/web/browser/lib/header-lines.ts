/** A request header in a form. An empty value keeps the stored one. */
export type HeaderLine = { readonly name: string; readonly value: string }

/** Returns the lines of stored headers, whose values cannot be read. */
export function headerLinesOf(headers: Readonly<Record<string, unknown>>): HeaderLine[] {
  return Object.keys(headers).map((name) => ({ name, value: '' }))
}

/** Returns the headers to be sent; `null` keeps a stored value. A line without a name is left out. */
export function headersOfLines(lines: readonly HeaderLine[]): Record<string, string | null> {
  const named = lines.filter(({ name }) => name.trim() !== '')
  return Object.fromEntries(named.map(({ name, value }) => [name.trim(), value === '' ? null : value]))
}
