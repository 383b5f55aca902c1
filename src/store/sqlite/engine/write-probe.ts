import { sql } from 'drizzle-orm'
import { mutation, type Tx } from './mutation.ts'
import { connect } from './open.ts'

/** Writes an existing value again. It succeeds only if the store can be written. */
export const probeWrite = mutation('maintenance.writeProbe', (tx: Tx, _args: null): void => {
  const row = tx.get<{ user_version: number } | [number]>(sql`PRAGMA user_version`)
  const version = Array.isArray(row) ? row[0] : row.user_version
  tx.run(sql.raw(`PRAGMA user_version = ${Number(version)}`))
})

/** Tries the same write through its own connection. @throws the error of SQLite, which contains the reason. */
export function tryToWrite(path: string): void {
  const { sqlite, tx } = connect(path, 'writer')
  try {
    sqlite.transaction(() => probeWrite.run(tx, null)).immediate()
  } finally {
    sqlite.close()
  }
}
