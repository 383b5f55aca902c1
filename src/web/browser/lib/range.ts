/** The times that a list can be limited to. They are kept in the address; days are the reader's. */
export const RANGES = ['today', 'week', 'month', 'dates'] as const
export type RangeName = (typeof RANGES)[number]

type Query = Readonly<Record<string, string | undefined>>

/** Returns the range of an address; 7 days without one. */
export const rangeOf = ({ range }: Query): RangeName => RANGES.find((name) => name === range) ?? 'week'

const DAYS = { today: 0, week: 6, month: 29 } as const

/** Returns the times of a range as the API has them. A date that is missing or wrong is no limit. */
export function timesOf(query: Query, nowMs: number): { since?: string; until?: string } {
  const range = rangeOf(query)
  if (range !== 'dates') return { since: startOfDay(new Date(nowMs), -DAYS[range]).toISOString() }
  const since = dateOf(query.from)
  const until = dateOf(query.to)
  return {
    ...(since === undefined ? {} : { since: since.toISOString() }),
    ...(until === undefined ? {} : { until: startOfDay(until, 1).toISOString() }),
  }
}

/** Returns the next wider range, for a list without a match; `null` after the widest range. */
export const widerRange = (query: Query): RangeName | null => {
  const range = rangeOf(query)
  if (range === 'today') return 'week'
  return range === 'week' ? 'month' : null
}

function startOfDay(date: Date, days: number): Date {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days)
}

function dateOf(text: string | undefined): Date | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  return new Date(Number(year), Number(month) - 1, Number(day))
}
