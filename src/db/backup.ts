import { Database as Sqlite } from 'bun:sqlite'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { Fault } from '../lib/fault.ts'

/**
 * Copies the store as it is at this moment, beside whoever writes to it: they wait for nothing. The copy is whole or is not there, is
 * readable by its owner alone (it holds secrets), and was read through. @returns its size.
 * @throws Fault when the target is there already, or cannot be written.
 */
export function backupStore(path: string, target: string): number {
  if (existsSync(target)) throw new Fault('invalid', `${target} is there already: name a file that is not`)
  const part = `${target}.part`
  try {
    rmSync(part, { force: true })
    closeSync(openSync(part, 'wx', 0o600))
    copy(path, part)
    proveWhole(part)
    renameSync(part, target)
    return statSync(target).size
  } catch (cause) {
    rmSync(part, { force: true })
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('unavailable', `cannot write the backup ${target}: ${why}`, { cause })
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
  const file = openSync(part, 'r')
  fsyncSync(file)
  closeSync(file)
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
