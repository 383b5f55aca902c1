/** Times are integer microseconds since 1970 (`atUs`); durations are milliseconds unless the name has another unit. */

export const MILLISECOND = 1_000
export const SECOND = 1_000_000

/** A clock, in microseconds since 1970. Clocks are parameters. */
export type NowUs = () => number

/**
 * Makes a wall clock in microseconds of one in whole milliseconds and of the time that has elapsed. It follows the
 * first, also when that is set, and otherwise never goes back: within a millisecond the elapsed time counts. If the
 * system's clock is set back by less than a second, it stands still until then.
 */
function newWallClock(wholeMs: () => number, elapsedMs: () => number): NowUs {
  let anchorUs = Number.NEGATIVE_INFINITY
  let anchoredMs = 0
  let lastUs = Number.NEGATIVE_INFINITY
  return () => {
    const [wallUs, nowMs] = [wholeMs() * MILLISECOND, elapsedMs()]
    let us = anchorUs + Math.floor((nowMs - anchoredMs) * MILLISECOND)
    // Where the anchor is within its millisecond is unknown, and the thread may have paused between the two readings.
    if (us < wallUs || us >= wallUs + 2 * MILLISECOND) {
      anchorUs = wallUs
      anchoredMs = nowMs
      us = wallUs
    }
    if (us > lastUs || lastUs - us >= SECOND) lastUs = us
    return lastUs
  }
}

/** Returns the wall clock in microseconds. It follows the system's clock, also when that is set. */
export const nowUs: NowUs = newWallClock(Date.now, () => performance.now())

/**
 * Returns the steady clock in microseconds from an arbitrary moment: for durations, which must not change when the wall
 * clock is set.
 */
export const steadyUs: NowUs = () => Math.floor(performance.now() * MILLISECOND)

/** Formats a time as RFC 3339 in UTC with microseconds: `2026-11-20T21:42:00.123456Z`. */
export function rfc3339(atUs: number): string {
  const ms = Math.floor(atUs / MILLISECOND)
  const micros = atUs - ms * MILLISECOND
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`
}

const RFC3339 =
  /^(\d{4}-\d\d)-(\d\d)T([01]\d|2[0-3])(:[0-5]\d):([0-5]\d|60)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Parses a time as RFC 3339 has it, with its zone: without one it would be another time on each machine. Returns
 * microseconds (further digits are dropped), `undefined` if it is no such time.
 */
export function parseTime(text: string): number | undefined {
  const found = RFC3339.exec(text)
  if (found === null) return undefined
  const [, month = '', day = '', hour = '', minute = '', second = '', fraction = '', zone = ''] = found
  // A leap second is read as the second before it: the clocks here have none.
  const wholeMs = Date.parse(`${month}-${day}T${hour}${minute}:${second === '60' ? '59' : second}${zone.toUpperCase()}`)
  if (Number.isNaN(wholeMs) || !isDayOf(month, day)) return undefined
  return wholeMs * MILLISECOND + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** Returns whether a month has a day: Date.parse takes the 30th of February for the 2nd of March. */
const isDayOf = (month: string, day: string): boolean =>
  new Date(Date.parse(`${month}-${day}T00:00:00Z`)).getUTCDate() === Number(day)

/** Returns the whole seconds from one time to another, rounded down, never below 0. */
export function wholeSeconds(fromUs: number, toUs: number): number {
  return Math.max(0, Math.floor((toUs - fromUs) / SECOND))
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Parses `500ms`, `5s`, `2m`, `1h` or `30d`. Returns milliseconds, `undefined` if it is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim())
  const unit = match?.[2] === undefined ? undefined : UNIT_MS[match[2]]
  return unit === undefined ? undefined : Number(match?.[1]) * unit
}

/** Formats a duration roughly, as `7 s`, `3 min`, `2 h` or `4 d`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}
