import type { Tx } from './mutation.ts'
import { prepared } from './prepared.ts'

/** What is wrong with the file itself, in SQLite's words; empty when it is whole. Reads all of it. */
export function fileFaults(tx: Tx): string[] {
  const rows = prepared<{ quick_check: string }, []>(tx, 'PRAGMA quick_check(5)').all()
  return rows.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok')
}
