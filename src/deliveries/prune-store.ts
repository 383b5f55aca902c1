import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { DELIVERIES_PER_EVENT } from './outbox.ts'

type Step = {
  readonly afterId: number
  readonly deliveredBeforeUs: number
  readonly failedBeforeUs: number
  readonly nowUs: number
  readonly step: number
}

/**
 * Takes out what has been kept long enough, of the next events from an id on: deliveries that have ended with their attempts, and
 * events that have no delivery any more. The newest event stays, so that no id is given twice.
 * @returns the last event looked at; `null`: all the others are too young.
 */
export const pruneStep = mutation(
  'deliveries.prune',
  (
    tx: Tx,
    { afterId, deliveredBeforeUs, failedBeforeUs, nowUs, step }: Step,
  ): { lastId: number | null; pruned: number } => {
    const latestUs = Math.max(deliveredBeforeUs, failedBeforeUs)
    const events = prepared<{ id: number; atUs: number }, [number, number]>(
      tx,
      'SELECT id, at AS atUs FROM events WHERE id > ? AND id < (SELECT max(id) FROM events) ORDER BY id LIMIT ?',
    ).all(afterId, step)
    // What was stored while the wall clock was ahead is passed by: behind it there is more that is old.
    const old = events.filter(({ atUs }) => atUs < latestUs || atUs > nowUs)
    const last = old.at(-1)
    if (last === undefined) return { lastId: null, pruned: 0 }
    const firstDelivery = (afterId + 1) * DELIVERIES_PER_EVENT
    const endDelivery = (last.id + 1) * DELIVERIES_PER_EVENT
    const gone = prepared<{ id: number }, [number, number, number, number]>(
      tx,
      `DELETE FROM deliveries WHERE id >= ? AND id < ?
       AND ((state = 1 AND ended_at < ?) OR (state > 1 AND ended_at < ?)) RETURNING id`,
    ).all(firstDelivery, endDelivery, deliveredBeforeUs, failedBeforeUs)
    const forget = prepared<never, [number]>(tx, 'DELETE FROM attempts WHERE delivery_id = ?')
    for (const { id } of gone) forget.run(id)
    const alone = prepared<never, [number, number, number]>(
      tx,
      `DELETE FROM events WHERE id > ? AND id <= ? AND at < ? AND NOT EXISTS
         (SELECT 1 FROM deliveries d WHERE d.id >= events.id * ${DELIVERIES_PER_EVENT}
          AND d.id < (events.id + 1) * ${DELIVERIES_PER_EVENT})`,
    ).run(afterId, last.id, deliveredBeforeUs)
    const pruned = gone.length + alone.changes
    // What proves that the store is whole must know of which time some may be gone.
    if (pruned > 0)
      prepared<never, [number]>(tx, 'UPDATE clock SET pruned_to = max(pruned_to, ?)').run(Math.min(latestUs, nowUs))
    return { lastId: old.length === step ? last.id : null, pruned }
  },
)

/**
 * Takes out a step of the webhooks whose URL has left the list and to which no delivery refers any more: all that is left is newer than
 * their leaving. The newest webhook stays, so that no id is given twice: what is known of one by its id is never taken for another's.
 * @returns how many.
 */
export const pruneWebhooks = mutation(
  'deliveries.pruneWebhooks',
  (tx: Tx, { step }: { readonly step: number }): number =>
    prepared<never, [number]>(
      tx,
      `DELETE FROM webhooks WHERE id IN (SELECT id FROM webhooks WHERE position IS NULL AND cancelled_to = 0
         AND NOT EXISTS (SELECT 1 FROM deliveries WHERE id <= left_to)
         AND id < (SELECT max(id) FROM webhooks) LIMIT ?)`,
    ).run(step).changes,
)
