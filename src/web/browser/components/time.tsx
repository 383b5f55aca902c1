import { formatClock, formatDate, formatDateTime, formatExactTime, formatTime, formatTimeMs } from '../lib/format.ts'

const FORMATS = {
  clock: formatClock,
  seconds: formatTime,
  ms: formatTimeMs,
  date: formatDate,
  full: formatDateTime,
} as const

/**
 * Shows a time; its tooltip has it in full. `clock`: below a heading with the day; `full`: by itself, with the day
 * unless that is today; `date`: the day alone.
 */
export function Time({ at, as = 'full' }: { at: string | null; as?: keyof typeof FORMATS }) {
  if (at === null) return <span class="dim">–</span>
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {FORMATS[as](at)}
    </time>
  )
}
