import { closeSync, existsSync, fchownSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../../lib/fault.ts'
import { storeFault, storeFaultKind } from './store-fault.ts'

/** It contains secrets and password hashes: only the user of the service may read it. */
const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Creates the data folder if it does not exist. @throws Fault `unavailable` */
export function makeFolder(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) throw new Error('it is a file')
    mkdirSync(path, { recursive: true, mode: FOLDER_MODE })
  } catch (cause) {
    throw unusable(`the data folder ${path}`, path, cause)
  }
}

/**
 * Creates an empty store if it does not exist. The files that SQLite puts beside it get the same mode.
 * @throws Fault `unavailable`
 */
export function makeFile(path: string): void {
  try {
    const isNew = !existsSync(path)
    const file = openSync(path, 'a', FILE_MODE)
    if (isNew) giveToOwner(file, dirname(path))
    closeSync(file)
  } catch (cause) {
    throw unusable(path, path, cause)
  }
}

/** Gives a file that root made to the owner of its folder: else the service of another user could not open it. */
function giveToOwner(file: number, folder: string): void {
  const { uid, gid } = statSync(folder)
  if (process.getuid?.() === 0 && uid !== 0) fchownSync(file, uid, gid)
}

/** Reads a file of the data folder. @throws Fault `unavailable` */
export function readStoreFile(path: string): Buffer {
  try {
    // Reading a named pipe would wait for ever.
    if (!statSync(path).isFile()) throw new Error('it is not a file')
    return readFileSync(path)
  } catch (cause) {
    throw unusable(path, path, cause, 'move it away')
  }
}

function unusable(what: string, path: string, cause: unknown, advice = 'give another folder with --data'): Fault {
  const kind = storeFaultKind(cause, path)
  if (kind !== undefined) return storeFault(kind, what, cause)
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Fault('unavailable', `${what} cannot be used (${why}): ${advice}`, { cause })
}
