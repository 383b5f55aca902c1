import { rfc3339, SECOND } from '../../lib/time.ts'
import type { QuarterFigures, StatisticsStore } from '../../store/operations/statistics.ts'
import type { TrafficPeriod } from '../model.ts'
import { QUARTER_MINUTES, sumOf } from './last-hour.ts'

/** How many quarters of an hour a period has, and how many periods there are. */
const RANGES = { day: { quarters: 1, periods: 96 }, week: { quarters: 8, periods: 84 } } as const
const QUARTER_US = QUARTER_MINUTES * 60 * SECOND
/** The account that stands for the service: it has an entry for each quarter in which the service ran. */
const SERVICE = 0

type Query = { readonly accountId: number; readonly range: keyof typeof RANGES; readonly nowUs: number }

/** Returns the figures of an account in the periods of a range, the oldest first. */
export async function readTraffic(
  statistics: Pick<StatisticsStore, 'quarterGetOfAccount'>,
  { accountId, range, nowUs }: Query,
): Promise<TrafficPeriod[]> {
  const { quarters, periods } = RANGES[range]
  const lastPeriod = Math.floor(nowUs / QUARTER_US / quarters)
  const first = lastPeriod - periods + 1
  const figures = await statistics.quarterGetOfAccount({ accountId, fromQuarter: first * quarters })
  const byPeriod = Map.groupBy(figures, ({ quarter }) => Math.floor(quarter / quarters))
  return Array.from({ length: periods }, (_, at) =>
    periodOf((first + at) * quarters * QUARTER_US, byPeriod.get(first + at)),
  )
}

function periodOf(atUs: number, figures: readonly QuarterFigures[] | undefined): TrafficPeriod {
  if (figures === undefined)
    return {
      at: rfc3339(atUs),
      events: null,
      delivered: null,
      failed_attempts: null,
      failed_probes: null,
      p50_ms: null,
      p99_ms: null,
    }
  return sumOf(
    atUs,
    figures.filter(({ accountId }) => accountId !== SERVICE),
  )
}
