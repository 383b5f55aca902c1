import { closeSync, mkdirSync, openSync } from 'node:fs'
import { Fault } from '../../../lib/fault.ts'
import { storeFault, storeFaultKind } from './store-fault.ts'

/** It contains secrets and password hashes: only the user of the service may read it. */
const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Creates the data folder if it does not exist. @throws Fault `unavailable` */
export function makeFolder(path: string): void {
  try {
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
    closeSync(openSync(path, 'a', FILE_MODE))
  } catch (cause) {
    throw unusable(path, path, cause)
  }
}

function unusable(what: string, path: string, cause: unknown): Fault {
  const kind = storeFaultKind(cause, path)
  if (kind !== undefined) return storeFault(kind, what, cause)
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Fault('unavailable', `${what} cannot be used (${why}): give another folder with --data`, { cause })
}
