import type { LiveNode } from '../store/operations/cluster.ts'

/**
 * How long other nodes have been silent, and how long this node has been able to judge that. Pure. Only time in which
 * the database answered this node counts, by its own clock: of two answers that are far apart, a second. So an outage
 * makes no node seem dead, nor does a database that is slow for all nodes.
 */
export type Silence = ReturnType<typeof newSilence>

/** As long an answer shows what goes on. */
const MOST_BETWEEN_US = 1_000_000

/** Begins to watch the heartbeats of other nodes. */
export function newSilence() {
  /** The heartbeats of other nodes, and since when each is the same, in watched time. */
  const seen = new Map<string, { readonly beat: number; readonly sinceUs: number }>()
  let watchedUs = 0
  let latestUs: number | undefined

  function silenceOf({ id, beat }: LiveNode): number {
    const before = seen.get(id)
    if (before?.beat === beat) return watchedUs - before.sinceUs
    seen.set(id, { beat, sinceUs: watchedUs })
    return 0
  }

  return {
    /** Takes in what the database answered. Returns the nodes, each with how long it has been silent. */
    takeIn(nodes: readonly LiveNode[], nowUs: number): (LiveNode & { readonly silentUs: number })[] {
      if (latestUs !== undefined) watchedUs += Math.min(nowUs - latestUs, MOST_BETWEEN_US)
      latestUs = nowUs
      const alive = new Set(nodes.map(({ id }) => id))
      for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
      return nodes.map((node) => ({ ...node, silentUs: silenceOf(node) }))
    },
    /** Returns for how long this has watched since the last failure. */
    watchedUs: (): number => watchedUs,
    /** Begins again, since what was seen may be worth nothing. */
    restart(): void {
      seen.clear()
      watchedUs = 0
      latestUs = undefined
    },
  }
}
