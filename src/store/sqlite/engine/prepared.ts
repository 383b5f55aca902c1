import type { SQLQueryBindings } from 'bun:sqlite'
import type { Tx } from './mutation.ts'

/** Returns a statement that is prepared once for each connection, as long as it is among those used last. */
export const prepared = <Row, Params extends SQLQueryBindings[]>(tx: Tx, sql: string) => tx.query<Row, Params>(sql)
