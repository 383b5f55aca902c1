import type { SQLQueryBindings, Database as Sqlite } from 'bun:sqlite'
import type { Tx } from './mutation.ts'

const connections = new WeakMap<Tx, Sqlite>()

/** Remembers which connection is under a Drizzle handle, for `prepared`. */
export function bindConnection(tx: Tx, connection: Sqlite): void {
  connections.set(tx, connection)
}

/**
 * A statement of the hot path, prepared once for each connection: building a query costs Drizzle more than SQLite takes
 * to run it. For stores only, and only where a profile asks for it.
 */
export function prepared<Row, Params extends SQLQueryBindings[]>(tx: Tx, sql: string) {
  const connection = connections.get(tx)
  if (connection === undefined) throw new Error('this handle was not opened by openDatabase')
  return connection.query<Row, Params>(sql)
}
