// Backups of the store at intervals: when, where, how many. What is copied is the store's.

export { startBackups } from './backup-runs.ts'
export { backupPlaceOf } from './place.ts'
export { backupsAmong } from './schedule.ts'
