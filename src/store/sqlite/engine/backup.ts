import { Database as Sqlite } from 'bun:sqlite'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../../lib/fault.ts'
import { FILE_MODE } from './data-folder.ts'
import { syncedMeanwhile } from './file-sync.ts'
import { refusalOf } from './store-fault.ts'

/**
 * Copies the store as it is at this moment, without blocking its writers, and syncs the copy in parts by a thread. The
 * copy is complete or absent, readable only by its owner (it contains secrets), and has been checked. @returns its size
 * in bytes.
 * @throws Fault when the target already exists, or cannot be written.
 */
export async function backupStore(path: string, target: string, startSyncThread: () => Worker): Promise<number> {
  if (existsSync(target)) throw new Fault('invalid', `${target} already exists: give another file name`)
  // A name of its own, so that a failure removes only the file that was created here.
  const part = `${target}.${randomUUID()}.part`
  try {
    closeSync(openSync(part, 'wx', FILE_MODE))
    await syncedMeanwhile(startSyncThread, part, () => copy(path, part))
    assertIntact(part)
    renameSync(part, target)
    syncToDisk(dirname(target))
    return statSync(target).size
  } catch (cause) {
    rmSync(part, { force: true })
    throw new Fault('unavailable', `cannot write the backup ${target}: ${refusalOf(cause, target)}`, { cause })
  }
}

/** Waits until the writes to a file or folder are on the disk. */
export function syncToDisk(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function copy(path: string, part: string): void {
  const sqlite = new Sqlite(path, { create: false, readwrite: true, strict: true })
  try {
    sqlite.run('PRAGMA busy_timeout = 5000')
    // The copy inherits this setting: its pages contain no remains of split pages.
    sqlite.run('PRAGMA secure_delete = ON')
    sqlite.run('VACUUM INTO ?', [part])
  } finally {
    sqlite.close()
  }
  syncToDisk(part)
}

function assertIntact(part: string): void {
  const sqlite = new Sqlite(part, { readonly: true, strict: true })
  try {
    const found = sqlite.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok') throw new Error(`the copy is damaged (${found}): run hookswitch verify`)
  } finally {
    sqlite.close()
  }
}
