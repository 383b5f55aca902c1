import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SETTINGS } from '../app/settings.ts'
import { hasCertificates } from '../lib/certificate-file.ts'
import { Fault } from '../lib/fault.ts'
import { openPostgresStore } from '../store/postgres/store.ts'
import { asStoreFault } from '../store/sqlite/engine/store-fault.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import { printError } from './print.ts'
import type { StorePlace } from './suggested-commands.ts'

/** The flags for the place of the store, on every command that uses it. */
export type StoreFlags = { readonly data: string; readonly databaseUrl?: string | undefined }

/** Prints the reason why a command waits. */
export const onWaiting = (message: string): void => printError(`hookswitch: ${message}`)

/** Only for people: a script reads the error that follows. */
export const onSilence = process.stderr.isTTY === true ? onWaiting : undefined

/**
 * Reads the place of the store.
 * @throws CommanderError (exit code 2) when the database URL is not valid.
 */
export const storePlaceOf = ({ data, databaseUrl }: StoreFlags): StorePlace => ({
  dataPath: data,
  database: SETTINGS.database.read(databaseUrl, { canRead: hasCertificates }),
})

/**
 * Checks that there is a store at a path.
 * @throws Fault if it is missing, or this user may not read its folder.
 */
export function requireStore(path: string, access = accessSync): void {
  try {
    // The commands that need a store would make one of it, and call that whole.
    if (statSync(path).size === 0)
      throw new Fault('not_found', `${path} is empty, so there is no store: put a backup in its place, or start serve`)
    access(path, constants.R_OK)
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const isForbidden = cause instanceof Error && 'code' in cause && cause.code === 'EACCES'
    throw isForbidden
      ? new Fault('unavailable', `no permission to read ${path}: run this as the user of the service`, { cause })
      : new Fault('not_found', `there is no store at ${path}: give its folder with --data`, { cause })
  }
}

/** Returns whether a command has a store: a database that is named, or the file in its folder. */
export function hasStore(flags: StoreFlags): boolean {
  const { dataPath, database } = storePlaceOf(flags)
  return database !== undefined || existsSync(join(dataPath, 'hookswitch.db'))
}

/** Opens a store that must exist for one piece of work. @throws Fault `not_found` if it does not. */
export async function withExistingStore<Result>(
  flags: StoreFlags,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { dataPath, database } = storePlaceOf(flags)
  const path = join(dataPath, 'hookswitch.db')
  if (database === undefined) requireStore(path)
  const store =
    database === undefined ? openSqliteStore(path) : await openPostgresStore(database, { onWaiting, onSilence })
  try {
    return await work(store)
  } catch (error) {
    throw database === undefined ? asStoreFault(error, path) : error
  } finally {
    await store.stop()
  }
}
