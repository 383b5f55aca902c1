import { Database as Sqlite } from 'bun:sqlite'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../../lib/fault.ts'
import { FILE_MODE } from './data-folder.ts'
import { writeRefusal } from './store-fault.ts'

/**
 * Copies the store as it is at this moment, beside whoever writes to it: they wait for nothing. The copy is whole or is
 * not there, is readable by its owner alone (it holds secrets), and was read through. @returns its size.
 * @throws Fault when the target is there already, or cannot be written.
 */
export function backupStore(path: string, target: string): number {
  if (existsSync(target)) throw new Fault('invalid', `${target} is there already: name a file that is not`)
  // Nobody else's: what is removed when it fails is only what was made here.
  const part = `${target}.${randomUUID()}.part`
  try {
    closeSync(openSync(part, 'wx', FILE_MODE))
    copy(path, part)
    proveWhole(part)
    renameSync(part, target)
    sync(dirname(target))
    return statSync(target).size
  } catch (cause) {
    rmSync(part, { force: true })
    throw new Fault('unavailable', `cannot write the backup ${target}: ${writeRefusal(cause, target)}`, { cause })
  }
}

/** Waits until what was written to a file or a folder is on the disk. */
function sync(path: string): void {
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
    // The copy takes this over: a page of it that was split while it was made holds nothing twice.
    sqlite.run('PRAGMA secure_delete = ON')
    sqlite.run('VACUUM INTO ?', [part])
  } finally {
    sqlite.close()
  }
  sync(part)
}

function proveWhole(part: string): void {
  const sqlite = new Sqlite(part, { readonly: true, strict: true })
  try {
    const found = sqlite.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok') throw new Error(`the copy is damaged (${found}): hookswitch verify tells more`)
  } finally {
    sqlite.close()
  }
}
