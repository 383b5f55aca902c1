import { rfc3339 } from '../../../lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import { HAS_DELIVERED, KINDS_ON_REQUEST, keptFromUs, sentenceOf } from '../../verify-findings.ts'
import { type Query, texts } from '../engine/client.ts'
import { otherCallIdOf } from './erase.ts'

/**
 * Errors that must not exist: a sentence, and a query that finds their ids. Pruning deletes events and deliveries one
 * by one, so a call loses some of its events before others: nothing after `$1` was pruned.
 */
const WRONGS: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: 'deliveries of an event that is not there',
    sql: `SELECT d.id FROM deliveries d LEFT JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} WHERE e.id IS NULL`,
  },
  {
    what: 'deliveries for a webhook that is not there',
    sql: 'SELECT d.id FROM deliveries d LEFT JOIN webhooks w ON w.id = d.webhook_id WHERE w.id IS NULL',
  },
  {
    what: 'deliveries that are pending and have ended',
    sql: 'SELECT p.id FROM pending_deliveries p JOIN ended_deliveries e ON e.id = p.id',
  },
  {
    what: 'events that lack one of their deliveries',
    sql: `SELECT e.id FROM events e JOIN (SELECT id / ${DELIVERIES_PER_EVENT} AS event, count(*) AS count, max(id) AS last
            FROM deliveries GROUP BY 1) AS d ON d.event = e.id
          WHERE e.at >= $1::bigint AND d.count <> d.last - e.id * ${DELIVERIES_PER_EVENT} + 1`,
  },
  {
    what: 'deliveries in no state that there is',
    sql: 'SELECT id FROM ended_deliveries WHERE state NOT IN (1, 2, 3)',
  },
  {
    what: 'pending deliveries that were tried and have no next attempt',
    sql: 'SELECT id FROM pending_deliveries WHERE tries > 0 AND due_at IS NULL',
  },
  {
    what: 'delivered ones without the attempt that delivered them',
    sql: `SELECT d.id FROM ended_deliveries d LEFT JOIN attempts a ON a.delivery_id = d.id AND ${HAS_DELIVERED}
          WHERE d.state = 1 AND a.delivery_id IS NULL`,
  },
  {
    what: 'attempts of a delivery that is not there',
    sql: 'SELECT a.delivery_id AS id FROM attempts a LEFT JOIN deliveries d ON d.id = a.delivery_id WHERE d.id IS NULL',
  },
  {
    what: 'calls with a gap in their sequence',
    sql: `SELECT DISTINCT call_id AS id FROM
            (SELECT call_id, sequence, lag(sequence) OVER each AS before, lag(at) OVER each AS before_at
             FROM events WHERE name NOT IN (${KINDS_ON_REQUEST}) WINDOW each AS (PARTITION BY call_id ORDER BY sequence)) AS e
          WHERE sequence = before OR (sequence > before + 1 AND before_at >= $1::bigint)`,
  },
]

/**
 * Returns what is wrong with a store, a sentence each with some of the ids; nothing when it is whole as far as it is
 * kept.
 */
export async function findWrong(query: Query): Promise<string[]> {
  // One snapshot: nodes that run beside would else seem to be wrong.
  await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  const keptUs = await keptFrom(query)
  const wrong: string[] = []
  for (const { what, sql } of WRONGS) {
    const rows = await query<{ id: string }>(
      `SELECT id::text AS id FROM (${sql}) AS found`,
      sql.includes('$1') ? [keptUs] : [],
    )
    wrong.push(...sentenceOf(what, rows))
  }
  wrong.push(...sentenceOf('calls without their beginning', await headless(query, keptUs)))
  wrong.push(...sentenceOf('calls that neither are up nor have their end', await endless(query, keptUs)))
  return wrong
}

/** Calls whose first event has another number than 1, though they began after the last pruning. */
async function headless(query: Query, keptUs: number): Promise<{ id: string }[]> {
  const rows = await query<{ id: string; body: string }>(
    `SELECT call_id AS id, body FROM events e WHERE sequence > 1 AND NOT EXISTS
       (SELECT 1 FROM events f WHERE f.call_id = e.call_id AND f.sequence < e.sequence)`,
  )
  const kept = rfc3339(keptUs)
  return rows.filter(({ body }) => {
    const startedAt: unknown = JSON.parse(body)?.data?.call?.started_at
    return typeof startedAt === 'string' && startedAt >= kept
  })
}

/** A call that was merged into another ends inside it. */
async function endless(query: Query, keptUs: number): Promise<{ id: string }[]> {
  const rows = await query<{ id: string }>(
    `SELECT call_id AS id FROM events WHERE call_id NOT IN (SELECT id FROM live_calls) GROUP BY call_id
     HAVING max(at) >= $1::bigint AND NOT bool_or(name = 'call_saved')`,
    [keptUs],
  )
  if (rows.length === 0) return []
  const transfers = await query<{ body: string }>(
    `SELECT body FROM events WHERE name = 'call_attended_transferred'
       AND strpos(body, '"other_call_id"') > 0 AND EXISTS (SELECT 1 FROM unnest($1::text[]) AS c(id) WHERE strpos(body, c.id) > 0)`,
    [texts(rows.map(({ id }) => id))],
  )
  const merged = new Set(transfers.map(({ body }) => otherCallIdOf(body)))
  return rows.filter(({ id }) => !merged.has(id))
}

async function keptFrom(query: Query): Promise<number> {
  const [row] = await query<{ prunedToUs: number }>('SELECT pruned_to::float8 AS "prunedToUs" FROM clock')
  return keptFromUs(row?.prunedToUs ?? 0)
}
