import type { Claim, Lease } from '../store/operations/cluster.ts'

/**
 * Makes the leases that one node has, each with its term: none at first. Pure, and the only code that changes them.
 *
 * States of a lease, seen from its node:
 *
 *     others' ──(claimed, or given by its owner: a new term)──→ owned ──(give)──→ giving ──(gave)──→ others'
 *     owned or giving ──(the database has another term)──→ others'
 *
 * Under a lease that it is giving a node begins nothing, but stores what it had begun.
 */
export function newOwnLeases() {
  const owned = new Map<string, string>()
  const giving = new Map<string, string>()
  return {
    owns: (name: string): boolean => owned.has(name),
    termOf: (name: string): string | undefined => owned.get(name) ?? giving.get(name),
    names: (): readonly string[] => [...owned.keys()],
    giving: (): Lease[] => Array.from(giving, ([name, term]) => ({ name, term })),

    /** Takes in which leases this node has in the database. Returns what it gained and lost by that. */
    takeIn(own: readonly Lease[]): { gained: string[]; lost: string[] } {
      const terms = new Map(own.map(({ name, term }) => [name, term]))
      const lost = [...owned].filter(([name, term]) => terms.get(name) !== term).map(([name]) => name)
      for (const name of lost) owned.delete(name)
      for (const [name, term] of giving) if (terms.get(name) !== term) giving.delete(name)
      // A lease that was lost and came back under another term is gained with the next heartbeat: work under the old
      // term has to end first.
      const gained = own.filter(({ name }) => !owned.has(name) && !giving.has(name) && !lost.includes(name))
      for (const { name, term } of gained) owned.set(name, term)
      return { gained: gained.map(({ name }) => name), lost }
    },

    /** Notes which claims succeeded. Returns the new leases. */
    claimed(claims: readonly Claim[], names: readonly string[]): string[] {
      const taken = claims.filter(({ name }) => names.includes(name) && !owned.has(name))
      for (const { name, newTerm } of taken) owned.set(name, newTerm)
      return taken.map(({ name }) => name)
    },

    /** Owns a lease no more, and hands it over. Returns whether it was owned. */
    give(name: string): boolean {
      const term = owned.get(name)
      if (term === undefined) return false
      owned.delete(name)
      giving.set(name, term)
      return true
    },

    /** Notes that leases were handed over. */
    gave(leases: readonly Lease[]): void {
      for (const { name, term } of leases) if (giving.get(name) === term) giving.delete(name)
    },

    /** Has nothing any more. Returns what was owned. */
    clear(): string[] {
      const names = [...owned.keys()]
      owned.clear()
      giving.clear()
      return names
    },
  }
}
