import { Database as Sqlite } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { Fault } from '../../../lib/fault.ts'
import { makeFile } from './data-folder.ts'
import { asStoreFault, storeFaultKind } from './store-fault.ts'

/**
 * Holds a data folder for one process, until it is released or the process ends, however it ends: the lock is the
 * operating system's, which SQLite takes for us, not a file with a process id that may be another's by now. Its file
 * says who has it.
 * @throws Fault `unavailable`, naming who has it, or why it cannot be had.
 */
export function lockFolder(path: string): { release(): void } {
  makeFile(path)
  const connection = open(path, { create: true })
  try {
    connection.run('BEGIN IMMEDIATE')
    writeHolder(connection)
    // Keeps every other writer out and lets readers in, so that the next one can be told who is here.
    if (!connection.inTransaction) connection.run('BEGIN IMMEDIATE')
  } catch (cause) {
    const fault = refusal(path, connection, cause)
    connection.close()
    throw fault
  }
  return {
    release() {
      connection.run('ROLLBACK')
      connection.close()
    },
  }
}

/** Returns who has a data folder, in words; `undefined` if nobody does. It changes nothing. */
export function holderOf(path: string): string | undefined {
  // One that was never taken is not made: it would be the operator's, not the service's.
  if (!existsSync(path)) return undefined
  const connection = open(path, { create: false })
  try {
    connection.run('BEGIN IMMEDIATE')
    connection.run('ROLLBACK')
    return undefined
  } catch (error) {
    return storeFaultKind(error, path) === 'busy' ? readHolder(connection) : undefined
  } finally {
    connection.close()
  }
}

function open(path: string, { create }: { create: boolean }): Sqlite {
  const connection = new Sqlite(path, { create, readwrite: true, strict: true })
  connection.run('PRAGMA busy_timeout = 0')
  return connection
}

/** Says who is here, for the next one. On a full disk it is not said: the lock itself needs no room. */
function writeHolder(connection: Sqlite): void {
  try {
    connection.run('CREATE TABLE IF NOT EXISTS holder (who TEXT NOT NULL)')
    connection.run('DELETE FROM holder')
    const { pid } = process
    connection.run('INSERT INTO holder (who) VALUES (?)', [
      `process ${pid} on ${hostname()}, since ${new Date().toISOString()}`,
    ])
    connection.run('COMMIT')
  } catch {
    if (connection.inTransaction) connection.run('ROLLBACK')
  }
}

function refusal(path: string, connection: Sqlite, cause: unknown): unknown {
  if (storeFaultKind(cause, path) !== 'busy') return asStoreFault(cause, path)
  const who = readHolder(connection)
  return new Fault('unavailable', `the data folder is in use by ${who}: stop it, or give another folder with --data`, {
    cause,
  })
}

const SOMEBODY = 'another process'

/** Who has it; not whom the file names, when that one has ended without another that could say so. */
function readHolder(connection: Sqlite): string {
  try {
    const who = connection.query<{ who: string }, []>('SELECT who FROM holder').get()?.who ?? SOMEBODY
    const [, pid, host] = /^process (\d+) on (.+), since /.exec(who) ?? []
    return host === hostname() && !isRunning(Number(pid)) ? SOMEBODY : who
  } catch {
    return SOMEBODY
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It runs, but is another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
