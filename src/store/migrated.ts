/** A store whose tables were made or changed: its versions before (0: it is new) and after, and how long it took. */
export type Migrated = { readonly from: number; readonly to: number; readonly seconds: number }

/** Returns the duration of a migration with the precision that a log needs. */
export const migrationSeconds = (fromMs: number, toMs: number): number => Math.round((toMs - fromMs) / 10) / 100
