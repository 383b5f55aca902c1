import { existsSync } from 'node:fs'
import type { Config } from '../../app/config.ts'
import { backupPlaceOf } from '../../backups/place.ts'
import { backupsAmong } from '../../backups/schedule.ts'
import { parseS3Url } from '../../lib/s3-url.ts'
import { formatDuration } from '../../lib/time.ts'
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
  const [newest] = backupsAmong(names)
  if (newest === undefined) return [advice('backups', `there is no backup in ${backup}`, FIX)]
  const ageMs = Math.max(0, nowMs - newest.atUs / 1_000)
  const text = `the newest backup in ${backup} is ${newest.name}, ${formatDuration(ageMs)} old`
  if (ageMs <= 2 * backupEveryMs) return [ok('backups', text)]
  return [advice('backups', `${text}: one is due every ${formatDuration(backupEveryMs)}`, FIX)]
}
