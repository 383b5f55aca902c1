/** A time in which something was done to a node, or to the database (`node` is `undefined`). */
export type Disturbance = { readonly node: number | undefined; readonly fromMs: number; toMs: number }

/** How long the leases of a node were without an owner that lives, and from when on. */
export type Takeover = { readonly node: number; readonly fromMs: number; readonly toMs: number }

/** After an outage of the database a node continues within this time, and only then reads of the others. */
const BACK_WITHIN_MS = 3_000
/** The promise: after 4 s of heartbeats of its own, a node declares another one dead and takes over its leases. */
const PROMISED_MS = 6_500
/** Actions up to this long before a takeover may still affect it. */
const BEFORE_MS = 6_000

/** Returns whether nothing else was done at the time of a takeover, nor shortly before. */
export function isAlone(takeover: Takeover, disturbances: readonly Disturbance[]): boolean {
  return !disturbances.some(
    ({ node, fromMs, toMs }) =>
      !(node === takeover.node && fromMs >= takeover.fromMs - 50) &&
      fromMs < takeover.toMs &&
      toMs > takeover.fromMs - BEFORE_MS,
  )
}

/**
 * Returns when a takeover has to be over at the latest: as soon as any other node was left alone, with the database,
 * for as long as was promised. Before, there may be no node that can judge whether another is dead.
 */
export function dueMs({ node, fromMs }: Takeover, nodes: number, disturbances: readonly Disturbance[]): number {
  const others = Array.from({ length: nodes }, (_, one) => one).filter((one) => one !== node)
  const firstOf = (other: number): number => {
    const of = disturbances
      .filter((one) => (one.node ?? other) === other && one.toMs + BACK_WITHIN_MS > fromMs)
      .toSorted((one, another) => one.fromMs - another.fromMs)
    let freeMs = fromMs
    for (const { fromMs: beginMs, toMs } of of) {
      if (beginMs >= freeMs + PROMISED_MS) break
      freeMs = Math.max(freeMs, toMs + BACK_WITHIN_MS)
    }
    return freeMs + PROMISED_MS
  }
  return Math.min(...others.map(firstOf))
}
