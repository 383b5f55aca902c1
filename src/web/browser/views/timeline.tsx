import { plural, stopwatch, words } from '../lib/format.ts'
import type { Timeline } from '../lib/timeline.ts'

const ROW_PX = 44

/** The picture of a call. Its words are in the tables below it, so to a screen reader it is one image with a summary. */
export function TimelinePicture({ timeline, label }: { timeline: Timeline; label: string }) {
  const { rows, arrows, marks, ticks } = timeline
  const height = rows.length * ROW_PX
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
          <small>{plural(marks.at(-1)?.last ?? 0, 'event')}</small>
        </div>
      </div>
      <div class="timeline-tracks">
        <div class="timeline-plot" style={{ height: `${height}px` }}>
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
        <div class="timeline-marks">
          {marks.map((mark) => (
            <span
              key={mark.first}
              class={`mark-pin ${family(mark.names)}`}
              style={{ left: `${mark.left}%` }}
              title={mark.names.map(words).join(', ')}
            >
              {mark.first === mark.last ? mark.first : `${mark.first}–${mark.last}`}
            </span>
          ))}
        </div>
        <div class="timeline-ticks">
          {ticks.map((tick) => (
            <small key={tick.seconds} style={{ left: `${tick.left}%` }}>
              {stopwatch(tick.seconds)}
            </small>
          ))}
        </div>
      </div>
    </div>
  )
}

/** Of several, the one that says most: a transfer before a call's own, that before a phone's. */
function family(names: readonly string[]): string {
  if (names.some((name) => name.includes('transfer'))) return 'transfer'
  return names.every((name) => name.startsWith('dial')) ? 'dial' : 'call'
}
