import type { DatabaseSource } from '../lib/database-url.ts'
import { SETTINGS } from '../settings.ts'

// Command lines that messages suggest: they can be pasted into a shell as they are.

/** The place of a store: a database, or else a folder. */
export type StorePlace = { readonly dataPath: string; readonly database?: DatabaseSource | undefined }

/**
 * Returns ` --data FOLDER`, quoted for a shell, so that a suggested command uses the same store; '' for the default
 * folder. The URL of a database is not repeated: there is a password in it.
 */
export function dataFlag({ dataPath, database }: StorePlace): string {
  if (database !== undefined) return ' --database-url …'
  return dataPath === SETTINGS.dataPath.default
    ? ''
    : ` --data ${/^[\w./-]+$/.test(dataPath) ? dataPath : `'${dataPath.replaceAll("'", `'\\''`)}'`}`
}

/** Returns the command that adds a first user. */
export const addUserLine = (place: StorePlace): string =>
  `hookswitch user add --admin --email you@example.com --name You${dataFlag(place)}`
