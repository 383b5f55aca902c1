import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { milliseconds } from '../lib/format.ts'
import { lone } from '../lib/lone.ts'
import type { Minute } from '../lib/resources.ts'
import { useCell } from '../lib/state.ts'
import { theme, themeColour } from '../lib/theme.ts'

/** The last hour in two pictures: how much, and how fast. Failures are bars of their own, in red, over everything else. */
export function HourCharts({ minutes }: { minutes: readonly Minute[] }) {
  const events = minutes.reduce((total, minute) => total + minute.events, 0)
  const failed = minutes.reduce((total, minute) => total + minute.failed_attempts, 0)
  const slowest = minutes.reduce((most, minute) => Math.max(most, minute.p99_ms ?? 0), 0)
  const at = minutes.map((minute) => Date.parse(minute.at) / 1_000)
  return (
    <>
      <section class="card chart-card" aria-labelledby="chart-volume">
        <header class="card-head">
          <h2 id="chart-volume">Per minute, last hour</h2>
          <Key
            entries={[
              ['accent', 'events'],
              ['good', 'delivered'],
              ['bad', 'failed attempts'],
            ]}
          />
        </header>
        <Chart
          label={`Events, deliveries and failed attempts per minute over the last hour: ${events} events, ${failed} failed attempts.`}
          data={[
            at,
            minutes.map((minute) => minute.events),
            minutes.map((minute) => minute.delivered),
            minutes.map((minute) => minute.failed_attempts || null),
          ]}
          kinds={['area accent', 'line good', 'bars bad']}
          names={['events', 'delivered', 'failed']}
          unit={(value) => value.toLocaleString()}
        />
      </section>
      <section class="card chart-card" aria-labelledby="chart-latency">
        <header class="card-head">
          <h2 id="chart-latency">From event to delivery</h2>
          <Key
            entries={[
              ['accent', 'p50'],
              ['wait', 'p99'],
            ]}
          />
        </header>
        <Chart
          label={`Median and 99th percentile of the time from event to delivery over the last hour; the slowest minute's p99 was ${milliseconds(slowest)}.`}
          data={[at, minutes.map((minute) => minute.p50_ms), minutes.map((minute) => minute.p99_ms)]}
          kinds={['line accent', 'line wait']}
          names={['p50', 'p99']}
          unit={milliseconds}
        />
      </section>
    </>
  )
}

function Key({ entries }: { entries: readonly (readonly [tone: string, text: string])[] }) {
  return (
    <ul class="chart-key" aria-label="Key">
      {entries.map(([tone, text]) => (
        <li key={text}>
          <i class={`swatch ${tone}`} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  )
}

type ChartProps = {
  label: string
  data: uPlot.AlignedData
  /** Of each series: how it is drawn, and the colour's name. */
  kinds: readonly string[]
  names: readonly string[]
  unit: (value: number) => string
}

const HEIGHT = 190

function Chart({ label, data, kinds, names, unit }: ChartProps) {
  const [pointed, setPointed] = useState<number | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const chosen = useCell(theme)
  // Drawn anew when the theme changes, since a canvas keeps its colours.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(chartOptions(element.clientWidth, kinds, unit, setPointed), data, element)
    }
    draw()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      dark.removeEventListener('change', draw)
      resized.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [chosen])
  useEffect(() => plot.current?.setData(data), [data])
  return (
    <div class="chart" role="img" aria-label={label}>
      {pointed === null ? null : <Pointed data={data} at={pointed} names={names} unit={unit} />}
      <div ref={box} />
    </div>
  )
}

/** The values of the minute under the pointer. */
function Pointed({ data, at, names, unit }: Pick<ChartProps, 'data' | 'names' | 'unit'> & { at: number }) {
  const minute = data[0][at]
  if (minute === undefined) return null
  const values = names.map((name, index) => {
    const value = data[index + 1]?.[at]
    return `${name} ${value == null ? '–' : unit(value)}`
  })
  return (
    <p class="chart-pointed">
      <b>{hourAndMinute(minute)}</b> {values.join(' · ')}
    </p>
  )
}

function chartOptions(
  width: number,
  kinds: readonly string[],
  unit: (value: number) => string,
  point: (index: number | null) => void,
): uPlot.Options {
  const ink = themeColour('ink-3')
  const grid = { stroke: themeColour('line'), width: 1 }
  const font = '11px system-ui, sans-serif'
  const axis = { stroke: ink, font, grid, ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    padding: [12, 18, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.15)] } },
    axes: [
      { ...axis, size: 30, grid: { show: false }, space: 70, values: (_, splits) => splits.map(hourAndMinute) },
      { ...axis, size: 58, values: (_, splits) => splits.map(unit) },
    ],
    series: [{}, ...kinds.map(series)],
  }
}

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const hourAndMinute = (seconds: number) => hour.format(new Date(seconds * 1_000))

function series(kind: string): uPlot.Series {
  const [how = 'line', tone = 'accent'] = kind.split(' ')
  const stroke = themeColour(tone)
  if (how === 'bars') {
    const bars = uPlot.paths.bars
    return {
      stroke,
      fill: stroke,
      width: 0,
      points: { show: false },
      ...(bars ? { paths: bars({ size: [0.7, 12] }) } : {}),
    }
  }
  return {
    stroke,
    width: 2,
    // A minute between minutes without a value is no line: it would not be seen.
    points: { show: false, filter: (plot, index) => lone(plot.data[index] ?? []), size: 5, width: 0, fill: stroke },
    spanGaps: false,
    ...(how === 'area' ? { fill: themeColour(`${tone}-soft`) } : {}),
  }
}
