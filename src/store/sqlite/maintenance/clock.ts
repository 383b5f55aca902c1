import type { SteppedClock } from '../../operations/maintenance.ts'
import type { Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'

/** For a statement: turns steady time into the wall clock's, and back. */
export const STEPPED = '(SELECT stepped FROM clock)'

/** Returns how far the wall clock was set, and from when pruning may go on. */
export function readClock(tx: Tx): SteppedClock {
  const row = prepared<SteppedClock, []>(tx, 'SELECT stepped AS steppedUs, prune_from AS pruneFromUs FROM clock').get()
  return row ?? { steppedUs: 0, pruneFromUs: 0 }
}
