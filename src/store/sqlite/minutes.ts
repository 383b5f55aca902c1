import type { MinuteFigures, StatisticsStore } from '../operations/statistics.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

type Save = Parameters<StatisticsStore['minuteSave']>[0]

export const saveMinutes = mutation('statistics.minuteSave', (tx: Tx, { figures, beforeMinute }: Save): void => {
  prepared<never, [number]>(tx, 'DELETE FROM minutes WHERE minute < ?').run(beforeMinute)
  const put = prepared<never, [number, number, number, number, number, number, number, string]>(
    tx,
    `INSERT OR REPLACE INTO minutes
       (minute, account_id, webhook_id, events, delivered, failed_attempts, failed_probes, latencies)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  for (const one of figures) {
    const { minute, accountId, webhookId, events, delivered, failedAttempts, failedProbes, latencies } = one
    put.run(minute, accountId, webhookId, events, delivered, failedAttempts, failedProbes, JSON.stringify(latencies))
  }
})

type Row = Omit<MinuteFigures, 'latencies'> & { readonly latencies: string }

const figuresOf = (row: Row): MinuteFigures => ({ ...row, latencies: JSON.parse(row.latencies) })

/** Creates the statistics operations of the engine: the figures of the page. */
export function createStatisticsStore({ read, commit }: Database): StatisticsStore {
  return {
    minuteSave: (step) => commit(saveMinutes, step),
    minuteGet: async (minute) =>
      prepared<Row, [number]>(
        read,
        `SELECT minute, account_id AS accountId, webhook_id AS webhookId, events, delivered,
           failed_attempts AS failedAttempts, failed_probes AS failedProbes, latencies FROM minutes WHERE minute = ?`,
      )
        .all(minute)
        .map(figuresOf),
    minuteGetOfAccount: async ({ accountId, minutes }) =>
      prepared<Row, [string, number]>(
        read,
        `SELECT minute, account_id AS accountId, webhook_id AS webhookId, events, delivered,
           failed_attempts AS failedAttempts, failed_probes AS failedProbes, latencies
         FROM minutes WHERE minute IN (SELECT value FROM json_each(?)) AND account_id = ? ORDER BY minute, webhook_id`,
      )
        .all(JSON.stringify(minutes), accountId)
        .map(figuresOf),
  }
}
