import type { MetricDefinition } from './catalog.ts'

// The text format of Prometheus, version 0.0.4. Only a scrape makes text of the counters.

/** One value of a metric. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

/** Formats a metric. Without samples it has no value: 0 would be one. */
export function metricText(metric: MetricDefinition, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`)
    return `${metric.name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
  })
  return `${headOf(metric)}${lines.join('')}`
}

const headOf = ({ name, type, help }: MetricDefinition): string =>
  `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

/** Upper bounds of the buckets of a latency, in seconds. */
const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600]

/** A histogram of durations without labels. */
type Latency = {
  observe(seconds: number): void
  text(): string
}

/** Creates an empty histogram of durations. */
export function newLatency(metric: MetricDefinition): Latency {
  const { name } = metric
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
      return `${headOf(metric)}${buckets.join('')}${name}_sum ${sum}\n${name}_count ${count}\n`
    },
  }
}
