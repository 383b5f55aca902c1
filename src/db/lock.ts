import { Database as Sqlite } from 'bun:sqlite'
import { hostname } from 'node:os'
import { Fault } from '../lib/fault.ts'
import { makeFile } from './folder.ts'

/**
 * Holds a data folder for one process, until it is released or the process ends, however it ends: the lock is the operating
 * system's, which SQLite takes for us, not a file with a process id that may be another's by now. Its file says who has it.
 * @throws Fault `unavailable`, naming who has it.
 */
export function lockFolder(path: string): { release(): void } {
  makeFile(path)
  const connection = new Sqlite(path, { create: true, strict: true })
  connection.run('PRAGMA busy_timeout = 0')
  try {
    const holder = `process ${process.pid} on ${hostname()}, since ${new Date().toISOString()}`
    connection.run('BEGIN IMMEDIATE')
    connection.run('CREATE TABLE IF NOT EXISTS holder (who TEXT NOT NULL)')
    connection.run('DELETE FROM holder')
    connection.run('INSERT INTO holder (who) VALUES (?)', [holder])
    connection.run('COMMIT')
    // Keeps every other writer out and lets readers in, so that the next one can be told who is here.
    connection.run('BEGIN IMMEDIATE')
  } catch (cause) {
    const who = holderOf(connection)
    connection.close()
    throw new Fault('unavailable', `the data folder is in use by ${who}: stop it, or give another folder with --data`, {
      cause,
    })
  }
  return {
    release() {
      connection.run('ROLLBACK')
      connection.close()
    },
  }
}

function holderOf(connection: Sqlite): string {
  try {
    return connection.query<{ who: string }, []>('SELECT who FROM holder').get()?.who ?? 'another process'
  } catch {
    return 'another process'
  }
}
