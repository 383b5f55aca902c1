import { Database as Sqlite } from 'bun:sqlite'

/**
 * Moves the write-ahead log into the store's file and empties it, so that deleted data is in neither. Other processes
 * may use the store meanwhile. Returns whether it succeeded: false if one of them blocked it all the time.
 */
export function emptyWriteAheadLog(path: string): boolean {
  const sqlite = new Sqlite(path, { create: false, readwrite: true, strict: true })
  try {
    sqlite.run('PRAGMA busy_timeout = 5000')
    // The passive checkpoint blocks no writer. The second checkpoint blocks writers, and copies only the newest pages.
    sqlite.run('PRAGMA wal_checkpoint(PASSIVE)')
    return sqlite.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } finally {
    sqlite.close()
  }
}
