import type { Timeline } from '../../lib/call-timeline.ts'
import { formatStopwatch, humanize, pluralize } from '../../lib/format.ts'

const ROW_PX = 44

/**
 * Draws a call's timeline. Its facts are in the tables below it, so to a screen reader it is one image with a summary.
 */
export function TimelineChart({ timeline, label }: { timeline: Timeline; label: string }) {
  const { rows, marks, ticks } = timeline
  return (
    <div class="timeline" role="img" aria-label={label}>
      <div class="timeline-labels">
        {rows.map((row) => (
          <div key={row.key} class={row.depth > 0 ? 'timeline-label nested' : 'timeline-label'}>
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
        <TimelinePlot timeline={timeline} />
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

function TimelinePlot({ timeline: { rows, arrows, marks, ticks } }: { timeline: Timeline }) {
  return (
    <div class="timeline-plot" style={{ height: `${rows.length * ROW_PX}px` }}>
      {ticks.map((tick) => (
        <i key={tick.seconds} class="timeline-grid" style={{ left: `${tick.left}%` }} />
      ))}
      {marks.map((mark) => (
        <i key={mark.first} class="timeline-event" style={{ left: `${mark.left}%` }} />
      ))}
      {rows.map((row, at) => (
        <div key={row.key} class="timeline-row" style={{ top: `${at * ROW_PX}px` }}>
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
