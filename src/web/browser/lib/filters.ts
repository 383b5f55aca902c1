/** Filters stand in the page's address; a time field speaks the reader's zone, the API UTC. */

/** `2026-11-20T21:42` of a datetime-local field, in the reader's zone, as the API wants it; undefined when it is none. */
export function toUtc(local: string | undefined): string | undefined {
  if (local === undefined || local === '') return undefined
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** Only what is set, and only these names: an address that someone else made says nothing more. */
export function picked<Name extends string>(
  query: Readonly<Record<string, string>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const out: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = query[name]
    if (value !== undefined && value !== '') out[name] = value
  }
  return out
}
