import type { Bar, Timeline } from '../../lib/call-timeline.ts'
import { formatStopwatch, humanize } from '../../lib/format.ts'
import type { Playback } from './use-playback.ts'
import { Waveform } from './waveform.tsx'

type ChartProps = {
  readonly timeline: Timeline
  readonly label: string
  readonly playback: Playback
  readonly eventCount: number
}

/**
 * Draws a call's timeline, a lane for each who took part. To a screen reader it is one image with a summary: the story
 * below has its facts. Where a recording can be played, a click sets the moment, as its player does with the keyboard.
 */
export function TimelineChart({ timeline, label, playback, eventCount }: ChartProps) {
  const { lanes, marks, ticks, fromMs, toMs } = timeline
  const share = (atMs: number) => (100 * Math.min(Math.max(atMs - fromMs, 0), toMs - fromMs)) / (toMs - fromMs)
  const isPlayable = playback.tracks.length > 0
  const seek = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    playback.seek(fromMs + ((event.clientX - left) / width) * (toMs - fromMs))
  }
  const head = playback.atMs === null ? null : share(playback.atMs)
  const common = { ticks, head, onClick: isPlayable ? seek : undefined }
  return (
    <div class={isPlayable ? 'lanes playable' : 'lanes'} role="img" aria-label={label}>
      {lanes.map((lane) => (
        <Lane key={lane.key} name={lane.label} detail={lane.detail} isNested={lane.depth > 0} {...common}>
          {lane.bars.map((bar, at) => (
            <BarRect key={at} bar={bar} name={lane.label} />
          ))}
        </Lane>
      ))}
      {playback.tracks.map((track) => (
        <Lane
          key={track.id}
          name={playback.tracks.length > 1 ? `Recording ${track.number}` : 'Recording'}
          detail={formatStopwatch((track.toMs - track.fromMs) / 1_000)}
          {...common}
        >
          <Waveform
            samples={playback.waveform(track.id)}
            left={share(track.fromMs)}
            width={share(track.toMs) - share(track.fromMs)}
            playedTo={head}
          />
        </Lane>
      ))}
      <Lane name="Events" detail={String(eventCount)} {...common}>
        {marks.map(({ left, name, sequence }) => (
          <line key={sequence} class="sent" x1={`${left}%`} x2={`${left}%`} y1="9" y2="21">
            <title>{humanize(name)}</title>
          </line>
        ))}
      </Lane>
      <div class="lane-name" />
      <svg class="lane axis" aria-hidden="true">
        {ticks.map(({ left, seconds }) => (
          <text key={seconds} x={`${left}%`} y="14" text-anchor={left > 97 ? 'end' : left < 3 ? 'start' : 'middle'}>
            {formatStopwatch(seconds)}
          </text>
        ))}
      </svg>
    </div>
  )
}

type LaneProps = {
  readonly name: string
  readonly detail: string
  readonly isNested?: boolean
  readonly ticks: Timeline['ticks']
  /** Where the moment that is played is; `null`: nothing is played. */
  readonly head: number | null
  readonly onClick: ((event: MouseEvent & { currentTarget: SVGSVGElement }) => void) | undefined
  readonly children: preact.ComponentChildren
}

function Lane({ name, detail, isNested = false, ticks, head, onClick, children }: LaneProps) {
  return (
    <>
      <div class={isNested ? 'lane-name in' : 'lane-name'} title={`${name} ${detail}`}>
        <span>
          <bdi>{name}</bdi>
        </span>
        <small>{detail}</small>
      </div>
      <svg class="lane" aria-hidden="true" onClick={onClick}>
        {ticks.map(({ left }) => (
          <line key={left} class="grid" x1={`${left}%`} x2={`${left}%`} y1="0" y2="30" />
        ))}
        {children}
        {head === null ? null : <line class="head playhead" x1={`${head}%`} x2={`${head}%`} y1="0" y2="30" />}
      </svg>
    </>
  )
}

/** A sliver has to be seen. */
const MIN_WIDTH = 0.5

function BarRect({ bar: { tone, left, width, text }, name }: { bar: Bar; name: string }) {
  const shown = Math.max(MIN_WIDTH, width)
  return (
    <rect class={tone} x={`${Math.min(left, 100 - shown)}%`} width={`${shown}%`} y="9" height="12">
      <title>
        {name} {text}
      </title>
    </rect>
  )
}
