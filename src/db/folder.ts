import { closeSync, mkdirSync, openSync } from 'node:fs'
import { Fault } from '../lib/fault.ts'

/** Secrets and password hashes are in it: nobody but the service's own user has any business there. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/** Makes the data folder where there is none; one that is there is left as it is. @throws Fault `unavailable` */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: FOLDER_MODE })
  } catch (cause) {
    throw unusable(`the data folder ${path} cannot be made`, cause)
  }
}

/** Makes an empty store where there is none; the files that SQLite puts beside it get its mode. @throws Fault `unavailable` */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'a', FILE_MODE))
  } catch (cause) {
    throw unusable(`${path} cannot be written`, cause)
  }
}

function unusable(what: string, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Fault('unavailable', `${what} (${why}): give a folder that this user may write to with --data`, { cause })
}
