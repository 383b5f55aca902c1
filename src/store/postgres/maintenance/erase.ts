import type { ErasedCounts } from '../../operations/maintenance.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import { withoutNumber } from '../../without-number.ts'
import { bigints, type Query, texts } from '../engine/client.ts'
import { IS_ERASED } from '../events.ts'

/**
 * Erasing a number affects every call that contains it. The record is deleted. Of its events remains what the log needs
 * (which event, when, delivered or not). A live call continues with an unknown party.
 */

/** A number as JSON contains it: a whole string, so that longer numbers do not match. */
const quoted = (number: string) => JSON.stringify(number)

/** Returns the calls whose record or event bodies contain a number. */
export async function findCallsOf(read: Query, number: string): Promise<string[]> {
  const rows = await read<{ id: string }>(
    `SELECT id FROM calls WHERE strpos(record, $1) > 0 UNION SELECT call_id FROM events WHERE strpos(body, $1) > 0`,
    [quoted(number)],
  )
  return rows.map(({ id }) => id)
}

type Row = { id: number; pending: boolean; body: string }

/** Erases calls by id, a few at a time, so that no commit waits long. */
export async function eraseCalls(query: Query, ids: readonly string[]): Promise<ErasedCounts> {
  const calls = await query('DELETE FROM calls WHERE id = ANY($1::text[]) RETURNING 1 AS one', [texts(ids)])
  const rows = await query<Row>(
    `SELECT e.id::float8 AS id, e.body, EXISTS (SELECT 1 FROM pending_deliveries d
       WHERE d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}) AS pending
     FROM events e WHERE e.call_id = ANY($1::text[]) AND NOT ${IS_ERASED}`,
    [texts(ids)],
  )
  const ended = rows.filter(({ pending }) => !pending)
  await query(
    `UPDATE events e SET body = r.body FROM unnest($1::bigint[], $2::text[]) AS r(id, body) WHERE e.id = r.id`,
    [bigints(ended.map(({ id }) => id)), texts(ended.map(({ body }) => emptied(body)))],
  )
  await query(
    `UPDATE attempts a SET response = NULL FROM unnest($1::bigint[]) AS e(id)
     WHERE a.delivery_id >= e.id * ${DELIVERIES_PER_EVENT} AND a.delivery_id < (e.id + 1) * ${DELIVERIES_PER_EVENT} AND a.response IS NOT NULL`,
    [bigints(ended.map(({ id }) => id))],
  )
  return { calls: calls.length, events: ended.length, pending: rows.length - ended.length }
}

/** Which call a call was merged into is what proves that it ended. */
function emptied(body: string): string {
  const otherCallId = otherCallIdOf(body)
  return JSON.stringify({
    erased: true,
    data: { transfer: otherCallId === undefined ? null : { other_call_id: otherCallId } },
  })
}

/** Returns the call that a transfer's event names beside its own. */
export function otherCallIdOf(body: string): string | undefined {
  const found = body.includes('"other_call_id"') ? JSON.parse(body)?.data?.transfer?.other_call_id : undefined
  return typeof found === 'string' ? found : undefined
}

/**
 * Takes a number out of the calls that are up. A service that runs has it in memory, and writes it again.
 * @returns how many calls.
 */
export async function eraseLive(query: Query, number: string): Promise<number> {
  const rows = await query<{ pbx: string; id: string; state: string }>(
    'SELECT pbx, id, state FROM live_calls WHERE strpos(state, $1) > 0 FOR UPDATE',
    [quoted(number)],
  )
  for (const { pbx, id, state } of rows)
    await query('UPDATE live_calls SET state = $3 WHERE pbx = $1 AND id = $2', [
      ...[pbx, id, JSON.stringify(withoutNumber(JSON.parse(state), number))],
    ])
  return rows.length
}
