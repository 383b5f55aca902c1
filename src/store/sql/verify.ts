import { type SQL, sql } from 'drizzle-orm'
import { EVENT_NAMES, isOnlyOnRequest } from '../../events/kinds.ts'
import { rfc3339, SECOND } from '../../lib/time.ts'
import { NO_STEP, NOTHING_TO_SEND } from '../operations/log.ts'
import { ENDED_TABLE, PER_EVENT } from './deliveries.ts'
import { otherCallIdOf } from './erase.ts'
import { all, contains, either, first, onPostgres, onSqlite, type Work } from './statement.ts'

/** Kinds of event that repeat the sequence of the event before them, as a list in SQL. */
const KINDS_ON_REQUEST = EVENT_NAMES.filter(isOnlyOnRequest)
  .map((name) => `'${name}'`)
  .join(', ')

/**
 * The condition that an attempt (`a`) delivered: it was accepted (by a broker without a status), there was nothing to
 * send, or it ended a flow.
 */
const HAS_DELIVERED = `(a.status BETWEEN 200 AND 299 OR (a.status IS NULL AND a.error IS NULL) OR a.error IN ('${NOTHING_TO_SEND}', '${NO_STEP}') OR a.step IS NOT NULL)`

/** A wall clock that was set back gives later events earlier times, by less than this. */
const MARGIN_US = 86_400 * SECOND
const SHOWN = 5

/** Returns the time from which all events are kept, in microseconds, if earlier ones may have been pruned. */
const keptFromUs = (prunedToUs: number): number => (prunedToUs === 0 ? 0 : prunedToUs + MARGIN_US)

/** Returns a sentence about the wrong rows, with some of their ids; nothing if all rows are right. */
function sentenceOf(what: string, rows: readonly { readonly id: string | number }[]): string[] {
  if (rows.length === 0) return []
  const some = rows.slice(0, SHOWN).map(({ id }) => id)
  return [`${rows.length} ${what}: ${some.join(', ')}${rows.length > SHOWN ? ', …' : ''}`]
}

type Wrong = { readonly what: string; readonly found: SQL }

/**
 * Errors that must not exist: a sentence, and a query that finds their ids. Pruning deletes events and deliveries one
 * by one, so a call loses some of its events before others: nothing after `keptUs` was pruned.
 */
const wrongs = (keptUs: number): readonly Wrong[] => [
  {
    what: 'deliveries of an event that is not there',
    found: sql`SELECT d.id FROM deliveries d LEFT JOIN events e ON e.id = d.id / ${PER_EVENT} WHERE e.id IS NULL`,
  },
  {
    what: 'deliveries for a webhook that is not there',
    found: sql`SELECT d.id FROM deliveries d LEFT JOIN webhooks w ON w.id = d.webhook_id WHERE w.id IS NULL`,
  },
  {
    what: 'deliveries that are pending and have ended',
    found: onPostgres(sql`SELECT p.id FROM pending_deliveries p JOIN ended_deliveries e ON e.id = p.id`),
  },
  {
    what: 'events that lack one of their deliveries',
    // Each engine counts by its fastest way through all deliveries: SQLite by their order, Postgres by hashing.
    found: either({
      sqlite: sql`
        SELECT e.id FROM events e JOIN deliveries d
          ON d.id >= e.id * ${PER_EVENT} AND d.id < (e.id + 1) * ${PER_EVENT}
        WHERE e.at >= ${keptUs} GROUP BY e.id HAVING count(*) <> max(d.id) - e.id * ${PER_EVENT} + 1`,
      postgres: sql`
        SELECT e.id FROM events e JOIN (SELECT id / ${PER_EVENT} AS event, count(*) AS count, max(id) AS last
          FROM deliveries GROUP BY 1) AS d ON d.event = e.id
        WHERE e.at >= ${keptUs} AND d.count <> d.last - e.id * ${PER_EVENT} + 1`,
    }),
  },
  {
    what: 'deliveries in no state that there is',
    found: sql`SELECT id FROM deliveries WHERE state NOT IN (0, 1, 2, 3)`,
  },
  {
    what: 'pending deliveries that were tried and have no next attempt',
    found: sql`
      SELECT id FROM deliveries WHERE state = 0 AND ((tries > 0 AND due_at IS NULL) OR ended_at IS NOT NULL)`,
  },
  {
    what: 'deliveries that ended without an end',
    found: sql`SELECT id FROM deliveries WHERE state > 0 AND (ended_at IS NULL OR due_at IS NOT NULL)`,
  },
  {
    what: 'delivered ones without the attempt that delivered them',
    found: sql`
      SELECT d.id FROM ${ENDED_TABLE} d WHERE d.state = 1 AND NOT EXISTS
        (SELECT 1 FROM all_attempts a WHERE a.delivery_id = d.id AND ${sql.raw(HAS_DELIVERED)})`,
  },
  {
    what: 'attempts of a delivery that is not there',
    found: sql`
      SELECT a.delivery_id AS id FROM attempts a LEFT JOIN deliveries d ON d.id = a.delivery_id WHERE d.id IS NULL`,
  },
  {
    what: 'calls with a gap in their sequence',
    found: sql`
      SELECT DISTINCT call_id AS id FROM
        (SELECT call_id, sequence, lag(sequence) OVER each_call AS before, lag(at) OVER each_call AS before_at
         FROM events WHERE name NOT IN (${sql.raw(KINDS_ON_REQUEST)})
         WINDOW each_call AS (PARTITION BY call_id ORDER BY sequence)) AS e
      WHERE sequence = before OR (sequence > before + 1 AND before_at >= ${keptUs})`,
  },
]

/** Returns the inconsistencies of a store, a sentence each with some of the ids; none if all kept records agree. */
export function* findWrong(): Work<string[]> {
  const file = yield* all<{ integrity_check: string }>(onSqlite(sql`PRAGMA integrity_check(5)`))
  const damages = file.map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok')
  const clock = yield* first<{ prunedToUs: number }>(sql`SELECT pruned_to AS "prunedToUs" FROM clock`)
  const keptUs = keptFromUs(clock?.prunedToUs ?? 0)
  const sentences = damages.map((text) => `the file is damaged: ${text}`)
  for (const { what, found } of wrongs(keptUs))
    sentences.push(...sentenceOf(what, yield* all<{ id: string | number }>(found)))
  sentences.push(...sentenceOf('calls without their beginning', yield* findHeadless(keptUs)))
  sentences.push(...sentenceOf('calls that neither are up nor have their end', yield* findEndless(keptUs)))
  return sentences
}

/** Calls whose first event has another number than 1, though they began after the last pruning. */
function* findHeadless(keptUs: number): Work<{ id: string }[]> {
  const rows = yield* all<{ id: string; body: string }>(sql`
    SELECT e.call_id AS id, e.body FROM events e WHERE e.sequence > 1 AND NOT EXISTS
      (SELECT 1 FROM events f WHERE f.call_id = e.call_id AND f.sequence < e.sequence)`)
  const kept = rfc3339(keptUs)
  return rows.filter(({ body }) => {
    const startedAt: unknown = JSON.parse(body)?.data?.call?.started_at
    return typeof startedAt === 'string' && startedAt >= kept
  })
}

/** A call that was merged into another ends inside it. */
function* findEndless(keptUs: number): Work<{ id: string }[]> {
  const rows = yield* all<{ id: string }>(sql`
    SELECT call_id AS id FROM events
    WHERE call_id NOT IN (SELECT id FROM live_calls) AND sequence > 0 GROUP BY call_id
    HAVING max(at) >= ${keptUs} AND max(CASE WHEN name = 'call_saved' THEN 1 ELSE 0 END) = 0`)
  if (rows.length === 0) return []
  const transfers = yield* all<{ body: string }>(sql`
    SELECT body FROM events WHERE name = 'call_attended_transferred' AND ${contains(sql`body`, '"other_call_id"')}`)
  const merged = new Set(transfers.map(({ body }) => otherCallIdOf(body)))
  return rows.filter(({ id }) => !merged.has(id))
}
