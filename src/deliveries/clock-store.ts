import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'

/** `steppedUs`: the wall clock's time less this is the steady time, on which `since` and `due_at` are. */
export type Stepped = { readonly steppedUs: number; readonly pruneFromUs: number }

/** For a statement: turns steady time into the wall clock's, and back. */
export const STEPPED = '(SELECT stepped FROM clock)'

export function readStepped(tx: Tx): Stepped {
  const row = prepared<Stepped, []>(tx, 'SELECT stepped AS steppedUs, prune_from AS pruneFromUs FROM clock').get()
  return row ?? { steppedUs: 0, pruneFromUs: 0 }
}

export const saveStepped = mutation('clock.save', (tx: Tx, { steppedUs, pruneFromUs }: Stepped): void => {
  prepared<never, [number, number]>(tx, 'UPDATE clock SET stepped = ?, prune_from = ?').run(steppedUs, pruneFromUs)
})

/** The latest steady time that the store knows of; 0 if none. */
export function lastSteadyUs(tx: Tx): number {
  const row = prepared<{ sinceUs: number }, []>(
    tx,
    'SELECT since AS sinceUs FROM deliveries ORDER BY id DESC LIMIT 1',
  ).get()
  return row?.sinceUs ?? 0
}

/** Returns when the newest event was stored, on the wall clock as it was then. */
export function newestEventUs(tx: Tx): number | undefined {
  return prepared<{ atUs: number }, []>(tx, 'SELECT at AS atUs FROM events ORDER BY id DESC LIMIT 1').get()?.atUs
}
