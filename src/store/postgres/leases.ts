import { type Fence, LeasesLostError } from '../fence.ts'
import { type Query, texts } from './client.ts'

/**
 * For a statement, with an array of names and one of terms: the leases that are still held in these terms, locked until it ends. A takeover
 * waits for it, and sees what it wrote; one that came first leaves the row with another term.
 */
export const OWNED = (names: string, terms: string): string => `
  SELECT l.name FROM (SELECT name, term FROM leases WHERE name = ANY(${names}::text[]) ORDER BY name FOR SHARE) AS l
  JOIN unnest(${names}::text[], ${terms}::text[]) AS f(name, term) ON f.name = l.name AND f.term::uuid = l.term`

/** Locks the leases of a fence until the transaction ends. @throws LeasesLostError if one was taken over. */
export async function requireLeases(query: Query, { leaseNames, terms }: Fence): Promise<void> {
  const owned = await query<{ name: string }>(OWNED('$1', '$2'), [texts(leaseNames), texts(terms)])
  const lost = leaseNames.filter((name) => !owned.some((one) => one.name === name))
  if (lost.length > 0) throw new LeasesLostError(lost)
}
