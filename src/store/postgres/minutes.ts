import type { MinuteFigures, StatisticsStore } from '../operations/statistics.ts'
import { bigints, texts } from './engine/client.ts'
import type { Database } from './engine/database.ts'

type Row = Omit<MinuteFigures, 'latencies'> & { readonly latencies: string }

/** Creates the statistics operations of the engine: the figures of the page. Each node saves and reads its own. */
export function createStatisticsStore({ read, transaction, node }: Database): StatisticsStore {
  return {
    minuteSave: ({ figures, beforeMinute }) =>
      transaction(async (query) => {
        await query('DELETE FROM minutes WHERE minute < $1::bigint', [beforeMinute])
        const numbers = (pick: (one: MinuteFigures) => number) => bigints(figures.map(pick))
        await query(
          `INSERT INTO minutes (node, minute, account_id, webhook_id, events, delivered, failed_attempts, failed_probes, latencies)
           SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[])
           ON CONFLICT (minute, account_id, webhook_id, node) DO UPDATE SET events = excluded.events, delivered = excluded.delivered,
             failed_attempts = excluded.failed_attempts, failed_probes = excluded.failed_probes, latencies = excluded.latencies`,
          [
            ...[node, numbers(({ minute }) => minute), numbers(({ accountId }) => accountId)],
            ...[numbers(({ webhookId }) => webhookId), numbers(({ events }) => events)],
            ...[numbers(({ delivered }) => delivered), numbers(({ failedAttempts }) => failedAttempts)],
            numbers(({ failedProbes }) => failedProbes),
            texts(figures.map(({ latencies }) => JSON.stringify(latencies))),
          ],
        )
      }),
    minuteGet: async (minute) => {
      const rows = await read<Row>(
        `SELECT minute::float8 AS minute, account_id::float8 AS "accountId", webhook_id::float8 AS "webhookId",
           events::float8 AS events, delivered::float8 AS delivered, failed_attempts::float8 AS "failedAttempts",
           failed_probes::float8 AS "failedProbes", latencies
         FROM minutes WHERE minute = $1::bigint AND node = $2 ORDER BY account_id, webhook_id`,
        [minute, node],
      )
      return rows.map((row) => ({ ...row, latencies: JSON.parse(row.latencies) }))
    },
  }
}
