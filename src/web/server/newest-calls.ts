import { collectInSlices } from '../../lib/slices.ts'

/**
 * Returns the calls that started last, the newest first, at most `limit`, and the number of all. Ids of calls grow with
 * the time of their start.
 */
export async function newestCalls<Call extends { readonly id: string }>(
  calls: Iterable<Call>,
  limit: number,
): Promise<{ readonly newest: readonly Call[]; readonly count: number }> {
  const all = await collectInSlices(calls[Symbol.iterator]())
  const sorted = all.toSorted((one, other) => (one.id < other.id ? 1 : one.id > other.id ? -1 : 0))
  return { newest: sorted.slice(0, limit), count: all.length }
}
