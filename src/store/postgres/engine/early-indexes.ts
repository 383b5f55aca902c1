import type { Client, Query } from './client.ts'

/**
 * An index of a partitioned table that a migration creates. It is made before the migration, for one partition after
 * the other and without blocking writes; `CREATE INDEX` on the whole table then finds it, and takes it over.
 */
export type EarlyIndex = { readonly table: string; readonly name: string; readonly on: string }

/** The index of call ends, as its migration has it. */
export const CALL_ENDS: EarlyIndex = {
  table: 'events',
  name: 'by_call_end',
  on: '(right(call_id, 8), account_id) WHERE sequence > 0',
}

/** A number of this program's own. */
const LOCK = 4_829_103
const AGAIN_MS = 500

/** Makes indexes of the partitions that exist. Processes take turns; each finds the indexes that others have made. */
export async function makeEarlyIndexes({ query }: Client, indexes: readonly EarlyIndex[]): Promise<void> {
  if (indexes.length === 0) return
  // Waiting in a statement would be waited for by an index that another process is making.
  while (!(await isLocked(query))) await Bun.sleep(AGAIN_MS)
  try {
    for (const index of indexes) await makeOne(query, index)
  } finally {
    await query(`SELECT pg_advisory_unlock(${LOCK})`)
  }
}

async function isLocked(query: Query): Promise<boolean> {
  const [row] = await query<{ mine: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS mine`)
  return row?.mine === true
}

async function makeOne(query: Query, { table, name, on }: EarlyIndex): Promise<void> {
  const partitions = await query<{ partition: string; valid: boolean | null }>(
    `SELECT c.relname AS partition, (SELECT x.indisvalid FROM pg_index x
       WHERE x.indexrelid = to_regclass('public.' || c.relname || '_${name}')) AS valid
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'public.${table}'::regclass
     ORDER BY c.relname`,
  )
  for (const { partition, valid } of partitions) {
    if (valid === true) continue
    // What an interrupted run left is not complete.
    if (valid === false) await query(`DROP INDEX CONCURRENTLY ${partition}_${name}`)
    await query(`CREATE INDEX CONCURRENTLY ${partition}_${name} ON ${partition} ${on}`)
  }
}
