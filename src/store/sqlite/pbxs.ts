import { and, asc, eq, sql } from 'drizzle-orm'
import type { PbxChange, PbxStateRecord, PbxStore } from '../operations/pbxs.ts'
import { pbxMemory, pbxStates, pbxs } from '../sql/tables.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'

/** Adds or replaces a PBX. False if it is not as it was seen. */
export const setPbx = mutation('pbxs.pbxSet', (tx: Tx, { seenVersion, ...row }: PbxChange): boolean => {
  const before = tx.select({ version: pbxs.version }).from(pbxs).where(eq(pbxs.name, row.name)).get()
  if ((before?.version ?? null) !== seenVersion) return false
  tx.insert(pbxs).values(row).onConflictDoUpdate({ target: pbxs.name, set: row }).run()
  return true
})

/** Notes that the calls of an earlier PBX are ended. False if the PBX was changed since that version. */
export const setPbxCallsEnded = mutation(
  'pbxs.pbxSetCallsEnded',
  (tx: Tx, { name, version }: { name: string; version: string }): boolean => {
    const same = and(eq(pbxs.name, name), eq(pbxs.version, version))
    if (tx.select({ name: pbxs.name }).from(pbxs).where(same).get() === undefined) return false
    tx.delete(pbxMemory).where(eq(pbxMemory.pbx, name)).run()
    tx.delete(pbxStates).where(eq(pbxStates.pbx, name)).run()
    tx.update(pbxs).set({ endsCalls: false }).where(same).run()
    deleteUnneeded(tx)
    return true
  },
)

/** Deletes the PBXs that were removed, and that nothing depends on. */
const deleteUnneeded = (tx: Tx): boolean =>
  tx
    .delete(pbxs)
    .where(
      sql`url IS NULL AND ends_calls = 0 AND (recordings IS NULL OR NOT (
        EXISTS (SELECT 1 FROM recordings r WHERE r.state = 'pending' AND r.pbx = pbxs.name)
        OR EXISTS (SELECT 1 FROM recordings r WHERE r.state = 'saved' AND r.pbx = pbxs.name AND r.copy IS NULL)))`,
    )
    .returning({ name: pbxs.name })
    .all().length > 0

export const deleteRemovedPbxs = mutation('pbxs.pbxDeleteRemoved', (tx: Tx): boolean => deleteUnneeded(tx))

/** Stores the state of a PBX. */
export const setPbxState = mutation('pbxs.pbxStateSet', (tx: Tx, row: PbxStateRecord): void => {
  tx.insert(pbxStates).values(row).onConflictDoUpdate({ target: pbxStates.pbx, set: row }).run()
})

/** Creates the operations on PBXs. */
export function createPbxStore({ read, commit }: Database): PbxStore {
  return {
    pbxList: async () => read.select().from(pbxs).orderBy(asc(pbxs.name)).all(),
    pbxSet: (change) => commit(setPbx, change),
    pbxSetCallsEnded: (ended) => commit(setPbxCallsEnded, ended),
    pbxDeleteRemoved: () => commit(deleteRemovedPbxs, undefined),
    pbxListInSettings: async () => null,
    pbxStateSet: (state) => commit(setPbxState, state),
    pbxStateList: async () => read.select().from(pbxStates).all(),
  }
}
