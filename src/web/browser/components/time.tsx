import { formatDuration } from '../../../lib/time.ts'
import { formatDateTime, formatExactTime, formatTime } from '../lib/format.ts'

/** Shows a time of the day, with `day` also the day unless that is today. Its tooltip has it in full. */
export function Time({ at, day = false }: { at: string | null; day?: boolean }) {
  if (at === null) return <span class="muted">–</span>
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {day ? formatDateTime(at) : formatTime(at)}
    </time>
  )
}

/** Shows how long it is until a time, or `due` when that is now. */
export function TimeUntil({ at, nowMs }: { at: string; nowMs: number }) {
  const ms = Date.parse(at) - nowMs
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {ms < 1_000 ? 'due' : `in ${formatDuration(ms)}`}
    </time>
  )
}
