import { stateNumber } from '../operations/delivery-state.ts'
import { ERASED_START } from '../operations/log.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { outcomesOf } from './outcome-bytes.ts'

/** Probes that are kept for a delivery: a receiver that is down for a week would fill the log. */
const PROBES_KEPT = 20

const DELIVERED = stateNumber('delivered')

/**
 * Returns an expression that is a response, or NULL if the event of its delivery was erased: nothing that began before
 * an erasure is kept after it. Events of pending deliveries are not erased.
 */
const unlessErased = (id: string, response: string) =>
  `CASE WHEN ${response} IS NOT NULL AND EXISTS (SELECT 1 FROM events
     WHERE events.id = ${id} / ${DELIVERIES_PER_EVENT} AND body LIKE '${ERASED_START}%') THEN NULL ELSE ${response} END`

type Nullable<Value> = Value | null

/**
 * The outcomes are bytes (`outcome-bytes`). They do not wait for the disk: outcomes that a power cut undoes are sent
 * again, like deliveries in flight.
 */
export const recordOutcomes = mutation(
  'queue.deliveryRecordOutcomes',
  (tx: Tx, bytes: Uint8Array): number[] => writeOutcomes(tx, bytes),
  'crash',
)

/**
 * Outcomes that the process before has kept, and may have recorded. Unlike `recordOutcomes`, leaves a delivery
 * unchanged that was retried by hand since.
 */
export function applyKeptOutcomes(tx: Tx, records: readonly Uint8Array[]): void {
  for (const record of records) writeOutcomes(tx, record, { isRepeated: true })
}

function writeOutcomes(tx: Tx, bytes: Uint8Array, { isRepeated = false } = {}): number[] {
  const decides = isRepeated
    ? '(generation = ?6 AND (state = 0 OR ?1 = 1))'
    : '((state = 0 AND generation = ?6) OR ?1 = 1)'
  const update = prepared<never, [number, number, number, Nullable<number>, Nullable<number>, number, number]>(
    tx,
    `UPDATE deliveries SET state = ?1, tries = ?2, attempts_made = ?3, due_at = ?4, ended_at = ?5
     WHERE id = ?7 AND ${decides}`,
  )
  // Nearly every outcome: then the delivery's own row has the attempt, and no other row is written.
  const deliverAtOnce = prepared<never, [number, number, Nullable<number>, number, ...(string | number | null)[]]>(
    tx,
    `UPDATE deliveries SET state = 1, tries = ?2, attempts_made = 1, due_at = NULL, ended_at = ?3,
       first_at = ?5, first_status = ?6, first_duration_ms = ?7, first_address = ?8,
       first_response = CASE WHEN state = 0 THEN ?9 ELSE ${unlessErased('?1', '?9')} END
     WHERE id = ?1 AND (first_at IS NULL OR first_at = ?5) AND (?4 = 0 OR generation = ?4)`,
  )
  const isFirst = prepared<unknown, [number, number]>(tx, 'SELECT 1 FROM deliveries WHERE id = ? AND first_at = ?')
  const count = prepared<never, [number, number]>(
    tx,
    'UPDATE deliveries SET attempts_made = max(attempts_made, ?) WHERE id = ?',
  )
  const insert = prepared<never, (string | number | null)[]>(
    tx,
    `INSERT OR REPLACE INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ${unlessErased('?1', '?8')})`,
  )
  const superseded: number[] = []
  for (const one of outcomesOf(bytes)) {
    const { deliveryId: id, attemptsMade: made, attemptUs, probe, status, durationMs, error, address, response } = one
    if (one.state === DELIVERED && made === 1 && error === null && !probe) {
      const generation = isRepeated ? one.generation : 0
      const first = [attemptUs, status, durationMs, address, response] as const
      if (deliverAtOnce.run(id, one.tries, one.endedUs, generation, ...first).changes > 0) continue
      if (isRepeated && isFirst.get(id, attemptUs) !== null) continue
    }
    const { changes } = update.run(one.state, one.tries, made, one.dueSteadyUs, one.endedUs, one.generation, id)
    if (changes === 0) {
      superseded.push(id)
      // The delivery was cancelled and already pruned.
      if (count.run(made, id).changes === 0) continue
    }
    insert.run(id, attemptUs, Number(probe), status, durationMs, error, address, response)
    if (probe) forgetProbes(tx, id)
  }
  return superseded
}

function forgetProbes(tx: Tx, id: number): void {
  prepared<never, [number, number, number]>(
    tx,
    `DELETE FROM attempts WHERE delivery_id = ? AND probe = 1 AND at <
       (SELECT at FROM attempts WHERE delivery_id = ? AND probe = 1 ORDER BY at DESC LIMIT 1 OFFSET ?)`,
  ).run(id, id, PROBES_KEPT - 1)
}

const FRESH = `FROM deliveries INDEXED BY deliveries_fresh WHERE webhook_id = $webhookId AND state = 0 AND due_at IS NULL`
const RETRIES = `FROM deliveries INDEXED BY deliveries_retry WHERE webhook_id = $webhookId AND state = 0 AND due_at IS NOT NULL`
/**
 * At most this many retries of a webhook are checked for their age, the earliest due first: some 7 ms. The rest are
 * checked when these have ended.
 */
const MAX_RETRIES_CHECKED = 10_000

type Step = { readonly webhookId: number; readonly nowUs: number; readonly limit: number }

/** With the last one the removal from the list is complete: later retries are sent. */
export const cancelUnlisted = mutation(
  'queue.deliveryCancelUnlisted',
  (tx: Tx, { webhookId, nowUs, limit }: Step): number[] => {
    const upTo = 'id <= (SELECT cancelled_to FROM webhooks WHERE id = $webhookId)'
    const ids = prepared<{ id: number }, [Step]>(
      tx,
      `UPDATE deliveries SET state = 3, due_at = NULL, ended_at = $nowUs WHERE id IN (
         SELECT id FROM (SELECT id ${FRESH} AND ${upTo} ORDER BY id LIMIT $limit)
         UNION ALL SELECT id FROM (SELECT id ${RETRIES} AND ${upTo} ORDER BY due_at LIMIT $limit) LIMIT $limit) RETURNING id`,
    )
      .all({ webhookId, nowUs, limit })
      .map(({ id }) => id)
    if (ids.length === 0)
      prepared<never, [number]>(tx, 'UPDATE webhooks SET cancelled_to = 0 WHERE id = ? AND cancelled_to > 0').run(
        webhookId,
      )
    return ids
  },
)

/** Untried ones have the order of their age, retries have not. */
export const failExpired = mutation(
  'queue.deliveryFailExpired',
  (tx: Tx, { webhookId, beforeSteadyUs, nowUs, limit }: Step & { readonly beforeSteadyUs: number }): number[] =>
    prepared<{ id: number }, [Step & { beforeSteadyUs: number }]>(
      tx,
      `UPDATE deliveries SET state = 2, due_at = NULL, ended_at = $nowUs WHERE id IN (
         SELECT id FROM (SELECT id, since ${FRESH} ORDER BY id LIMIT $limit) WHERE since < $beforeSteadyUs
         UNION ALL SELECT id FROM (SELECT id, since ${RETRIES} ORDER BY due_at LIMIT ${MAX_RETRIES_CHECKED})
           WHERE since < $beforeSteadyUs LIMIT $limit) RETURNING id`,
    )
      .all({ webhookId, nowUs, limit, beforeSteadyUs })
      .map(({ id }) => id),
)
