/** The data and the axes of charts. Pure, but for the reader's time zone. */

/** Returns the indexes of values between two missing ones: no line reaches them, so they are drawn as points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const has = (at: number) => values[at] != null
  return Array.from({ length: values.length }, (_, at) => at).filter((at) => has(at) && !has(at - 1) && !has(at + 1))
}

/** Returns the lines of a series: the indexes of values without a missing one between them. */
export function linesOf(values: readonly (number | null)[]): number[][] {
  const lines: number[][] = []
  values.forEach((value, at) => {
    if (value === null) return
    const open = lines.at(-1)
    if (open?.at(-1) === at - 1) open.push(at)
    else lines.push([at])
  })
  return lines
}

/** Returns the series that have a value other than 0; the first one always stays. */
export const shownSeries = <T extends { readonly values: readonly (number | null)[] }>(series: readonly T[]): T[] =>
  series.filter(({ values }, at) => at === 0 || values.some((value) => value !== null && value !== 0))

/** Returns the upper end of an axis: 1, 2, 3, 4, 6 or 8 times a power of ten: its half is a round number too. */
export function niceMax(highest: number, least: number): number {
  const value = Math.max(highest, least)
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 3, 4, 6, 8].find((digit) => digit * power >= value) ?? 10) * power
}

/** The distances of labels: minutes, quarters, hours, six hours, days. */
const STEPS_S = [60, 300, 900, 3_600, 21_600, 86_400]
const MAX_LABELS = 7

/** Returns the times of the labels between two times (seconds since 1970): whole ones in the reader's zone. */
export function timeSplits(from: number, to: number): number[] {
  const everyS = STEPS_S.find((step) => (to - from) / step <= MAX_LABELS) ?? 86_400
  const offsetS = new Date(from * 1_000).getTimezoneOffset() * -60
  const first = Math.ceil((from + offsetS) / everyS) * everyS - offsetS
  return Array.from({ length: Math.max(0, Math.floor((to - first) / everyS) + 1) }, (_, at) => first + at * everyS)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })

/** Writes a time of the axis; a midnight is written as its day. */
export function timeLabel(seconds: number): string {
  const at = new Date(seconds * 1_000)
  return (at.getHours() === 0 && at.getMinutes() === 0 ? day : clock).format(at).replace(',', '')
}
