// Backups of the store at intervals: when, where, how many. The content of a backup is the store's business.

export { startBackups } from './backup-runs.ts'
export { backupPlaceOf } from './place.ts'
export { backupsAmong } from './schedule.ts'
