import { rfc3339 } from '../../../lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import { HAS_DELIVERED, KINDS_ON_REQUEST, keptFromUs, sentenceOf } from '../../verify-findings.ts'
import type { Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'

/**
 * Errors that must not exist: a sentence, and a query that finds their ids. Pruning deletes events and deliveries one
 * by one, so a call loses some of its events before others: nothing after `:kept` was pruned.
 */
const WRONGS: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: 'deliveries of an event that is not there',
    sql: `SELECT id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = d.id / ${DELIVERIES_PER_EVENT})`,
  },
  {
    what: 'deliveries for a webhook that is not there',
    sql: 'SELECT id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.id = d.webhook_id)',
  },
  {
    what: 'events that lack one of their deliveries',
    sql: `SELECT e.id FROM events e JOIN deliveries d
            ON d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
          WHERE e.at >= :kept GROUP BY e.id HAVING count(*) <> max(d.id) - e.id * ${DELIVERIES_PER_EVENT} + 1`,
  },
  {
    what: 'deliveries in no state that there is',
    sql: 'SELECT id FROM deliveries WHERE state NOT IN (0, 1, 2, 3)',
  },
  {
    what: 'pending deliveries that were tried and have no next attempt',
    sql: 'SELECT id FROM deliveries WHERE state = 0 AND ((tries > 0 AND due_at IS NULL) OR ended_at IS NOT NULL)',
  },
  {
    what: 'deliveries that ended without an end',
    sql: 'SELECT id FROM deliveries WHERE state > 0 AND (ended_at IS NULL OR due_at IS NOT NULL)',
  },
  {
    what: 'delivered ones without the attempt that delivered them',
    sql: `SELECT id FROM deliveries d WHERE state = 1 AND NOT EXISTS
            (SELECT 1 FROM attempts a WHERE a.delivery_id = d.id AND ${HAS_DELIVERED})`,
  },
  {
    what: 'attempts of a delivery that is not there',
    sql: 'SELECT delivery_id AS id FROM attempts a WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id = a.delivery_id)',
  },
  {
    what: 'calls with a gap in their sequence',
    sql: `SELECT DISTINCT call_id AS id FROM
            (SELECT id, call_id, sequence, lag(sequence) OVER each AS before, lag(at) OVER each AS beforeAt
             FROM events WHERE name NOT IN (${KINDS_ON_REQUEST}) WINDOW each AS (PARTITION BY call_id ORDER BY sequence)) e
          WHERE sequence = before OR (sequence > before + 1 AND beforeAt >= :kept)
            OR (before IS NULL AND sequence > 1 AND
                (SELECT json_extract(body, '$.data.call.started_at') FROM events WHERE id = e.id) >= :keptText)`,
  },
  {
    what: 'calls that neither are up nor have their end',
    // A call that was merged into another ends inside it.
    sql: `SELECT call_id AS id FROM events WHERE call_id NOT IN (SELECT id FROM live_calls) GROUP BY call_id
          HAVING max(at) >= :kept AND max(name = 'call_saved') = 0 AND call_id NOT IN
            (SELECT json_extract(body, '$.data.transfer.other_call_id') FROM events
             WHERE name = 'call_attended_transferred' AND json_extract(body, '$.data.transfer.other_call_id') IS NOT NULL)`,
  },
]

/**
 * Returns what is wrong with a store, a sentence each with some of the ids; nothing when it is whole as far as it is
 * kept.
 */
export function findWrong(tx: Tx): string[] {
  // One snapshot: a service that runs beside would else seem to be wrong.
  return tx.transaction(() => {
    const file = prepared<{ integrity_check: string }, []>(tx, 'PRAGMA integrity_check(5)')
      .all()
      .map(({ integrity_check }) => integrity_check)
    const broken = file[0] === 'ok' ? [] : file.map((text) => `the file is damaged: ${text}`)
    const keptUs = keptFrom(tx)
    const kept = { kept: keptUs, keptText: rfc3339(keptUs) }
    const wrong = WRONGS.flatMap(({ what, sql }) => {
      const found = prepared<{ id: string | number }, [Record<string, string | number>]>(tx, sql).all(kept)
      return sentenceOf(what, found)
    })
    return [...broken, ...wrong]
  })
}

function keptFrom(tx: Tx): number {
  const row = prepared<{ prunedToUs: number }, []>(tx, 'SELECT pruned_to AS prunedToUs FROM clock').get()
  return keptFromUs(row?.prunedToUs ?? 0)
}
