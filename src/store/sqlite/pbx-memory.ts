import { eq } from 'drizzle-orm'
import { pbxMemory } from '../sql/tables.ts'
import { mutation, type Tx } from './engine/mutation.ts'

/** Replaces what is known of a PBX. */
export const setPbxMemory = mutation('calls.pbxMemorySet', (tx: Tx, row: { pbx: string; memory: string }): void => {
  tx.insert(pbxMemory)
    .values(row)
    .onConflictDoUpdate({ target: pbxMemory.pbx, set: { memory: row.memory } })
    .run()
})

/** Returns what was known of a PBX, `undefined` if nothing was. */
export const readPbxMemory = (tx: Tx, pbx: string): string | undefined =>
  tx.select({ memory: pbxMemory.memory }).from(pbxMemory).where(eq(pbxMemory.pbx, pbx)).get()?.memory
