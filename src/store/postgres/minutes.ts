import type { MinuteFigures, StatisticsStore } from '../operations/statistics.ts'
import { bigints, texts } from './engine/client.ts'
import type { Database } from './engine/database.ts'

type Row = Omit<MinuteFigures, 'latencies'> & { readonly latencies: string }

const COLUMNS = `minute::float8 AS minute, account_id::float8 AS "accountId", webhook_id::float8 AS "webhookId",
  events::float8 AS events, delivered::float8 AS delivered, failed_attempts::float8 AS "failedAttempts",
  failed_probes::float8 AS "failedProbes", latencies`

const SAVE = `
  WITH old AS (DELETE FROM minutes WHERE minute < $1::bigint)
  INSERT INTO minutes (node, minute, account_id, webhook_id, events, delivered, failed_attempts, failed_probes, latencies)
  SELECT $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[])
  ON CONFLICT (minute, account_id, webhook_id, node) DO UPDATE SET events = excluded.events, delivered = excluded.delivered,
    failed_attempts = excluded.failed_attempts, failed_probes = excluded.failed_probes, latencies = excluded.latencies`

/** Creates the statistics operations of the engine: the figures of the page. Each node saves its own. */
export function createStatisticsStore({ read, transaction, node }: Database): StatisticsStore {
  return {
    minuteSave: ({ figures, beforeMinute }) =>
      transaction(async (query) => {
        const numbers = (pick: (one: MinuteFigures) => number) => bigints(figures.map(pick))
        await query(SAVE, [
          ...[beforeMinute, node, numbers(({ minute }) => minute), numbers(({ accountId }) => accountId)],
          ...[numbers(({ webhookId }) => webhookId), numbers(({ events }) => events)],
          ...[numbers(({ delivered }) => delivered), numbers(({ failedAttempts }) => failedAttempts)],
          ...[numbers(({ failedProbes }) => failedProbes), texts(figures.map((one) => JSON.stringify(one.latencies)))],
        ])
      }),
    minuteGet: async (minute) =>
      (
        await read<Row>(
          `SELECT ${COLUMNS} FROM minutes WHERE minute = $1::bigint AND node = $2 ORDER BY account_id, webhook_id`,
          [minute, node],
        )
      ).map(figuresOf),
    minuteGetOfAccount: async ({ accountId, minutes }) =>
      (
        await read<Row>(
          `SELECT ${COLUMNS} FROM minutes WHERE minute = ANY($1::bigint[]) AND account_id = $2::bigint
           ORDER BY minute, webhook_id, node`,
          [bigints(minutes), accountId],
        )
      ).map(figuresOf),
  }
}

const figuresOf = (row: Row): MinuteFigures => ({ ...row, latencies: JSON.parse(row.latencies) })
