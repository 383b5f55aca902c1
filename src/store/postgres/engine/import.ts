import { Fault } from '../../../lib/fault.ts'
import { type DatabaseSource, databaseName } from '../../database-url.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import { newClient, type Query, texts } from './client.ts'
import { prepareDatabase } from './open.ts'
import { createPartitions, partitionOf } from './partitions.ts'

/** A table to copy: for each batch of rows an array for every column. */
type TableToCopy = {
  readonly name: string
  readonly columns: readonly string[]
  readonly count: number
  batches(): Iterable<readonly (readonly (string | null)[])[]>
}

/** Rows refer to rows of tables earlier in this list; rows of the other tables refer to nothing. */
const ORDER = ['accounts', 'users', 'tokens', 'webhooks', 'secrets', 'events', 'deliveries', 'attempts']
/** Columns that a store of one node lacks and that have no default. */
const LACKING: Readonly<Record<string, Readonly<Record<string, string>>>> = { quarters: { node: "''" } }
const WITH_IDENTITY = ['accounts', 'users', 'webhooks', 'audit']

/** A store of many gigabytes takes hours. */
const COPY_MS = 24 * 3_600_000

/**
 * Copies all tables of a store into a database that has no users yet, with the same ids: all of them, or none.
 * Returns how many rows each table has.
 * @throws Fault when the database has users or a service runs on it, or when a row is missing at the end.
 */
export async function importTables(
  source: DatabaseSource,
  tables: readonly TableToCopy[],
  onWaiting?: (message: string) => void,
): Promise<{ readonly table: string; readonly rows: number }[]> {
  await prepareDatabase(source, { onWaiting })
  const name = databaseName(source)
  const client = newClient(source, { role: 'copy', connections: 1, statementMs: COPY_MS })
  try {
    return await client.transaction(async (query) => {
      // A service that starts meanwhile waits for this row.
      await query('SELECT 1 FROM hookswitch_store FOR UPDATE')
      await requireEmpty(query, name)
      const place = ({ name: table }: TableToCopy) => (ORDER.includes(table) ? ORDER.indexOf(table) : ORDER.length)
      const sorted = tables.toSorted((one, other) => place(one) - place(other))
      // A new store has its first account, the clock and, once it was served, a key.
      for (const { name: table } of sorted.toReversed())
        for (const [target] of targetsOf(table)) await query(`DELETE FROM ${target}`)
      for (const table of sorted) await copyTable(query, table)
      await continueIds(query)
      await query('ANALYZE')
      return await countRows(query, sorted)
    })
  } finally {
    await client.stop()
  }
}

async function requireEmpty(query: Query, name: string): Promise<void> {
  const users = await query(
    'SELECT 1 FROM users UNION ALL SELECT 1 FROM webhooks UNION ALL SELECT 1 FROM events LIMIT 1',
  )
  if (users.length > 0)
    throw new Fault('conflict', `the database ${name} already has users or events: copy the store to an empty one`)
  // A starting service waits for the locked row. The start of this process may still be listed for a moment.
  const services = await query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name LIKE 'hookswitch %' AND application_name <> 'hookswitch start'`,
  )
  if (services.length > 0)
    throw new Fault('conflict', `a service or a command is using the database ${name}: stop it, then copy again`)
}

async function copyTable(query: Query, { name, columns, batches }: TableToCopy): Promise<void> {
  for (const batch of batches()) {
    const arrays = batch.map((cells) => texts(cells))
    if (name === 'events') await addPartitions(query, batch[columns.indexOf('id')] ?? [])
    const from = `unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) AS r(${columns.join(', ')})`
    for (const [table, condition, join] of targetsOf(name)) {
      const types = await columnTypes(query, table)
      const wanted = columns.filter((column) => types.has(column))
      if (table === name && wanted.length < columns.length)
        throw new Error(`${table} lacks a column of ${columns.join(', ')}`)
      const added = Object.entries(join === '' ? (LACKING[name] ?? {}) : { account_id: 'e.account_id' })
      await query(
        `INSERT INTO ${table} (${[...wanted, ...added.map(([column]) => column)].join(', ')}) OVERRIDING SYSTEM VALUE
         SELECT ${[...wanted.map((column) => `r.${column}::${types.get(column)}`), ...added.map(([, value]) => value)].join(', ')}
         FROM ${from} ${join} WHERE ${condition}`,
        arrays,
      )
    }
  }
}

/** Returns the tables that get the rows of a table, each with the condition that selects them. */
function targetsOf(name: string): readonly (readonly [table: string, condition: string, join: string])[] {
  if (name !== 'deliveries') return [[name, 'TRUE', '']]
  const join = `JOIN events e ON e.id = r.id::bigint / ${DELIVERIES_PER_EVENT}`
  return [
    ['pending_deliveries', "r.state = '0'", join],
    ['ended_deliveries', "r.state <> '0'", join],
  ]
}

async function columnTypes(query: Query, table: string): Promise<Map<string, string>> {
  const rows = await query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [table],
  )
  return new Map(rows.map(({ name, type }) => [name, type]))
}

async function addPartitions(query: Query, ids: readonly (string | null)[]): Promise<void> {
  const numbers = new Set(ids.map((id) => partitionOf(Number(id))))
  for (const number of numbers) await createPartitions(query, number, number + 1)
}

/** Data that is stored from now on gets ids after the copied ones. */
async function continueIds(query: Query): Promise<void> {
  await query(
    `SELECT setval('event_ids', greatest((SELECT max(id) FROM events),
       (SELECT max(left_to) / ${DELIVERIES_PER_EVENT} FROM webhooks), 1), EXISTS (SELECT 1 FROM events))`,
  )
  for (const table of WITH_IDENTITY)
    await query(
      `SELECT setval(pg_get_serial_sequence('${table}', 'id'), greatest(max(id), 1), max(id) IS NOT NULL) FROM ${table}`,
    )
}

async function countRows(query: Query, tables: readonly TableToCopy[]): Promise<{ table: string; rows: number }[]> {
  const counts: { table: string; rows: number }[] = []
  for (const { name, count } of tables) {
    const [row] = await query<{ count: number }>(`SELECT count(*) AS count FROM ${name}`)
    if (row?.count !== count)
      throw new Fault(
        'unavailable',
        `only ${row?.count ?? 0} of ${count} rows of ${name} could be copied, so nothing was: find the errors with hookswitch verify`,
      )
    counts.push({ table: name, rows: count })
  }
  return counts
}
