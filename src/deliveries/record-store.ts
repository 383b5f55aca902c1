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
  sinceUs: number,
  id: number,
  atUs: number,
  probe: number,
  status: number | null,
  durationMs: number,
  error: string | null,
  address: string | null,
  response: string | null,
]
export const ENDED_FIELDS = 14

/**
 * Takes many `Ended` one after the other in one flat list: it crosses to the writer's thread three times as fast.
 *
 * A failure counts only against the schedule in which it was tried, which `since` names: what was cancelled meanwhile, or sent again
 * by hand after that, stays as it was asked for. @returns the ids of those: what is in memory of them holds no more.
 */
export const recordEnded = mutation('deliveries.record', (tx: Tx, flat: readonly Ended[number][]): number[] => {
  const update = prepared<never, Ended[number][]>(
    tx,
    `UPDATE deliveries SET state = ?1, tries = ?2, attempts_made = ?3, due_at = ?4, ended_at = ?5
     WHERE id = ?7 AND ((state = 0 AND since = ?6) OR ?1 = 1)`,
  )
  const count = prepared<never, Ended[number][]>(
    tx,
    'UPDATE deliveries SET attempts_made = max(attempts_made, ?) WHERE id = ?',
  )
  const insert = prepared<never, Ended[number][]>(
    tx,
    `INSERT OR REPLACE INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const overtaken: number[] = []
  for (let at = 0; at < flat.length; at += ENDED_FIELDS) {
    const id = Number(flat[at + 6])
    if (update.run(...flat.slice(at, at + 7)).changes === 0) {
      overtaken.push(id)
      // It was cancelled, and taken out for its age, where nothing is kept for long.
      if (count.run(flat[at + 2] ?? 0, id).changes === 0) continue
    }
    insert.run(...flat.slice(at + 6, at + ENDED_FIELDS))
    if (flat[at + 8] === 1) forgetProbes(tx, id)
  }
  return overtaken
})

function forgetProbes(tx: Tx, id: number): void {
  prepared<never, [number, number, number]>(
    tx,
    `DELETE FROM attempts WHERE delivery_id = ? AND probe = 1 AND at <
       (SELECT at FROM attempts WHERE delivery_id = ? AND probe = 1 ORDER BY at DESC LIMIT 1 OFFSET ?)`,
  ).run(id, id, PROBES_KEPT - 1)
}

/** The ids of a step of what waits for a webhook, a part for each of the two indexes: what matches must be said by these alone. */
const waiting = (matches = 'TRUE') => `
  SELECT id FROM (SELECT id FROM deliveries INDEXED BY deliveries_fresh
    WHERE webhook_id = $webhookId AND state = 0 AND due_at IS NULL AND ${matches} ORDER BY id LIMIT $step)
  UNION ALL SELECT id FROM (SELECT id FROM deliveries INDEXED BY deliveries_retry
    WHERE webhook_id = $webhookId AND state = 0 AND due_at IS NOT NULL AND ${matches} ORDER BY due_at LIMIT $step)`

type Step = { readonly webhookId: number; readonly nowUs: number; readonly step: number }

/**
 * Cancels a step of what waited for a webhook when its URL left the list; with the last of it the leaving is over: what is retried
 * from then on is sent. @returns which; none: it is over.
 */
export const cancelLeft = mutation('deliveries.cancelLeft', (tx: Tx, { webhookId, nowUs, step }: Step): number[] => {
  const upTo = '(SELECT cancelled_to FROM webhooks WHERE id = $webhookId)'
  const ids = prepared<{ id: number }, [{ webhookId: number; nowUs: number; step: number }]>(
    tx,
    `UPDATE deliveries SET state = 3, due_at = NULL, ended_at = $nowUs WHERE id IN (${waiting(`id <= ${upTo}`)}) RETURNING id`,
  )
    .all({ webhookId, nowUs, step })
    .map(({ id }) => id)
  if (ids.length === 0)
    prepared<never, [number]>(tx, 'UPDATE webhooks SET cancelled_to = 0 WHERE id = ? AND cancelled_to > 0').run(
      webhookId,
    )
  return ids
})

/** Fails a step of what waits for a webhook since before a time. @returns which. */
export const failAged = mutation(
  'deliveries.failAged',
  (tx: Tx, { webhookId, beforeUs, nowUs, step }: Step & { readonly beforeUs: number }): number[] =>
    prepared<{ id: number }, [{ webhookId: number; nowUs: number; step: number; beforeUs: number }]>(
      tx,
      `UPDATE deliveries SET state = 2, due_at = NULL, ended_at = $nowUs
       WHERE since < $beforeUs AND id IN (${waiting()}) RETURNING id`,
    )
      .all({ webhookId, nowUs, step, beforeUs })
      .map(({ id }) => id),
)
