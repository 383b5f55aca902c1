import type { MaintenanceStore } from '../operations/maintenance.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import type { Client, Query } from './engine/client.ts'
import { analyzeNewPartitions, continuePartitions, dropPartitions, rangesToDelete } from './engine/partitions.ts'

type Step = Parameters<MaintenanceStore['deliveryPrune']>[0]

type Pruned = Awaited<ReturnType<MaintenanceStore['deliveryPrune']>>

/**
 * Prunes whole partitions first, then, step by step, the old rows of partitions that are still written or span days.
 */
export async function pruneDeliveries(client: Client, step: Step): Promise<Pruned> {
  if (step.afterId > 0) return await client.transaction((query) => deleteStep(query, step))
  await client.transaction((query) => continuePartitions(query, step.nowUs))
  await analyzeNewPartitions(client)
  const gone = await dropPartitions(client, step)
  return await client.transaction(async (query) => {
    if (gone > 0) await notePruned(query, Math.min(latestOf(step), step.nowUs))
    const { lastId, pruned } = await deleteStep(query, step)
    return { lastId, pruned: pruned + gone }
  })
}

const latestOf = ({ deliveredBeforeUs, failedBeforeUs }: Step): number => Math.max(deliveredBeforeUs, failedBeforeUs)

/** Continues in the next range when one has no old rows left. */
async function deleteStep(query: Query, step: Step): Promise<Pruned> {
  for (const { firstId, endId } of await rangesToDelete(query)) {
    if (endId <= step.afterId + 1) continue
    const pruned = await deleteOf(query, { ...step, afterId: Math.max(step.afterId, firstId - 1) }, endId)
    if (pruned !== undefined) return pruned
  }
  return { lastId: null, pruned: 0 }
}

/**
 * Deletes a batch of old deliveries; returns `undefined` if none is old. The newest event stays, because it has the
 * time of the last write.
 */
async function deleteOf(query: Query, step: Step, endId: number): Promise<Pruned | undefined> {
  const { afterId, deliveredBeforeUs, failedBeforeUs, nowUs, limit } = step
  const latestUs = latestOf(step)
  const events = await query<{ id: number; atUs: number }>(
    `SELECT id, at AS "atUs" FROM events
     WHERE id > $1 AND id < least($3, (SELECT max(id) FROM events)) ORDER BY id LIMIT $2::int`,
    [afterId, limit, endId],
  )
  // Events that were stored while the wall clock was ahead are skipped: older ones may follow them.
  const old = events.filter(({ atUs }) => atUs < latestUs || atUs > nowUs)
  const last = old.at(-1)
  if (last === undefined) return undefined
  const gone = await query(
    `WITH gone AS (DELETE FROM ended_deliveries WHERE id >= $1 AND id < $2
         AND ((state = 1 AND ended_at < $3) OR (state > 1 AND ended_at < $4)) RETURNING id),
       forgotten AS (DELETE FROM attempts WHERE delivery_id >= $1 AND delivery_id < $2 AND delivery_id IN (SELECT id FROM gone))
     SELECT 1 AS one FROM gone`,
    [(afterId + 1) * DELIVERIES_PER_EVENT, (last.id + 1) * DELIVERIES_PER_EVENT, deliveredBeforeUs, failedBeforeUs],
  )
  const [alone] = await query<{ count: number }>(
    `WITH alone AS (DELETE FROM events e WHERE e.id > $1 AND e.id <= $2 AND e.at < $3 AND NOT EXISTS
         (SELECT 1 FROM deliveries d WHERE d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT})
         RETURNING e.id, e.account_id),
       noted AS (UPDATE accounts a SET events_pruned_to = greatest(a.events_pruned_to, p.id)
         FROM (SELECT account_id, max(id) AS id FROM alone GROUP BY account_id) AS p WHERE a.id = p.account_id)
     SELECT count(*) AS count FROM alone`,
    [afterId, last.id, deliveredBeforeUs],
  )
  const pruned = gone.length + (alone?.count ?? 0)
  if (pruned > 0) await notePruned(query, Math.min(latestUs, nowUs))
  return { lastId: old.length === limit ? last.id : await nextRange(query, endId), pruned }
}

/** Returns the last id before the next range; `null` if no range follows. */
async function nextRange(query: Query, endId: number): Promise<number | null> {
  return (await rangesToDelete(query)).some(({ firstId }) => firstId >= endId) ? endId - 1 : null
}

/** `verify` needs the time from which on nothing was pruned. */
async function notePruned(query: Query, toUs: number): Promise<void> {
  await query('UPDATE clock SET pruned_to = greatest(pruned_to, $1)', [toUs])
}
