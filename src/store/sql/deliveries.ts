import { type SQL, sql } from 'drizzle-orm'
import { ERASED_START } from '../operations/log.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import { either } from './statement.ts'

// The tables of events and deliveries, which each engine stores in its own way: Postgres separates pending and ended
// deliveries. In both, `deliveries` can be read as one.

/** The table of pending deliveries. SQLite has all deliveries in it, so a statement adds `state = 0`. */
export const PENDING_TABLE: SQL = either({ sqlite: sql`deliveries`, postgres: sql`pending_deliveries` })
/** The pending deliveries, to read them. */
export const PENDING: SQL = either({
  sqlite: sql`(SELECT * FROM deliveries WHERE state = 0)`,
  postgres: sql`pending_deliveries`,
})
/** The table of ended deliveries. SQLite has all deliveries in it, so a statement adds `state > 0`. */
export const ENDED_TABLE: SQL = either({ sqlite: sql`deliveries`, postgres: sql`ended_deliveries` })

/** The number of deliveries for which an event has ids, as a part of statements: a constant, not a value. */
export const PER_EVENT: SQL = sql.raw(`${DELIVERIES_PER_EVENT}`)
/** The condition that a delivery `d` is of an event `e`, for reading the deliveries of an event. */
export const OF_EVENT: SQL = sql`d.id >= e.id * ${PER_EVENT} AND d.id < (e.id + 1) * ${PER_EVENT}`
/** The condition that the body of an event `e` was erased. */
export const IS_ERASED: SQL = sql.raw(`(e.body LIKE '${ERASED_START}%')`)
