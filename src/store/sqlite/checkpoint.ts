import { Database as Sqlite } from 'bun:sqlite'

/**
 * Moves what the write-ahead log holds to the store's file and empties it, beside whoever uses the store. What was
 * deleted or written over before is in neither then. @returns false if somebody was in the way all the time.
 */
export function emptyLog(path: string): boolean {
  const sqlite = new Sqlite(path, { create: false, readwrite: true, strict: true })
  try {
    sqlite.run('PRAGMA busy_timeout = 5000')
    return sqlite.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } finally {
    sqlite.close()
  }
}
