import { sql } from 'drizzle-orm'
import { DIRECTIONS } from '../../events/enums.ts'
import type { MaintenanceStore } from '../operations/maintenance.ts'
import { ENDED_TABLE, OF_EVENT, PENDING, PER_EVENT } from './deliveries.ts'
import { forgetKept } from './flows.ts'
import { type Declarations, write } from './operation.ts'
import { all, among, count, either, integers, onSqlite, run, tableOf, texts, type Work } from './statement.ts'

/** The old calls of an account, direction by direction where the index has them so. */
const oldCalls = (beforeUs: number, limit: number) =>
  either({
    sqlite: sql`
      SELECT c.id FROM accounts a CROSS JOIN ${tableOf('d', { direction: texts(DIRECTIONS) })}
        CROSS JOIN calls c INDEXED BY calls_by_direction ON c.account_id = a.id AND c.direction = d.direction
      WHERE c.saved_at < ${beforeUs}`,
    postgres: sql`
      SELECT c.id FROM accounts a CROSS JOIN LATERAL
        (SELECT id FROM calls WHERE account_id = a.id AND saved_at < ${beforeUs} LIMIT ${limit}) AS c`,
  })

type ShortLivedStep = Parameters<MaintenanceStore['shortLivedPrune']>[0]

/** The newest event stays, so that no id is given twice; so do those with a pending delivery. */
function* pruneShortLived({
  afterId,
  beforeUs,
  limit,
}: ShortLivedStep): Work<{ lastId: number | null; pruned: number }> {
  const oldest = yield* all<{ id: number; atUs: number }>(sql`
    SELECT id, at AS "atUs" FROM events
    WHERE sequence < 0 AND id > ${afterId} AND id < (SELECT max(id) FROM events) ORDER BY id LIMIT ${limit}`)
  const old = integers(oldest.filter(({ atUs }) => atUs < beforeUs).map(({ id }) => id))
  const gone = yield* all<{ id: number }>(sql`
    DELETE FROM events WHERE id ${among(old)} AND NOT EXISTS (SELECT 1 FROM ${PENDING} AS d
      WHERE d.id >= events.id * ${PER_EVENT} AND d.id < (events.id + 1) * ${PER_EVENT}) RETURNING id`)
  const ended = tableOf('e', { id: integers(gone.map(({ id }) => id)) })
  const deliveries = sql`SELECT d.id FROM ${ended} JOIN ${ENDED_TABLE} AS d ON ${OF_EVENT}`
  yield* run(sql`DELETE FROM attempts WHERE delivery_id IN (${deliveries})`)
  yield* run(sql`DELETE FROM ${ENDED_TABLE} WHERE id IN (${deliveries})`)
  return { lastId: old.items.length < limit ? null : (oldest.at(-1)?.id ?? null), pruned: gone.length }
}

/**
 * The operations that delete old records other than deliveries. Rows are found first, and checked again when they are
 * deleted, because the list may have changed in between.
 */
export const RETENTION: Declarations<
  Pick<MaintenanceStore, 'shortLivedPrune' | 'webhookPrune' | 'secretPrune' | 'callPrune'>
> = {
  shortLivedPrune: write(pruneShortLived, { isSlow: true }),
  // The remaining rows are newer than their leaving. SQLite would give the newest id again: then facts stored under a
  // webhook's id would be taken for another webhook's.
  webhookPrune: write(
    (limit) =>
      count(sql`
        DELETE FROM webhooks WHERE position IS NULL AND id IN (SELECT w.id FROM webhooks w
          WHERE w.position IS NULL AND w.cancelled_to = 0
            AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id <= w.left_to)
            ${onSqlite(sql`AND w.id < (SELECT max(id) FROM webhooks)`)} LIMIT ${limit}) RETURNING 1`),
    { isSlow: true },
  ),
  secretPrune: write(
    function* ({ beforeUs, limit }) {
      const deleted = yield* count(sql`
        DELETE FROM secrets WHERE left_at < ${beforeUs} AND (account_id, url) IN
          (SELECT account_id, url FROM secrets WHERE left_at < ${beforeUs} LIMIT ${limit}) RETURNING 1`)
      yield* run(sql`
        DELETE FROM authorizations WHERE url <> '' AND NOT EXISTS
          (SELECT 1 FROM secrets s WHERE s.account_id = authorizations.account_id AND s.url = authorizations.url)`)
      return deleted
    },
    { isSlow: true },
  ),
  callPrune: write(
    function* ({ beforeUs, limit }) {
      const rows = yield* all<{ id: string }>(sql`
        DELETE FROM calls WHERE id IN (${oldCalls(beforeUs, limit)} LIMIT ${limit}) RETURNING id`)
      yield* forgetKept(rows.map(({ id }) => id))
      return rows.length
    },
    { isSlow: true },
  ),
}
