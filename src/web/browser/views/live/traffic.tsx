import { useMemo, useState } from 'preact/hooks'
import { Chart, type ChartSeries } from '../../components/chart.tsx'
import { Segments } from '../../components/choice.tsx'
import { request, withQuery } from '../../lib/api.ts'
import { overview } from '../../lib/connection.ts'
import { formatDateTime, formatMilliseconds, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePolled } from '../../lib/polling.ts'
import type { TrafficPeriod } from '../../lib/resources.ts'

const RANGES = {
  hour: { text: '1 h', title: 'in a minute', seconds: 3_600, said: 'the last hour' },
  day: { text: '24 h', title: 'in 15 minutes', seconds: 86_400, said: 'the last 24 hours' },
  week: { text: '7 days', title: 'in 2 hours', seconds: 604_800, said: 'the last 7 days' },
} as const
type Range = keyof typeof RANGES

const EVERY_MS = 60_000
/** A young chart shows at least this part of its range. */
const LEAST_SHARE = 12

/** Charts the events and the time to their delivery: of the last hour, day or week. */
export function Traffic() {
  const [range, setRange] = useState<Range>('hour')
  const [at, setAt] = useState<number | null>(null)
  const lastHour = useObservable(overview)?.minutes ?? null
  const longer = usePolled<readonly TrafficPeriod[]>(
    // The last hour is in the overview.
    () => request('GET', withQuery('/overview/traffic', { range: range === 'hour' ? 'day' : range })),
    EVERY_MS,
    [range],
  )
  const periods = useMemo(() => sinceFirst(range === 'hour' ? lastHour : longer), [range, lastHour, longer])
  const pointed = at === null ? undefined : periods?.[at]
  return (
    <section aria-labelledby="traffic">
      <header class="section-head">
        <h2 id="traffic">Traffic</h2>
        <p>{pointed === undefined ? '' : describePeriod(pointed)}</p>
        <span class="push">
          <Segments
            label="Range"
            isSmall
            value={range}
            options={Object.entries(RANGES).map(([name, { text }]) => [name, text] as const)}
            onChange={(name) => setRange(name === 'day' || name === 'week' ? name : 'hour')}
          />
        </span>
      </header>
      {periods === null ? (
        <div class="charts-bone" aria-busy="true" />
      ) : (
        <Charts periods={periods} range={range} at={at} onPoint={setAt} />
      )}
    </section>
  )
}

/** Fewer would be a line without shape. */
const LEAST_PERIODS = 5

/** Returns the periods from the first one in which something happened: a young chart begins with its data. */
function sinceFirst(periods: readonly TrafficPeriod[] | null): readonly TrafficPeriod[] | null {
  if (periods === null) return null
  const first = periods.findIndex(({ events, delivered }) => (events ?? 0) + (delivered ?? 0) > 0)
  const from = first < 0 ? periods.length : first - 1
  return periods.slice(Math.max(0, Math.min(from, periods.length - LEAST_PERIODS)))
}

function describePeriod(period: TrafficPeriod): string {
  const { at, events, delivered, failed_attempts: failed, p50_ms: median, p99_ms: slow } = period
  if (events === null) return `${formatDateTime(at)}: the service did not run`
  const took = median === null ? [] : [`median ${formatMilliseconds(median)}, 99 of 100 in ${formatMilliseconds(slow)}`]
  const failures = (failed ?? 0) > 0 ? [pluralize(failed ?? 0, 'failed attempt')] : []
  const parts = [pluralize(events, 'event'), `${(delivered ?? 0).toLocaleString('en')} delivered`, ...failures, ...took]
  return `${formatDateTime(at)}: ${parts.join(', ')}`
}

type ChartsProps = {
  periods: readonly TrafficPeriod[]
  range: Range
  at: number | null
  onPoint: (at: number | null) => void
}

function Charts({ periods, range, at, onPoint }: ChartsProps) {
  const { title, seconds, said } = RANGES[range]
  const timesS = useMemo(() => periods.map(({ at }) => Date.parse(at) / 1_000), [periods])
  const volume = useMemo(
    (): ChartSeries[] => [
      { name: 'events', tone: 'accent', kind: 'area', values: periods.map(({ events }) => events) },
      {
        name: 'failed attempts',
        tone: 'bad',
        kind: 'bars',
        values: periods.map((one) => one.failed_attempts || null),
      },
    ],
    [periods],
  )
  const latency = useMemo(
    (): ChartSeries[] => [
      { name: 'median', tone: 'accent', kind: 'line', values: periods.map(({ p50_ms }) => p50_ms) },
      { name: '99 of 100', tone: 'grey', kind: 'dashed', values: periods.map(({ p99_ms }) => p99_ms) },
    ],
    [periods],
  )
  const sum = (count: (period: TrafficPeriod) => number | null) =>
    periods.reduce((total, one) => total + (count(one) ?? 0), 0)
  const most = Math.max(0, ...periods.map(({ events }) => events ?? 0))
  const slowest = Math.max(0, ...periods.map(({ p99_ms }) => p99_ms ?? 0))
  const failed = sum((one) => one.failed_attempts)
  const common = { timesS, leastSeconds: seconds / LEAST_SHARE, at, onPoint }
  return (
    <div class="columns two">
      <Chart
        {...common}
        title={`Events, ${title}`}
        label={`Events ${title}, ${said}: ${sum((one) => one.events).toLocaleString('en')}; the most at a time ${most}. ${failed === 0 ? 'No failed attempts.' : `${pluralize(failed, 'failed attempt')}.`}`}
        series={volume}
        least={10}
      />
      <Chart
        {...common}
        title="Time to delivery"
        label={`Time from event to delivery, ${said}: median and 99 of 100; the slowest 99 of 100 took ${formatMilliseconds(slowest)}.`}
        series={latency}
        least={100}
        unit="ms"
      />
    </div>
  )
}
