import { Database as Sqlite } from 'bun:sqlite'
import { existsSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { Fault } from '../../../lib/fault.ts'
import { makeFile } from './data-folder.ts'
import { asStoreFault, storeFaultKind } from './store-fault.ts'

/** Who holds a data folder: a service, or a command that works without one. Others may name neither. */
type HolderKind = 'process' | 'command'

/**
 * Locks a data folder for one process, until it is released or the process ends. The lock is the operating system's,
 * taken by SQLite; a file with a process id could name another process by now. The lock file contains the name of the
 * holder.
 * @throws Fault `unavailable` with the holder, or why the lock cannot be taken.
 */
export function lockFolder(path: string, kind: HolderKind = 'process'): Lock {
  const lock = tryLockFolder(path, kind)
  if (lock !== undefined) return lock
  const who = holderOf(path) ?? UNKNOWN_PROCESS
  throw new Fault('unavailable', `the data folder is in use by ${who}: stop it, or give another folder with --data`)
}

type Lock = { release(): void }

/** Does the same, but returns `undefined` while another process has the folder. */
export function tryLockFolder(path: string, kind: HolderKind): Lock | undefined {
  requireFile(path)
  makeFile(path)
  const connection = open(path, { create: true })
  try {
    // The name of the holder need not survive a power cut, and one row that is overwritten leaves the file whole.
    if (statSync(path).size > 0) connection.run('PRAGMA synchronous = OFF')
    connection.run('BEGIN IMMEDIATE')
    writeHolder(connection, kind)
    // This lock excludes writers but not readers, so that the next process can read the holder.
    if (!connection.inTransaction) connection.run('BEGIN IMMEDIATE')
  } catch (cause) {
    connection.close()
    if (storeFaultKind(cause, path) === 'busy') return undefined
    throw asStoreFault(cause, path)
  }
  return {
    release() {
      connection.run('ROLLBACK')
      connection.close()
    },
  }
}

/** Returns a description of the process that holds a data folder; `undefined` if it is free. Changes nothing. */
export function holderOf(path: string): string | undefined {
  // A missing lock file is not created: it would belong to the operator's user instead of the service's.
  if (!existsSync(path)) return undefined
  requireFile(path)
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

/** Returns whether a service holds a data folder, or may do so: a command names itself. */
export const isServed = (path: string): boolean => {
  const holder = holderOf(path)
  return holder !== undefined && !isCommand(holder)
}

/** Returns whether a holder is a command, which ends soon. */
export const isCommand = (holder: string): boolean => holder.startsWith('command ')

/** Returns why there can be no lock at a path, and what to do; `undefined`: there can be one. */
export function lockProblem(path: string): string | undefined {
  if (!existsSync(path) || statSync(path).isFile()) return undefined
  return `${path} is no file, but the lock of the store has this name: move it away`
}

/** @throws Fault if something else than a file has the name of the lock. */
function requireFile(path: string): void {
  const problem = lockProblem(path)
  if (problem !== undefined) throw new Fault('unavailable', problem)
}

function open(path: string, { create }: { create: boolean }): Sqlite {
  const connection = new Sqlite(path, { create, readwrite: true, strict: true })
  connection.run('PRAGMA busy_timeout = 0')
  return connection
}

/**
 * Writes the holder into the lock file, for the next process. On a full disk it is omitted: the lock itself needs no
 * space.
 */
function writeHolder(connection: Sqlite, kind: HolderKind): void {
  try {
    connection.run('CREATE TABLE IF NOT EXISTS holder (who TEXT NOT NULL)')
    connection.run('DELETE FROM holder')
    const { pid } = process
    connection.run('INSERT INTO holder (who) VALUES (?)', [
      `${kind} ${pid} on ${hostname()}, since ${new Date().toISOString()}`,
    ])
    connection.run('COMMIT')
  } catch {
    if (connection.inTransaction) connection.run('ROLLBACK')
  }
}

const UNKNOWN_PROCESS = 'another process'

/** Reads the holder. A named process that has ended is not the holder: its successor could not write its own name. */
function readHolder(connection: Sqlite): string {
  try {
    const who = connection.query<{ who: string }, []>('SELECT who FROM holder').get()?.who ?? UNKNOWN_PROCESS
    const [, pid, host] = /^(?:process|command) (\d+) on (.+), since /.exec(who) ?? []
    return host === hostname() && !isRunning(Number(pid)) ? UNKNOWN_PROCESS : who
  } catch {
    return UNKNOWN_PROCESS
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is running, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
