import type { MetricDefinition } from './catalog.ts'

/**
 * Counts of what happens thousands of times a second. prom-client looks up the labels of each value, which takes a
 * microsecond: so these are counted here, and only a scrape makes text of them.
 */

/** Adds to a count. */
export function addTo(counts: Map<string, number>, label: string, count = 1): void {
  counts.set(label, (counts.get(label) ?? 0) + count)
}

/** Upper bounds of the buckets of a latency, in seconds. */
const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600]

/** A histogram of durations without labels. */
type Latency = {
  observe(seconds: number): void
  text(): string
}

/** Creates an empty histogram of durations. */
export function newLatency({ name, help }: MetricDefinition): Latency {
  /** How many values are in each bucket alone; the last are above all bounds. */
  const counts = new Array<number>(BOUNDS_S.length + 1).fill(0)
  let sum = 0
  return {
    observe(seconds) {
      let bucket = 0
      while (bucket < BOUNDS_S.length && seconds > (BOUNDS_S[bucket] ?? 0)) bucket += 1
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += seconds
    },
    text() {
      let count = 0
      const buckets = [...BOUNDS_S, '+Inf'].map((bound, index) => {
        count += counts[index] ?? 0
        return `${name}_bucket{le="${bound}"} ${count}\n`
      })
      return `\n# HELP ${name} ${help}\n# TYPE ${name} histogram\n${buckets.join('')}${name}_sum ${sum}\n${name}_count ${count}\n`
    },
  }
}
