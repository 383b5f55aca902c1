/** Returns the query's filters of these names that have a value; anything else in the address is ignored. */
export function pickFilters<Name extends string>(
  query: Readonly<Record<string, string>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const filters: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = query[name]
    if (value !== undefined && value !== '') filters[name] = value
  }
  return filters
}
