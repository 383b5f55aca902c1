import { rfc3339 } from '../lib/time.ts'

/**
 * A backup in its place; its name has the time of its start. `isAhead`: that time is in the future, since the clock was
 * ahead. Nobody knows the true age of such a backup.
 */
type Backup = { readonly name: string; readonly atUs: number; readonly isAhead: boolean }

/** Returns the name of a backup that starts now: `hookswitch-2026-11-23T071500Z.db`. */
export const backupName = (atUs: number): string =>
  `hookswitch-${rfc3339(atUs).slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replaceAll(':', '')}Z.db`

/**
 * Returns the backups among the names in a folder, the newest first. Backups from the future count as the oldest. Other
 * files are ignored and left alone.
 */
export function backupsAmong(names: Iterable<string>, nowUs: number): Backup[] {
  return [...names]
    .flatMap((name) => {
      const match = /^hookswitch-(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d)Z\.db$/.exec(name)
      if (match === null) return []
      const [, day = '', hour = '', minute = '', second = ''] = match
      const ms = Date.parse(`${day}${hour}:${minute}:${second}Z`)
      return Number.isNaN(ms) ? [] : [{ name, atUs: ms * 1_000, isAhead: ms * 1_000 > nowUs }]
    })
    .sort((one, other) => Number(one.isAhead) - Number(other.isAhead) || other.atUs - one.atUs)
}

/** Returns the microseconds until the next backup is due, at least 0. A backup from the future does not delay it. */
export function dueInUs([newest]: readonly Backup[], everyUs: number, nowUs: number): number {
  return newest === undefined || newest.isAhead ? 0 : Math.max(0, newest.atUs + everyUs - nowUs)
}

/** Returns the backups to delete so that the newest `keep` stay, and the one that was just made in any case. */
export const expired = (backups: readonly Backup[], keep: number, made: string): readonly Backup[] =>
  backups.slice(keep).filter(({ name }) => name !== made)
