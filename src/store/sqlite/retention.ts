import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

type Step = {
  readonly afterId: number
  readonly deliveredBeforeUs: number
  readonly failedBeforeUs: number
  readonly nowUs: number
  readonly limit: number
}

/** The newest event stays, so that no id is given twice. */
export const pruneDeliveries = mutation(
  'maintenance.deliveryPrune',
  (
    tx: Tx,
    { afterId, deliveredBeforeUs, failedBeforeUs, nowUs, limit }: Step,
  ): { lastId: number | null; pruned: number } => {
    const latestUs = Math.max(deliveredBeforeUs, failedBeforeUs)
    const events = prepared<{ id: number; atUs: number }, [number, number]>(
      tx,
      'SELECT id, at AS atUs FROM events WHERE id > ? AND id < (SELECT max(id) FROM events) ORDER BY id LIMIT ?',
    ).all(afterId, limit)
    // Events that were stored while the wall clock was ahead are skipped: older ones may follow them.
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
    const alone = prepared<{ id: number; accountId: number }, [number, number, number]>(
      tx,
      `DELETE FROM events WHERE id > ? AND id <= ? AND at < ? AND NOT EXISTS
         (SELECT 1 FROM deliveries d WHERE d.id >= events.id * ${DELIVERIES_PER_EVENT}
          AND d.id < (events.id + 1) * ${DELIVERIES_PER_EVENT}) RETURNING id, account_id AS accountId`,
    ).all(afterId, last.id, deliveredBeforeUs)
    notePruned(tx, alone)
    const pruned = gone.length + alone.length
    // `verify` has to know from which time on nothing was pruned.
    if (pruned > 0)
      prepared<never, [number]>(tx, 'UPDATE clock SET pruned_to = max(pruned_to, ?)').run(Math.min(latestUs, nowUs))
    return { lastId: old.length === limit ? last.id : null, pruned }
  },
)

/** Clients that read events back have to know which may have been pruned. */
function notePruned(tx: Tx, pruned: readonly { readonly id: number; readonly accountId: number }[]): void {
  const note = prepared<never, [number, number]>(
    tx,
    'UPDATE accounts SET events_pruned_to = max(events_pruned_to, ?) WHERE id = ?',
  )
  for (const [accountId, some] of Map.groupBy(pruned, ({ accountId }) => accountId))
    note.run(Math.max(...some.map(({ id }) => id)), accountId)
}
