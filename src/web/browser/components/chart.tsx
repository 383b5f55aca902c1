import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { isolatedPoints, niceMax, shownSeries, timeLabel, timeSplits } from '../lib/chart-data.ts'
import { useObservable } from '../lib/observable.ts'
import { theme, themeColour } from '../lib/theme.ts'
import { Legend } from './legend.tsx'

export type ChartSeries = {
  readonly name: string
  /** The name of a colour of the style sheet. */
  readonly tone: 'accent' | 'bad-fill' | 'ink-3'
  readonly kind: 'area' | 'line' | 'dashed' | 'bars'
  readonly values: readonly (number | null)[]
}

type ChartProps = {
  readonly title: string
  /** The text that a screen reader reads instead of the chart. */
  readonly label: string
  /** The time of each value, in seconds since 1970. */
  readonly timesS: readonly number[]
  readonly series: readonly ChartSeries[]
  /** An axis that ends lower would show noise as a trend. */
  readonly least: number
  /** Written at the 0 alone. */
  readonly unit?: string
  /** The least that the horizontal axis shows: a young chart begins where its data begin. */
  readonly leastSeconds: number
  /** Called with the place of the pointer, `null` when it has left. */
  readonly onPoint: (at: number | null) => void
}

const HEIGHT = 148
const LEGEND_TONES = { accent: '', 'bad-fill': 'bad', 'ink-3': 'line-2' } as const

/** Draws series over time; a series without values is left out. The crosshairs of all charts move together. */
export function Chart({ title, label, timesS, series, least, unit = '', leastSeconds, onPoint }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const chosenTheme = useObservable(theme)
  const shown = shownSeries(series)
  // A canvas keeps its colours: it is drawn again when the theme changes.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let plot: uPlot | null = null
    const draw = () => {
      plot?.destroy()
      const options = plotOptions({ width: element.clientWidth, series: shown, least, unit, leastSeconds, onPoint })
      plot = new uPlot(options, [[...timesS], ...shown.map(({ values }) => [...values])], element)
    }
    draw()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      dark.removeEventListener('change', draw)
      resized.disconnect()
      plot?.destroy()
    }
  }, [chosenTheme, timesS, series])
  return (
    <figure class="chart">
      <header>
        <h3>{title}</h3>
        <Legend series={shown.map(({ name, tone }) => ({ name, tone: LEGEND_TONES[tone] }))} />
      </header>
      <div class="plot-box" role="img" aria-label={label} ref={box} />
    </figure>
  )
}

type PlotInput = Pick<ChartProps, 'series' | 'least' | 'leastSeconds' | 'onPoint'> & { width: number; unit: string }

function plotOptions({ width, series, least, unit, leastSeconds, onPoint }: PlotInput): uPlot.Options {
  const axis = {
    stroke: themeColour('ink-3'),
    font: '11px system-ui, sans-serif',
    ticks: { show: false },
    border: { show: false },
  }
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  // Room above the highest value.
  const top = niceMax(highest * 1.05, least)
  return {
    width,
    height: HEIGHT,
    // The last label needs its half width.
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: 'traffic' } },
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
    scales: {
      x: { range: (_, from, to) => [Math.min(from, to - leastSeconds), to] },
      y: { range: [0, top] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        grid: { show: false },
        splits: (_, __, from, to) => timeSplits(from, to),
        values: (_, at) => at.map(timeLabel),
      },
      {
        ...axis,
        size: 48,
        gap: 8,
        grid: { stroke: themeColour('line'), width: 1 },
        splits: () => [0, top / 2, top],
        values: (_, at) => at.map((value) => (value === 0 ? `0 ${unit}`.trim() : value.toLocaleString('en'))),
      },
    ],
    series: [{}, ...series.map(plotSeries)],
  }
}

function plotSeries({ tone, kind, values }: ChartSeries): uPlot.Series {
  const colour = themeColour(tone)
  const isBars = kind === 'bars'
  const bars = isBars ? uPlot.paths.bars?.({ size: [0.7, 6] }) : undefined
  return {
    stroke: colour,
    width: isBars ? 0 : 1.5,
    spanGaps: false,
    // No line reaches a value between two missing ones.
    points: isBars ? { show: false } : { show: true, filter: () => isolatedPoints(values), size: 4 },
    ...(bars === undefined ? {} : { paths: bars, fill: colour }),
    ...(kind === 'dashed' ? { dash: [3, 3] } : {}),
    ...(kind === 'area' ? { fill: themeColour('accent-soft') } : {}),
  }
}
