import { mutation, type Tx } from './mutation.ts'
import { connect } from './open.ts'
import { prepared } from './prepared.ts'

/** Writes an existing value again. It succeeds only if the store can be written. */
export const probeWrite = mutation('maintenance.writeProbe', (tx: Tx, _args: null): void => {
  const row = prepared<{ user_version: number }, []>(tx, 'PRAGMA user_version').get()
  if (row === null) throw new Error('SQLite gives no version of the store')
  tx.run(`PRAGMA user_version = ${row.user_version}`)
})

/** Tries the same write through its own connection. @throws the error of SQLite, which contains the reason. */
export function tryToWrite(path: string): void {
  const sqlite = connect(path, 'writer')
  try {
    sqlite.transaction(() => probeWrite.run(sqlite, null)).immediate()
  } finally {
    sqlite.close()
  }
}
