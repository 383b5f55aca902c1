import type { SQLQueryBindings, Database as Sqlite } from 'bun:sqlite'
import type { Tx } from './mutation.ts'

const connections = new WeakMap<Tx, Sqlite>()

/** Registers the connection of a Drizzle handle, for `prepared`. */
export function bindConnection(tx: Tx, connection: Sqlite): void {
  connections.set(tx, connection)
}

/**
 * Returns a statement that is prepared once for each connection. For hot paths, where Drizzle takes longer to build a
 * query than SQLite to run it.
 */
export function prepared<Row, Params extends SQLQueryBindings[]>(tx: Tx, sql: string) {
  const connection = connections.get(tx)
  if (connection === undefined) throw new Error('this handle was not opened by openDatabase')
  return connection.query<Row, Params>(sql)
}
