import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { isolatedPoints } from '../lib/chart-data.ts'
import { useObservable } from '../lib/observable.ts'
import { theme, themeColour } from '../lib/theme.ts'

export type ChartSeries = {
  readonly name: string
  /** The name of a colour of the style sheet. */
  readonly tone: string
  readonly kind: 'line' | 'area' | 'bars'
  readonly values: readonly (number | null)[]
}

type ChartProps = {
  /** The text that a screen reader reads instead of the chart. */
  label: string
  /** The time of each value, in seconds since 1970. */
  timesS: readonly number[]
  series: readonly ChartSeries[]
  format: (value: number) => string
  /** The upper end of the vertical axis; by default it follows the values. */
  max?: number
}

const HEIGHT = 190

/** Draws series over time. The values under the pointer are written above them. */
function Chart({ label, timesS, series, format, max }: ChartProps) {
  const [pointedAt, setPointedAt] = useState<number | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const chosenTheme = useObservable(theme)
  const data = toAligned(timesS, series)
  // A canvas keeps its colours: it is drawn again when the theme changes.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(
        plotOptions({ width: element.clientWidth, series, format, max, setPointedAt }),
        data,
        element,
      )
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
  }, [chosenTheme])
  useEffect(() => plot.current?.setData(data), [timesS, series])
  return (
    <div class="chart" role="img" aria-label={label}>
      {pointedAt === null ? null : <PointedValues timesS={timesS} series={series} at={pointedAt} format={format} />}
      <div ref={box} />
    </div>
  )
}

type ChartSectionProps = ChartProps & { title: string; framed: boolean; children?: ComponentChildren }

/** Shows a chart with its title and legend; a framed one is a card of its own. */
export function ChartSection({ title, framed, children, ...chart }: ChartSectionProps) {
  return (
    <section class={framed ? 'card chart-section' : 'chart-section'} aria-label={title}>
      <header class="card-head">
        <h2>{title}</h2>
        <ChartLegend series={chart.series} />
      </header>
      <Chart {...chart} />
      {children}
    </section>
  )
}

/** Shows which colour is which series. */
export function ChartLegend({ series }: { series: readonly Pick<ChartSeries, 'name' | 'tone'>[] }) {
  return (
    <ul class="chart-legend" aria-label="Legend">
      {series.map(({ name, tone }) => (
        <li key={name}>
          <i class={`swatch ${tone}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  )
}

type PointedValuesProps = Pick<ChartProps, 'timesS' | 'series' | 'format'> & { at: number }

function PointedValues({ timesS, series, at, format }: PointedValuesProps) {
  const timeS = timesS[at]
  if (timeS === undefined) return null
  const values = series.map(({ name, values }) => {
    const value = values[at]
    return `${name} ${value == null ? '–' : format(value)}`
  })
  return (
    <p class="chart-pointed">
      <b>{formatMinute(timeS)}</b> {values.join(' · ')}
    </p>
  )
}

function toAligned(timesS: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  return [[...timesS], ...series.map(({ values }) => [...values])]
}

type PlotInput = {
  width: number
  series: readonly ChartSeries[]
  format: (value: number) => string
  max: number | undefined
  setPointedAt: (index: number | null) => void
}

/** An axis that ends at a tiny value would show noise as a trend. */
const MIN_RANGE = 4
/** Leaves space above the highest value for the pointed values. */
const HEADROOM = 1.15

function plotOptions({ width, series, format, max, setPointedAt }: PlotInput): uPlot.Options {
  const grid = { stroke: themeColour('line'), width: 1 }
  const axis = { stroke: themeColour('ink-3'), font: '11px system-ui, sans-serif', grid, ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    padding: [12, 18, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(plot) => setPointedAt(plot.cursor.idx ?? null)] },
    scales: { y: { range: (_, __, highest) => [0, max ?? Math.max(MIN_RANGE, highest * HEADROOM)] } },
    axes: [
      { ...axis, size: 30, grid: { show: false }, space: 70, values: (_, splits) => splits.map(formatMinute) },
      { ...axis, size: 58, values: (_, splits) => splits.map(format) },
    ],
    series: [{}, ...series.map(plotSeries)],
  }
}

const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const formatMinute = (timeS: number) => minute.format(new Date(timeS * 1_000))

function plotSeries({ kind, tone }: ChartSeries): uPlot.Series {
  const stroke = themeColour(tone)
  if (kind === 'bars') {
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
    // No line reaches a value between two missing ones: it is drawn as a point.
    points: {
      show: false,
      filter: (plot, index) => isolatedPoints(plot.data[index] ?? []),
      size: 5,
      width: 0,
      fill: stroke,
    },
    spanGaps: false,
    ...(kind === 'area' ? { fill: themeColour(`${tone}-soft`) } : {}),
  }
}
