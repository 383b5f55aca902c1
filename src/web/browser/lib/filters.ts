/** Filters are kept in the page's address. A time field is in the reader's time zone, the API in UTC. */

/** Converts a datetime-local field (`2026-11-20T21:42`) to the API's time; undefined when it is empty or no time. */
export function localToUtc(local: string | undefined): string | undefined {
  if (local === undefined || local === '') return undefined
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

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
