import { Database as Sqlite } from 'bun:sqlite'
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../lib/fault.ts'
import { rfc3339 } from '../../../lib/time.ts'
import { syncToDisk } from './backup.ts'
import { makeFolder } from './data-folder.ts'
import { holderOf, lockFolder } from './folder-lock.ts'
import { assertKnownVersion, prepareStore, versionOf } from './open.ts'
import { schemaDifference } from './schema.ts'
import { refusalOf } from './store-fault.ts'

type Restored = {
  /** The time of the newest event of the backup, RFC 3339; `null` if it has none. */
  readonly newestEventAt: string | null
  /** The folder to which the store that was there was moved; `null` if there was none. */
  readonly movedTo: string | null
}

/**
 * Puts a backup in the place of a folder's store. The store that was there, with all its files, is moved to a folder
 * beside it, so that nothing is lost. `stamp` names that folder.
 * @throws Fault when a service runs on the folder, the file is no intact backup, or something cannot be written; then
 * the store that was there is still in its place.
 */
export function restoreStore(backup: string, dataPath: string, stamp: string): Restored {
  const holder = holderOf(join(dataPath, 'lock'))
  if (holder !== undefined)
    throw new Fault('unavailable', `hookswitch runs on ${dataPath} (${holder}): stop it first, then restore`)
  assertBackupFile(backup)
  makeFolder(dataPath)
  const lock = lockFolder(join(dataPath, 'lock'))
  const part = join(dataPath, `hookswitch.db.${randomUUID()}.part`)
  try {
    removeLeftCopies(dataPath)
    copyFileSync(backup, part)
    const newestEventUs = readBackup(part, backup)
    // A file that cannot be opened as a store never takes the place of one.
    prepareStore(part)
    syncToDisk(part)
    const movedTo = moveAway(dataPath, join(dataPath, `before-restore-${stamp}`))
    renameSync(part, join(dataPath, 'hookswitch.db'))
    syncToDisk(dataPath)
    return { newestEventAt: newestEventUs === null ? null : rfc3339(newestEventUs), movedTo }
  } catch (cause) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true })
    if (cause instanceof Fault) throw new Fault(cause.code, cause.message.replaceAll(part, backup), { cause })
    throw new Fault('unavailable', `cannot restore ${backup}: ${refusalOf(cause, dataPath)}`, { cause })
  } finally {
    lock.release()
  }
}

const COPY = /^hookswitch\.db\.[\da-f-]{36}\.part(-wal|-shm|-journal)?$/

/** Removes the copies of backups that a restore left when it was killed. The caller holds the folder's lock. */
export function removeLeftCopies(dataPath: string): void {
  for (const name of readdirSync(dataPath)) if (COPY.test(name)) rmSync(join(dataPath, name), { force: true })
}

/** Moves the files of the store, its log of changes included: a log that stayed would be applied to the backup. */
function moveAway(dataPath: string, target: string): string | null {
  const files = readdirSync(dataPath).filter((name) => /^hookswitch\.db(-wal|-shm|-outcomes)?$/.test(name))
  if (files.length === 0) return null
  mkdirSync(target, { mode: 0o700 })
  // The file itself last: until then a start would still find the old store.
  for (const name of files.toSorted((one, other) => other.length - one.length))
    renameSync(join(dataPath, name), join(target, name))
  syncToDisk(target)
  return target
}

function assertBackupFile(path: string): void {
  if (!existsSync(path)) throw new Fault('not_found', `there is no file ${path}: give the file of a backup`)
  if (!statSync(path).isFile()) throw new Fault('invalid', `${path} is not a file: give the file of a backup`)
  // Reading a backup with SQLite leaves an empty file, which holds nothing.
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new Fault('invalid', `${path} is a store in use, not a backup: ${path}-wal belongs to it`)
}

/**
 * Checks that a copy of a backup is intact, and that its schema is the one of its version: a trigger or view that
 * somebody put into the file would run in the store. SQLite writes files beside what it opens, and the folder of the
 * backup may be read-only. Returns the time of its newest event in microseconds, or `null`.
 */
function readBackup(copy: string, path: string): number | null {
  try {
    const sqlite = new Sqlite(copy, { readwrite: true, strict: true })
    try {
      const version = versionOf(sqlite)
      assertKnownVersion(path, version)
      const difference = schemaDifference(sqlite, version)
      if (difference !== undefined) throw new Error(difference)
      const found = sqlite.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
      if (found !== 'ok') throw new Error(`it is damaged (${found})`)
      return sqlite.query<{ at: number }, []>('SELECT at FROM events ORDER BY id DESC LIMIT 1').get()?.at ?? null
    } finally {
      sqlite.close()
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('invalid', `${path} is not a backup of a store: ${reason}`, { cause })
  }
}
