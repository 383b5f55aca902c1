import { SETTINGS } from '../settings.ts'

// Command lines that messages suggest: they can be pasted into a shell as they are.

/**
 * Returns ` --data FOLDER`, quoted for a shell, so that a suggested command uses the same store; '' for the default
 * folder.
 */
export const dataFlag = (dataPath: string): string =>
  dataPath === SETTINGS.dataPath.default
    ? ''
    : ` --data ${/^[\w./-]+$/.test(dataPath) ? dataPath : `'${dataPath.replaceAll("'", `'\\''`)}'`}`

/** Returns the command that adds a first user. */
export const addUserLine = (dataPath: string): string =>
  `hookswitch user add --email you@example.com --name You${dataFlag(dataPath)}`
