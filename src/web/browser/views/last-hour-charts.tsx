import { useMemo } from 'preact/hooks'
import { Chart, ChartLegend, type ChartSeries } from '../components/chart.tsx'
import { formatMilliseconds, pluralize } from '../lib/format.ts'
import type { Minute } from '../lib/resources.ts'

/** Charts the last hour minute by minute: how many events, deliveries and failures, and how long deliveries took. */
export function LastHourCharts({ minutes }: { minutes: readonly Minute[] }) {
  const timesS = useMemo(() => minutes.map((minute) => Date.parse(minute.at) / 1_000), [minutes])
  return (
    <>
      <VolumeChart minutes={minutes} timesS={timesS} />
      <LatencyChart minutes={minutes} timesS={timesS} />
    </>
  )
}

type ChartInput = { minutes: readonly Minute[]; timesS: readonly number[] }

function VolumeChart({ minutes, timesS }: ChartInput) {
  const series = useMemo(
    (): ChartSeries[] => [
      { name: 'events', tone: 'accent', kind: 'area', values: minutes.map((minute) => minute.events) },
      { name: 'delivered', tone: 'good', kind: 'line', values: minutes.map((minute) => minute.delivered) },
      // Bars of height 0 would hide the axis.
      {
        name: 'failed attempts',
        tone: 'bad',
        kind: 'bars',
        values: minutes.map((minute) => minute.failed_attempts || null),
      },
    ],
    [minutes],
  )
  const sum = (values: readonly (number | null)[] = []) =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0)
  return (
    <section class="card chart-card" aria-labelledby="chart-volume">
      <header class="card-head">
        <h2 id="chart-volume">Per minute, last hour</h2>
        <ChartLegend series={series} />
      </header>
      <Chart
        label={`Events, deliveries and failed attempts per minute over the last hour: ${pluralize(sum(series[0]?.values), 'event')}, ${pluralize(sum(series[2]?.values), 'failed attempt')}.`}
        timesS={timesS}
        series={series}
        format={(value) => value.toLocaleString()}
      />
    </section>
  )
}

function LatencyChart({ minutes, timesS }: ChartInput) {
  const series = useMemo(
    (): ChartSeries[] => [
      { name: 'p50', tone: 'accent', kind: 'line', values: minutes.map((minute) => minute.p50_ms) },
      { name: 'p99', tone: 'wait', kind: 'line', values: minutes.map((minute) => minute.p99_ms) },
    ],
    [minutes],
  )
  const slowest = Math.max(0, ...minutes.map((minute) => minute.p99_ms ?? 0))
  return (
    <section class="card chart-card" aria-labelledby="chart-latency">
      <header class="card-head">
        <h2 id="chart-latency">Latency, from event to delivery</h2>
        <ChartLegend series={series} />
      </header>
      <Chart
        label={`Median and 99th percentile of the time from event to delivery over the last hour; the slowest minute's p99 was ${formatMilliseconds(slowest)}.`}
        timesS={timesS}
        series={series}
        format={formatMilliseconds}
      />
    </section>
  )
}
