import type { Timeline } from '../../lib/call-timeline.ts'
import { formatStopwatch, humanize, pluralize } from '../../lib/format.ts'
import type { Playback } from './use-playback.ts'

const ROW_PX = 44

type ChartProps = {
  timeline: Timeline
  label: string
  playback: Playback
  /** The keys of the rows in which something happens at the moment that is played. */
  current: ReadonlySet<string>
}

/**
 * Draws a call's timeline. Its facts are in the tables below it, so to a screen reader it is one image with a summary.
 * Where a recording can be played, a click sets the moment; the players below it do the same with the keyboard.
 */
export function TimelineChart({ timeline, label, playback, current }: ChartProps) {
  const { rows, marks, ticks } = timeline
  return (
    <div class="timeline" role="img" aria-label={label}>
      <div class="timeline-labels">
        {rows.map((row) => (
          <div key={row.key} class={labelClass(row, current)}>
            <b>{row.label}</b>
            <small>{row.detail}</small>
          </div>
        ))}
        <div class="timeline-label axis">
          <b>Events</b>
          <small>{pluralize(marks.at(-1)?.last ?? 0, 'event')}</small>
        </div>
      </div>
      <div class="timeline-tracks">
        <TimelinePlot timeline={timeline} playback={playback} current={current} />
        <div class="timeline-marks">
          {marks.map((mark) => (
            <span
              key={mark.first}
              class={`timeline-mark ${markKind(mark.names)}`}
              style={{ left: `${mark.left}%` }}
              title={mark.names.map(humanize).join(', ')}
            >
              {mark.first === mark.last ? mark.first : `${mark.first}–${mark.last}`}
            </span>
          ))}
        </div>
        <div class="timeline-ticks">
          {ticks.map((tick) => (
            <small key={tick.seconds} style={{ left: `${tick.left}%` }}>
              {formatStopwatch(tick.seconds)}
            </small>
          ))}
        </div>
      </div>
    </div>
  )
}

const labelClass = ({ key, depth }: Timeline['rows'][number], current: ReadonlySet<string>): string =>
  ['timeline-label', depth > 0 && 'nested', current.has(key) && 'current'].filter((one) => one !== false).join(' ')

function TimelinePlot({ timeline, playback, current }: Omit<ChartProps, 'label'>) {
  const { rows, arrows, marks, ticks, fromMs, toMs } = timeline
  const share = (atMs: number) => (100 * Math.min(Math.max(atMs - fromMs, 0), toMs - fromMs)) / (toMs - fromMs)
  const isPlayable = playback.tracks.length > 0
  const seek = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    playback.seek(fromMs + ((event.clientX - left) / width) * (toMs - fromMs))
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the players below do this with the keyboard
    // biome-ignore lint/a11y/noStaticElementInteractions: to a screen reader this is part of an image
    <div
      class={isPlayable ? 'timeline-plot playable' : 'timeline-plot'}
      style={{ height: `${rows.length * ROW_PX}px` }}
      onClick={isPlayable ? seek : undefined}
    >
      {playback.tracks.map((track) => (
        <i
          key={track.id}
          class="timeline-recorded"
          style={{ left: `${share(track.fromMs)}%`, width: `${share(track.toMs) - share(track.fromMs)}%` }}
        />
      ))}
      {playback.atMs === null ? null : <i class="playhead" style={{ left: `${share(playback.atMs)}%` }} />}
      {ticks.map((tick) => (
        <i key={tick.seconds} class="timeline-grid" style={{ left: `${tick.left}%` }} />
      ))}
      {marks.map((mark) => (
        <i key={mark.first} class="timeline-event" style={{ left: `${mark.left}%` }} />
      ))}
      {rows.map((row, at) => (
        <div
          key={row.key}
          class={current.has(row.key) ? 'timeline-row current' : 'timeline-row'}
          style={{ top: `${at * ROW_PX}px` }}
        >
          {row.bars.map((bar) => (
            <span
              key={bar.tone}
              class={`bar ${bar.tone}`}
              style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
              title={`${row.label} ${bar.text}`}
            >
              <em>{bar.text}</em>
            </span>
          ))}
        </div>
      ))}
      {arrows.map((arrow) => (
        <span
          key={`${arrow.left} ${arrow.fromRow}`}
          class={arrow.toRow > arrow.fromRow ? 'arrow down' : 'arrow up'}
          title={arrow.text}
          style={{
            left: `${arrow.left}%`,
            top: `${(Math.min(arrow.fromRow, arrow.toRow) + 0.5) * ROW_PX}px`,
            height: `${Math.abs(arrow.toRow - arrow.fromRow) * ROW_PX}px`,
          }}
        />
      ))}
    </div>
  )
}

/** Chooses the colour of a mark for several events: a transfer matters most, then the call itself. */
function markKind(names: readonly string[]): string {
  if (names.some((name) => name.includes('transfer'))) return 'transfer'
  return names.every((name) => name.startsWith('dial')) ? 'dial' : 'call'
}
