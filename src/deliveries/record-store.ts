import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'

/** The numbers that stand in the column `state`. */
export const STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const
export type State = (typeof STATES)[number]
export const stateNumber = (state: State): number => STATES.indexOf(state)

/** Of a delivery, the probes that are kept: a receiver that is down for a week would fill the log. */
const PROBES_KEPT = 20

/** What came of one attempt, and what its delivery is then: a row of each table, in the order in which it is bound. */
export type Ended = readonly [
  state: number,
  tries: number,
  attemptsMade: number,
  dueUs: number | null,
  endedUs: number | null,
  id: number,
  atUs: number,
  probe: number,
  status: number | null,
  durationMs: number,
  error: string | null,
  address: string | null,
  response: string | null,
]
export const ENDED_FIELDS = 13

/** Takes many `Ended` one after the other in one flat list: it crosses to the writer's thread three times as fast. */
export const recordEnded = mutation('deliveries.record', (tx: Tx, flat: readonly Ended[number][]): void => {
  const update = prepared<never, Ended[number][]>(
    tx,
    'UPDATE deliveries SET state = ?, tries = ?, attempts_made = ?, due_at = ?, ended_at = ? WHERE id = ?',
  )
  const insert = prepared<never, Ended[number][]>(
    tx,
    `INSERT OR REPLACE INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  for (let at = 0; at < flat.length; at += ENDED_FIELDS) {
    update.run(...flat.slice(at, at + 6))
    insert.run(...flat.slice(at + 5, at + ENDED_FIELDS))
    if (flat[at + 7] === 1) forgetProbes(tx, Number(flat[at + 5]))
  }
})

function forgetProbes(tx: Tx, id: number): void {
  prepared<never, [number, number, number]>(
    tx,
    `DELETE FROM attempts WHERE delivery_id = ? AND probe = 1 AND at <
       (SELECT at FROM attempts WHERE delivery_id = ? AND probe = 1 ORDER BY at DESC LIMIT 1 OFFSET ?)`,
  ).run(id, id, PROBES_KEPT - 1)
}

/** The ids of what waits for a webhook, twice bound by webhook and limit: one part for each of the two indexes. */
export const WAITING = `
  SELECT id FROM (SELECT id FROM deliveries INDEXED BY deliveries_fresh
    WHERE webhook_id = ? AND state = 0 AND due_at IS NULL ORDER BY id LIMIT ?)
  UNION ALL SELECT id FROM (SELECT id FROM deliveries INDEXED BY deliveries_retry
    WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL ORDER BY due_at LIMIT ?)`

type Step = { readonly webhookId: number; readonly nowUs: number; readonly step: number }

/** Cancels a step of what waited for a webhook when its URL left the list. @returns which; none: none is left. */
export const cancelLeft = mutation('deliveries.cancelLeft', (tx: Tx, { webhookId, nowUs, step }: Step): number[] =>
  prepared<{ id: number }, [number, number, number, number, number, number]>(
    tx,
    `UPDATE deliveries SET state = 3, due_at = NULL, ended_at = ?
     WHERE id <= (SELECT cancelled_to FROM webhooks WHERE id = ?) AND id IN (${WAITING}) RETURNING id`,
  )
    .all(nowUs, webhookId, webhookId, step, webhookId, step)
    .map(({ id }) => id),
)

/** All that waited is cancelled: a delivery of then that is retried later is sent. */
export const finishCancel = mutation(
  'deliveries.finishCancel',
  (tx: Tx, { webhookId, cancelledTo }: { webhookId: number; cancelledTo: number }): void => {
    prepared<never, [number, number]>(tx, 'UPDATE webhooks SET cancelled_to = 0 WHERE id = ? AND cancelled_to = ?').run(
      webhookId,
      cancelledTo,
    )
  },
)

/** Fails a step of what waits for a webhook since before a time. @returns which. */
export const failAged = mutation(
  'deliveries.failAged',
  (tx: Tx, { webhookId, beforeUs, nowUs, step }: Step & { readonly beforeUs: number }): number[] =>
    prepared<{ id: number }, [number, number, number, number, number, number]>(
      tx,
      `UPDATE deliveries SET state = 2, due_at = NULL, ended_at = ? WHERE since < ? AND id IN (${WAITING}) RETURNING id`,
    )
      .all(nowUs, beforeUs, webhookId, step, webhookId, step)
      .map(({ id }) => id),
)
