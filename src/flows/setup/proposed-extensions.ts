/** A user of the CRM, with every name by which a phone may show him. */
type NamedUser = { readonly id: string; readonly extension: string | null; readonly names: readonly string[] }
/** A phone of the account's PBXs. */
export type NamedPhone = { readonly extension: string; readonly name: string | null }

/**
 * Proposes an extension for each user for whom the CRM has none: that of the only phone with his name or log-in, if no
 * other user has such a name. Returns the extensions by the users' ids.
 */
export function proposeExtensions(
  users: readonly NamedUser[],
  phones: readonly NamedPhone[],
): ReadonlyMap<string, string> {
  const taken = new Set(users.flatMap(({ extension }) => extension ?? []))
  const free = phones.filter(({ extension, name }) => name !== null && !taken.has(extension))
  const phonesOf = Map.groupBy(free, ({ name }) => folded(name ?? ''))
  const usersOf = new Map<string, Set<string>>()
  for (const { id, names } of users)
    for (const name of names) usersOf.set(folded(name), (usersOf.get(folded(name)) ?? new Set()).add(id))
  const proposed = new Map<string, string>()
  for (const { id, extension, names } of users) {
    if (extension !== null) continue
    const own = [...new Set(names.map(folded))].filter((name) => name !== '' && usersOf.get(name)?.size === 1)
    const found = new Set(own.flatMap((name) => phonesOf.get(name) ?? []).map((phone) => phone.extension))
    const [only] = found
    if (only !== undefined && found.size === 1) proposed.set(id, only)
  }
  return proposed
}

/** Returns the words of a name without case and accents, in one order; of an address those before its `@`. */
const folded = (name: string): string =>
  (name.split('@')[0] ?? '')
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .split(/[^\p{Letter}\p{Number}]+/u)
    .filter((word) => word !== '')
    .sort()
    .join(' ')
