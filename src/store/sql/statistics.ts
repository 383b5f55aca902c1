import { sql } from 'drizzle-orm'
import type { MinuteFigures, QuarterFigures, StatisticsStore } from '../operations/statistics.ts'
import { type Declarations, read, write } from './operation.ts'
import { select } from './select.ts'
import { among, integers, onPostgres, run, tableOf, texts, thisNode, type Work } from './statement.ts'
import { minutes, quarters } from './tables.ts'

// Each node of a cluster saves its own figures.

/** Returns the columns that minutes and quarters have in common. */
const countColumns = (figures: readonly Omit<QuarterFigures, 'quarter'>[]) => ({
  events: integers(figures.map(({ events }) => events)),
  delivered: integers(figures.map(({ delivered }) => delivered)),
  failed_attempts: integers(figures.map(({ failedAttempts }) => failedAttempts)),
  failed_probes: integers(figures.map(({ failedProbes }) => failedProbes)),
  latencies: texts(figures.map(({ latencies }) => JSON.stringify(latencies))),
})

type Save = Parameters<StatisticsStore['minuteSave']>[0]

function* saveMinutes({ figures, beforeMinute }: Save): Work<void> {
  yield* run(sql`DELETE FROM minutes WHERE minute < ${beforeMinute}`)
  const numbers = (pick: (one: MinuteFigures) => number) => integers(figures.map(pick))
  const saved = tableOf('f', {
    minute: numbers(({ minute }) => minute),
    account_id: numbers(({ accountId }) => accountId),
    webhook_id: numbers(({ webhookId }) => webhookId),
    ...countColumns(figures),
  })
  yield* run(sql`
    INSERT INTO minutes (${onPostgres(sql`node,`)} minute, account_id, webhook_id, events, delivered, failed_attempts,
      failed_probes, latencies)
    SELECT ${onPostgres(sql`${thisNode},`)} minute, account_id, webhook_id, events, delivered, failed_attempts,
      failed_probes, latencies FROM ${saved} WHERE TRUE
    ON CONFLICT (minute, account_id, webhook_id ${onPostgres(sql`, node`)}) DO UPDATE SET events = excluded.events,
      delivered = excluded.delivered, failed_attempts = excluded.failed_attempts,
      failed_probes = excluded.failed_probes, latencies = excluded.latencies`)
}

type SaveQuarters = Parameters<StatisticsStore['quarterSave']>[0]

function* saveQuarters({ figures, beforeQuarter }: SaveQuarters): Work<void> {
  const numbers = (pick: (one: QuarterFigures) => number) => integers(figures.map(pick))
  const saved = tableOf('f', {
    quarter: numbers(({ quarter }) => quarter),
    account_id: numbers(({ accountId }) => accountId),
    ...countColumns(figures),
  })
  // The accounts that have new figures: old ones of others are deleted when they have some again.
  yield* run(sql`
    DELETE FROM quarters WHERE quarter < ${beforeQuarter} AND account_id ${among(numbers(({ accountId }) => accountId))}`)
  yield* run(sql`
    INSERT INTO quarters (${onPostgres(sql`node,`)} quarter, account_id, events, delivered, failed_attempts, failed_probes,
      latencies)
    SELECT ${onPostgres(sql`${thisNode},`)} quarter, account_id, events, delivered, failed_attempts, failed_probes, latencies
    FROM ${saved} WHERE TRUE
    ON CONFLICT (account_id, quarter ${onPostgres(sql`, node`)}) DO UPDATE SET events = excluded.events,
      delivered = excluded.delivered, failed_attempts = excluded.failed_attempts,
      failed_probes = excluded.failed_probes, latencies = excluded.latencies`)
}

/** The operations on the figures of the page. */
export const STATISTICS: Declarations<StatisticsStore> = {
  minuteSave: write(saveMinutes, { isQuiet: true }),
  quarterSave: write(saveQuarters, { isQuiet: true }),
  quarterGetOfAccount: read(({ accountId, fromQuarter }) =>
    select(
      quarters,
      sql`WHERE account_id ${among(integers([0, accountId]))} AND quarter >= ${fromQuarter}
        ORDER BY quarter, account_id ${onPostgres(sql`, node`)}`,
    ),
  ),
  minuteGet: read((minute) =>
    select(
      minutes,
      sql`WHERE minute = ${minute} ${onPostgres(sql`AND node = ${thisNode}`)} ORDER BY account_id, webhook_id`,
    ),
  ),
  minuteGetOfAccount: read(({ accountId, minutes: wanted }) =>
    select(
      minutes,
      sql`WHERE minute ${among(integers(wanted))} AND account_id = ${accountId}
        ORDER BY minute, webhook_id ${onPostgres(sql`, node`)}`,
    ),
  ),
}
