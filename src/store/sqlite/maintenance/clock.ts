import type { SteppedClock } from '../../operations/maintenance.ts'
import { mutation, type Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'

/** For a statement: turns steady time into the wall clock's, and back. */
export const STEPPED = '(SELECT stepped FROM clock)'

/** Returns how far the wall clock was set, and from when pruning may go on. */
export function readClock(tx: Tx): SteppedClock {
  const row = prepared<SteppedClock, []>(tx, 'SELECT stepped AS steppedUs, prune_from AS pruneFromUs FROM clock').get()
  return row ?? { steppedUs: 0, pruneFromUs: 0 }
}

export const setClock = mutation('maintenance.clockSet', (tx: Tx, { steppedUs, pruneFromUs }: SteppedClock): void => {
  prepared<never, [number, number]>(tx, 'UPDATE clock SET stepped = ?, prune_from = ?').run(steppedUs, pruneFromUs)
})

/** Returns the latest steady time that the store knows of; 0 if none. */
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
