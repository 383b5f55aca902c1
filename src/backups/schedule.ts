import { rfc3339 } from '../lib/time.ts'

/** A backup in its place; its name has the time of its start. */
type Backup = { readonly name: string; readonly atUs: number }

/** Returns the name of a backup that starts now: `hookswitch-2026-11-23T071500Z.db`. */
export const backupName = (atUs: number): string =>
  `hookswitch-${rfc3339(atUs).slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replaceAll(':', '')}Z.db`

/** Returns the backups among the names in a folder, the newest first. Other files are ignored and left alone. */
export function backupsAmong(names: Iterable<string>): Backup[] {
  return [...names]
    .flatMap((name) => {
      const match = /^hookswitch-(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d)Z\.db$/.exec(name)
      if (match === null) return []
      const [, day = '', hour = '', minute = '', second = ''] = match
      const ms = Date.parse(`${day}${hour}:${minute}:${second}Z`)
      return Number.isNaN(ms) ? [] : [{ name, atUs: ms * 1_000 }]
    })
    .sort((one, other) => other.atUs - one.atUs)
}

/**
 * Returns the microseconds until the next backup is due, at least 0. A backup with a future time, made before the clock
 * was set back, does not delay it.
 */
export function dueInUs(backups: readonly Backup[], everyUs: number, atUs: number): number {
  const newest = backups.find((one) => one.atUs <= atUs)
  return newest === undefined ? 0 : Math.max(0, newest.atUs + everyUs - atUs)
}

/** Returns the backups to delete so that the newest `keep` stay. */
export const expired = (backups: readonly Backup[], keep: number): readonly Backup[] => backups.slice(keep)
