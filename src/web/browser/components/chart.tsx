import { useEffect, useRef, useState } from 'preact/hooks'
import { isolatedPoints, linesOf, niceMax, shownSeries, timeLabel, timeSplits } from '../lib/chart-data.ts'
import { Legend } from './legend.tsx'

export type ChartSeries = {
  readonly name: string
  readonly tone: 'accent' | 'bad' | 'grey'
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
  /** The index of the value under the pointer, here or in a chart beside it. */
  readonly at: number | null
  readonly onPoint: (at: number | null) => void
}

const HEIGHT = 148
/** Room for the labels of the axes; the last one below needs its half width. */
const EDGE = { top: 8, right: 18, bottom: 26, left: 56 } as const
const FLOOR = HEIGHT - EDGE.bottom
const MAX_BAR_PX = 6
const LEGEND_TONES = { accent: '', bad: 'bad', grey: 'line-2' } as const

/** Draws series over time; a series without values is left out. The crosshairs of charts beside each other are one. */
export function Chart(props: ChartProps) {
  const { title, label, timesS, series, least, unit = '', leastSeconds, at, onPoint } = props
  const [width, box] = useWidth()
  const shown = shownSeries(series)
  const to = timesS.at(-1) ?? 0
  const from = Math.min(timesS[0] ?? to, to - leastSeconds)
  const highest = Math.max(0, ...shown.flatMap(({ values }) => values.map((value) => value ?? 0)))
  // Room above the highest value.
  const top = niceMax(highest * 1.05, least)
  const xOf = (seconds: number) => EDGE.left + ((seconds - from) / (to - from)) * (width - EDGE.left - EDGE.right)
  const yOf = (value: number) => FLOOR - (value / top) * (FLOOR - EDGE.top)
  const xs = timesS.map(xOf)
  const point = (event: PointerEvent & { currentTarget: SVGElement }) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left
    const distances = xs.map((one) => Math.abs(one - x))
    onPoint(distances.indexOf(Math.min(...distances)))
  }
  const cursor = at === null ? undefined : xs[at]
  return (
    <figure class="chart">
      <header>
        <h3>{title}</h3>
        <Legend series={shown.map(({ name, tone }) => ({ name, tone: LEGEND_TONES[tone] }))} />
      </header>
      <div class="plot-box" ref={box}>
        <svg
          role="img"
          aria-label={label}
          width={width}
          height={HEIGHT}
          onPointerMove={point}
          onPointerLeave={() => onPoint(null)}
        >
          {[0, top / 2, top].map((value) => (
            <g key={value}>
              <line class="grid" x1={EDGE.left} x2={width - EDGE.right} y1={yOf(value)} y2={yOf(value)} />
              <text class="tick end" x={EDGE.left - 8} y={yOf(value) + 4}>
                {value === 0 ? `0 ${unit}`.trim() : value.toLocaleString('en')}
              </text>
            </g>
          ))}
          {timeSplits(from, to).map((seconds) => (
            <text key={seconds} class="tick middle" x={xOf(seconds)} y={HEIGHT - 8}>
              {timeLabel(seconds)}
            </text>
          ))}
          {shown.map((one) => (
            <Series key={one.name} series={one} xs={xs} yOf={yOf} />
          ))}
          {cursor === undefined ? null : <line class="cursor" x1={cursor} x2={cursor} y1={EDGE.top} y2={FLOOR} />}
        </svg>
      </div>
    </figure>
  )
}

type SeriesProps = { series: ChartSeries; xs: readonly number[]; yOf: (value: number) => number }

function Series({ series: { kind, tone, values }, xs, yOf }: SeriesProps) {
  if (kind === 'bars') {
    const step = (xs[1] ?? 0) - (xs[0] ?? 0)
    const width = Math.max(1, Math.min(MAX_BAR_PX, step * 0.7))
    return (
      <g class={`series ${tone} bars`}>
        {xs.map((x, at) => {
          const y = yOf(values[at] ?? 0)
          return values[at] == null ? null : <rect key={x} x={x - width / 2} y={y} width={width} height={FLOOR - y} />
        })}
      </g>
    )
  }
  const pathOf = (line: readonly number[]) => line.map((at) => `${xs[at]},${yOf(values[at] ?? 0)}`).join('L')
  const lines = linesOf(values)
  return (
    <g class={`series ${tone} ${kind}`}>
      {kind === 'area'
        ? lines.map((line) => (
            <path
              key={line[0]}
              class="ground"
              d={`M${xs[line[0] ?? 0]},${FLOOR}L${pathOf(line)}L${xs[line.at(-1) ?? 0]},${FLOOR}Z`}
            />
          ))
        : null}
      {lines.map((line) => (
        <path key={line[0]} class="line" d={`M${pathOf(line)}`} />
      ))}
      {/* No line reaches a value between two missing ones. */}
      {isolatedPoints(values).map((at) => (
        <circle key={at} cx={xs[at] ?? 0} cy={yOf(values[at] ?? 0)} r={2} />
      ))}
    </g>
  )
}

/** Returns the width of an element, as it is now. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const resized = new ResizeObserver(() => setWidth(element.clientWidth))
    resized.observe(element)
    return () => resized.disconnect()
  }, [])
  return [width, box] as const
}
