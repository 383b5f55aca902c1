import { existsSync } from 'node:fs'
import type { Config } from '../../app/config.ts'
import { backupPlaceOf, backupsAmong } from '../../backups/backups.ts'
import { formatDuration } from '../../lib/time.ts'
import { parseS3Url } from '../../outbound/s3-url.ts'
import { advice, type Diagnosis, ok } from './diagnosis.ts'

const FIX = 'see the log of the service: "the backup failed" has the reason'

/** Checks the age of the newest backup in the place of `--backup`: at most twice `--backup-every`. */
export async function diagnoseBackups(
  { backup, backupEveryMs, dataPath }: Pick<Config, 'backup' | 'backupEveryMs' | 'dataPath'>,
  nowMs: number,
): Promise<Diagnosis[]> {
  if (backup === undefined) return []
  let names: string[]
  try {
    // A folder that does not exist is not made here: it would be this user's.
    const isMissing = parseS3Url(backup) === undefined && !existsSync(backup)
    names = isMissing ? [] : await backupPlaceOf(backup, dataPath).list()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [
      advice('backups', `${backup} cannot be listed: ${reason}`, 'give doctor the user and the variables of serve'),
    ]
  }
  const backups = backupsAmong(names, nowMs * 1_000)
  return [...diagnoseNewest(backups, { backup, backupEveryMs }, nowMs), ...diagnoseAhead(backups, backup)]
}

type Backups = ReturnType<typeof backupsAmong>

function diagnoseNewest(
  backups: Backups,
  { backup, backupEveryMs }: { readonly backup: string; readonly backupEveryMs: number },
  nowMs: number,
): Diagnosis[] {
  const newest = backups.find(({ isAhead }) => !isAhead)
  if (newest === undefined) return [advice('backups', `there is no backup in ${backup}`, FIX)]
  const ageMs = nowMs - newest.atUs / 1_000
  const text = `the newest backup in ${backup} is ${newest.name}, ${formatDuration(ageMs)} old`
  if (ageMs <= 2 * backupEveryMs) return [ok('backups', text)]
  return [advice('backups', `${text}: one is due every ${formatDuration(backupEveryMs)}`, FIX)]
}

function diagnoseAhead(backups: Backups, backup: string): Diagnosis[] {
  const names = backups.filter(({ isAhead }) => isAhead).map(({ name }) => name)
  if (names.length === 0) return []
  return [
    advice(
      'backups',
      `${names.join(', ')} in ${backup}: from the future, since the clock was ahead; such backups count as the oldest`,
      'check the clock; rename the files to the time at which they were made, or delete them',
    ),
  ]
}
