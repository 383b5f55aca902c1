import { type Fence, LeaseLost } from '../../operations/cluster.ts'
import { ints, type Query, texts, type Value } from './client.ts'

/**
 * Returns the part of a statement that finds lost leases: for each job (int[]) its leases (text[]) that are no longer
 * owned in their terms (text[]), given as three parameters from this number on. The other leases are locked until the
 * statement ends: a later takeover waits for it and sees its writes; an earlier one has left another term in the row.
 */
export const lostLeasesSql = (jobs: number, names = jobs + 1, terms = jobs + 2): string => `
owned AS MATERIALIZED (SELECT name, term::text AS term FROM leases WHERE name = ANY($${names}::text[]) ORDER BY name FOR SHARE),
lost AS MATERIALIZED (
  SELECT f.job, f.name FROM unnest($${jobs}::int[], $${names}::text[], $${terms}::text[]) AS f(job, name, term)
  WHERE NOT EXISTS (SELECT 1 FROM owned h WHERE h.name = f.name AND h.term = f.term))`

/** Locks the leases of a fence until the transaction ends. @throws LeaseLost if one was taken over. */
export async function requireLeases(query: Query, fence: Fence): Promise<void> {
  const lost = await query<{ name: string }>(`WITH ${lostLeasesSql(1)} SELECT name FROM lost`, fenceValues([{ fence }]))
  if (lost.length > 0) throw new LeaseLost(...lost.map(({ name }) => name))
}

/** Returns the parameters of a fenced statement: of each job its leases and their terms. */
export function fenceValues(jobs: readonly { readonly fence?: Fence | undefined }[]): Value[] {
  const fences = jobs.flatMap(({ fence }, job) =>
    (fence?.leaseNames ?? []).map((name, at) => ({ job, name, term: fence?.terms[at] ?? '' })),
  )
  return [
    ints(fences.map(({ job }) => job)),
    texts(fences.map(({ name }) => name)),
    texts(fences.map(({ term }) => term)),
  ]
}
