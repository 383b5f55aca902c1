import { useMemo } from 'preact/hooks'
import { ChartSection, type ChartSeries } from '../../components/chart.tsx'
import { successRate } from '../../lib/chart-data.ts'
import { formatMilliseconds, pluralize } from '../../lib/format.ts'
import type { Minute, WebhookMinute } from '../../lib/resources.ts'

/** Charts the last hour of an account: how many events, deliveries and failures in each minute. */
export function VolumeChart({ minutes }: { minutes: readonly Minute[] }) {
  const series = useMemo(
    (): ChartSeries[] => [
      { name: 'events', tone: 'accent', kind: 'area', values: minutes.map((minute) => minute.events) },
      { name: 'delivered', tone: 'good', kind: 'line', values: minutes.map((minute) => minute.delivered) },
      // Bars of height 0 would hide the axis.
      { name: 'failed probes', tone: 'ring', kind: 'bars', values: minutes.map((one) => one.failed_probes || null) },
      { name: 'failed attempts', tone: 'bad', kind: 'bars', values: minutes.map((one) => one.failed_attempts || null) },
    ],
    [minutes],
  )
  const events = minutes.reduce((total, minute) => total + minute.events, 0)
  return (
    <ChartSection
      title="Last hour"
      framed
      label={`Figures per minute over the last hour: ${pluralize(events, 'event')}, ${describeRequests(minutes)}.`}
      timesS={useTimes(minutes)}
      series={series}
      format={(value) => value.toLocaleString()}
    />
  )
}

/** Charts the median and the 99th percentile of the time from event to delivery. */
export function LatencyChart({ minutes, framed }: { minutes: readonly WebhookMinute[]; framed: boolean }) {
  const series = useMemo(
    (): ChartSeries[] => [
      { name: 'median', tone: 'accent', kind: 'line', values: minutes.map((minute) => minute.p50_ms) },
      { name: '99th percentile', tone: 'ring', kind: 'line', values: minutes.map((minute) => minute.p99_ms) },
    ],
    [minutes],
  )
  const slowest = Math.max(0, ...minutes.map((minute) => minute.p99_ms ?? 0))
  return (
    <ChartSection
      title="Latency, from event to delivery"
      framed={framed}
      label={`Median and 99th percentile of the time from event to delivery over the last hour; the slowest minute's p99 was ${formatMilliseconds(slowest)}.`}
      timesS={useTimes(minutes)}
      series={series}
      format={formatMilliseconds}
    />
  )
}

/** Charts the share of a webhook's requests that succeeded. */
export function SuccessChart({ minutes }: { minutes: readonly WebhookMinute[] }) {
  const series = useMemo(
    (): ChartSeries[] => [{ name: 'successful', tone: 'good', kind: 'line', values: minutes.map(successRate) }],
    [minutes],
  )
  const summary = describeRequests(minutes)
  return (
    <ChartSection
      title="Success rate, last hour"
      framed={false}
      label={`Share of requests that succeeded, minute by minute over the last hour: ${summary}.`}
      timesS={useTimes(minutes)}
      series={series}
      format={(value) => `${Math.round(value)} %`}
      max={100}
    >
      <p class="hint">{summary}</p>
    </ChartSection>
  )
}

function describeRequests(minutes: readonly WebhookMinute[]): string {
  const sum = (count: (minute: WebhookMinute) => number) => minutes.reduce((total, one) => total + count(one), 0)
  return [
    `${sum((minute) => minute.delivered).toLocaleString()} delivered`,
    pluralize(
      sum((minute) => minute.failed_attempts),
      'failed attempt',
    ),
    pluralize(
      sum((minute) => minute.failed_probes),
      'failed probe',
    ),
  ].join(', ')
}

function useTimes(minutes: readonly WebhookMinute[]): readonly number[] {
  return useMemo(() => minutes.map((minute) => Date.parse(minute.at) / 1_000), [minutes])
}
