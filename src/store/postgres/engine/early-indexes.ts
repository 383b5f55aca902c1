import type { Client, Query } from './client.ts'

/**
 * An index of a partitioned table that a migration creates. It is made before the migration, for one partition after
 * the other and without blocking writes; `CREATE INDEX` on the whole table then finds it, and takes it over.
 */
type EarlyIndex = { readonly table: string; readonly name: string; readonly on: string }

/** The index of call ends, as its migration has it. */
const CALL_ENDS: EarlyIndex = {
  table: 'events',
  name: 'by_call_end',
  on: '(right(call_id, 8), account_id) WHERE sequence > 0',
}

/** A number of this program's own. */
const LOCK = 4_829_103
const AGAIN_MS = 500

/** Work for a migration that would block other nodes as a part of the migration. It may be interrupted anywhere. */
export type EarlyWork = (client: Client) => Promise<void>

/** Does the work before migrations. Processes take turns; each finds what others have done. */
export async function workBeforeMigrations(client: Client, works: readonly EarlyWork[]): Promise<void> {
  const { query } = client
  if (works.length === 0) return
  // Waiting in a statement would be waited for by an index that another process is making.
  while (!(await isLocked(query))) await Bun.sleep(AGAIN_MS)
  try {
    for (const work of works) await work(client)
  } finally {
    await query(`SELECT pg_advisory_unlock(${LOCK})`)
  }
}

async function isLocked(query: Query): Promise<boolean> {
  const [row] = await query<{ mine: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS mine`)
  return row?.mine === true
}

/** Makes the index of call ends, for each partition that exists. */
export const makeCallEnds: EarlyWork = async ({ query }) => {
  const { table, name, on } = CALL_ENDS
  const partitions = await query<{ partition: string }>(
    `SELECT c.relname AS partition FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'public.${table}'::regclass ORDER BY c.relname`,
  )
  for (const { partition } of partitions) await makeIndex(query, { table: partition, name: `${partition}_${name}`, on })
}

/** Makes an index of a table without blocking writes, unless it is complete. */
export async function makeIndex(query: Query, { table, name, on }: EarlyIndex): Promise<void> {
  const [found] = await query<{ valid: boolean }>(
    'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`public.${name}`],
  )
  if (found?.valid === true) return
  // The index of an interrupted run is not complete.
  if (found !== undefined) await query(`DROP INDEX CONCURRENTLY ${name}`)
  await query(`CREATE INDEX CONCURRENTLY ${name} ON ${table} ${on}`)
}
