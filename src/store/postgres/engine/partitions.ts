import { SECOND } from '../../../lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import type { Client, Query } from './client.ts'
import { codeOf } from './store-fault.ts'

/** Event ids in one partition: more than a day stores, at some 770 a second. */
const EVENTS_PER_PARTITION = 2 ** 26

export const partitionOf = (eventId: number): number => Math.floor(eventId / EVENTS_PER_PARTITION)

const TABLES = [
  { table: 'events', perEvent: 1 },
  { table: 'ended_deliveries', perEvent: DELIVERIES_PER_EVENT },
  { table: 'attempts', perEvent: DELIVERIES_PER_EVENT },
] as const

const DAY_US = 86_400 * SECOND
/** A larger partition does not hold one day: its rows are deleted one by one. */
const MAX_SPAN_US = 2 * DAY_US
/** A wall clock that was set back may have given later events earlier times. */
const MARGIN_US = 3_600 * SECOND
/** With more rows left, rewriting them would cost more than deleting the others. */
const MAX_LEFT = 0.25
/** A longer wait would delay other statements: replacing the partition is tried again in the next round. */
const LOCK_MS = 500
const LOCK_NOT_AVAILABLE = '55P03'

const boundsOf = (number: number, perEvent: number): string =>
  `FROM (${number * EVENTS_PER_PARTITION * perEvent}) TO (${(number + 1) * EVENTS_PER_PARTITION * perEvent})`

/**
 * Creates the missing partitions, from the first number to the last. Attaching a table blocks nobody, while creating a
 * partition in place waits for all other statements, and they for it.
 */
export async function createPartitions(query: Query, first: number, last: number): Promise<void> {
  // Two processes that create the same partition at once would conflict.
  await query('SELECT 1 FROM clock FOR UPDATE')
  for (let number = first; number <= last; number += 1)
    for (const { table, perEvent } of TABLES) {
      const name = `${table}_${number}`
      const found = await query('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [`public.${name}`])
      if (found.length > 0) continue
      await query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)`)
      await query(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${boundsOf(number, perEvent)}`)
    }
}

/**
 * Makes the planner's statistics of partitions that have rows and no statistics: until the server makes them by itself,
 * which may be never, it plans as if their columns held anything.
 */
export async function analyzeNewPartitions({ query }: Pick<Client, 'query'>): Promise<void> {
  const found = await query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = ANY(ARRAY[${TABLES.map(({ table }) => `'${table}'::regclass`).join(', ')}])
       AND c.reltuples <= 0 AND pg_relation_size(c.oid) > 0 ORDER BY c.relname`,
  )
  for (const { name } of found) await query(`ANALYZE ${name}`)
}

/**
 * Moves the ids of new events to the next partition when the present one was begun a day ago, and creates those that
 * come next. The row of the clock is locked meanwhile: two processes that did this at once would assign ids twice.
 */
export async function continuePartitions(query: Query, nowUs: number): Promise<void> {
  await query('SELECT 1 FROM clock FOR UPDATE')
  const current = await currentPartition(query)
  await createPartitions(query, current, current + 2)
  const span = await spanOf(query, current)
  if (span === undefined || nowUs - span.firstUs < DAY_US) return
  await query('SELECT setval($1::regclass, $2)', ['event_ids', (current + 1) * EVENTS_PER_PARTITION])
}

async function currentPartition(query: Query): Promise<number> {
  const [row] = await query<{ last: number }>('SELECT last_value AS last FROM event_ids')
  return partitionOf(row?.last ?? 0)
}

type Span = { readonly firstUs: number; readonly lastUs: number }

/** Returns when the first and the last event of a partition happened, or `undefined` if it has none. */
async function spanOf(query: Query, number: number): Promise<Span | undefined> {
  const range = 'id >= $1 AND id < $2'
  const [row] = await query<{ firstUs: number | null; lastUs: number | null }>(
    `SELECT (SELECT at FROM events WHERE ${range} ORDER BY id LIMIT 1) AS "firstUs",
       (SELECT at FROM events WHERE ${range} ORDER BY id DESC LIMIT 1) AS "lastUs"`,
    [number * EVENTS_PER_PARTITION, (number + 1) * EVENTS_PER_PARTITION],
  )
  const { firstUs = null, lastUs = null } = row ?? {}
  return firstUs === null || lastUs === null ? undefined : { firstUs, lastUs }
}

type Partition = { readonly number: number; readonly span: Span | undefined; readonly isOfOneDay: boolean }

/** Returns the partitions up to the one with the newest event, the oldest first. */
async function listPartitions(query: Query): Promise<Partition[]> {
  const rows = await query<{ number: number }>(
    `SELECT substring(c.relname FROM '[0-9]+$')::int AS number FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'events'::regclass ORDER BY 1`,
  )
  const [newest] = await query<{ id: number }>('SELECT id FROM events ORDER BY id DESC LIMIT 1')
  const last = partitionOf(newest?.id ?? 0)
  const partitions: Partition[] = []
  for (const { number } of rows) {
    if (number > last) break
    const span = await spanOf(query, number)
    // The partition of the newest event is still written.
    const isOfOneDay = number < last && (span === undefined || span.lastUs - span.firstUs <= MAX_SPAN_US)
    partitions.push({ number, span, isOfOneDay })
  }
  return partitions
}

/** Returns the ranges of event ids from which rows are deleted one by one, the oldest first. */
export async function rangesToDelete(query: Query): Promise<{ readonly firstId: number; readonly endId: number }[]> {
  const partitions = await listPartitions(query)
  return partitions
    .filter(({ isOfOneDay }) => !isOfOneDay)
    .map(({ number }) => ({ firstId: number * EVENTS_PER_PARTITION, endId: (number + 1) * EVENTS_PER_PARTITION }))
}

type Ages = { readonly deliveredBeforeUs: number; readonly failedBeforeUs: number; readonly nowUs: number }

/**
 * Drops the partitions of days that are older than the retention. If deliveries of a day failed or are pending, they
 * are moved to a new partition, which replaces the old one. Returns the number of deleted rows.
 */
export async function dropPartitions(client: Client, ages: Ages): Promise<number> {
  const beforeUs = Math.min(ages.deliveredBeforeUs, ages.nowUs) - MARGIN_US
  const partitions = await client.transaction(listPartitions)
  let gone = 0
  for (const { number, span, isOfOneDay } of partitions) {
    if (!isOfOneDay || (span !== undefined && span.lastUs >= beforeUs)) continue
    if (!(await client.transaction((query) => isWorthwhile(query, number, ages)))) continue
    try {
      gone += await client.transaction((query) => replacePartition(query, number, ages))
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error
    }
  }
  return gone
}

/** Most of it is past its retention: only then is it replaced. */
async function isWorthwhile(query: Query, number: number, ages: Ages): Promise<boolean> {
  const [row] = await query<{ all: number; old: number }>(
    `SELECT count(*) AS all, count(*) FILTER (WHERE (state = 1 AND ended_at < $1)
       OR (state > 1 AND ended_at < $2)) AS old FROM ended_deliveries_${number}`,
    [ages.deliveredBeforeUs, ages.failedBeforeUs],
  )
  const { all = 0, old = 0 } = row ?? {}
  return old >= all * (1 - MAX_LEFT)
}

async function replacePartition(query: Query, number: number, ages: Ages): Promise<number> {
  await query(`SET LOCAL lock_timeout = ${LOCK_MS}`)
  const names = TABLES.map(({ table }) => `${table}_${number}`)
  // The rows that are kept must not change until they are in their new place.
  await query(`LOCK TABLE ${names.join(', ')} IN SHARE ROW EXCLUSIVE MODE`)
  await query('CREATE TEMPORARY TABLE kept (id bigint PRIMARY KEY) ON COMMIT DROP')
  await query(
    `INSERT INTO kept SELECT id FROM ended_deliveries_${number}
     WHERE (state = 1 AND ended_at >= $1) OR (state > 1 AND ended_at >= $2)
     UNION SELECT id FROM pending_deliveries WHERE id >= $3 AND id < $4`,
    [
      ages.deliveredBeforeUs,
      ages.failedBeforeUs,
      number * EVENTS_PER_PARTITION * DELIVERIES_PER_EVENT,
      (number + 1) * EVENTS_PER_PARTITION * DELIVERIES_PER_EVENT,
    ],
  )
  const [counts] = await query<{ all: number; kept: number }>(
    `SELECT (SELECT count(*) FROM ended_deliveries_${number}) + (SELECT count(*) FROM events_${number}) AS all,
       (SELECT count(*) FROM kept) AS kept`,
  )
  const { all = 0, kept = 0 } = counts ?? {}
  if (all > 0 && kept > all * MAX_LEFT) return 0
  await noteGone(query, number)
  const left = kept === 0 ? 0 : await keepRows(query, number)
  for (const [at, { table, perEvent }] of TABLES.entries()) {
    await query(`DROP TABLE ${names[at]}`)
    if (kept === 0) continue
    await query(`ALTER TABLE ${table}_kept RENAME TO ${names[at]}`)
    await query(`ALTER TABLE ${table} ATTACH PARTITION ${names[at]} FOR VALUES ${boundsOf(number, perEvent)}`)
  }
  return all - left
}

/** Readers of events have to know which ones may have been pruned. */
async function noteGone(query: Query, number: number): Promise<void> {
  await query(
    `UPDATE accounts a SET events_pruned_to = greatest(a.events_pruned_to, e.id) FROM
       (SELECT account_id, max(id) AS id FROM events_${number} WHERE id NOT IN (SELECT id / ${DELIVERIES_PER_EVENT} FROM kept)
        GROUP BY account_id) AS e
     WHERE a.id = e.account_id`,
  )
}

/**
 * Copies the rows of a partition that are kept to new tables. Returns how many rows of events and deliveries there are.
 */
async function keepRows(query: Query, number: number): Promise<number> {
  const events = `id IN (SELECT id / ${DELIVERIES_PER_EVENT} FROM kept)`
  const conditions = {
    events,
    ended_deliveries: 'id IN (SELECT id FROM kept)',
    attempts: 'delivery_id IN (SELECT id FROM kept)',
  }
  let left = 0
  for (const { table } of TABLES) {
    await query(`CREATE TABLE ${table}_kept (LIKE ${table} INCLUDING ALL)`)
    const rows = await query<{ count: number }>(
      `WITH k AS (INSERT INTO ${table}_kept SELECT * FROM ${table}_${number} WHERE ${conditions[table]} RETURNING 1)
       SELECT count(*) AS count FROM k`,
    )
    if (table !== 'attempts') left += rows[0]?.count ?? 0
  }
  return left
}
