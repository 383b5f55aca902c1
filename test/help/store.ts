import { nowUs } from '../../src/lib/time.ts'
import { type CallBatch, type NewEvent, type StoredEvent, storedEventsOf } from '../../src/store/operations/calls.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { storeOver } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'

/** A SQLite store whose tables a test may read. */
export type OpenStore = Store & { readonly db: Database }

export function openStore(path: string, options: DatabaseOptions = {}): OpenStore {
  const db = openDatabase(path, options)
  return { ...storeOver(db), db }
}

/** A batch with nothing in it but what is given. */
export function batch(part: Partial<CallBatch['parts'][number]>, rest: Partial<CallBatch> = {}): CallBatch {
  const parts = [{ accountId: 1, events: [], saved: [], ...part }]
  return { pbx: 'office', parts, live: [], removed: [], nowSteadyUs: nowUs(), ...rest }
}

/** Stores events as an ingest does. Returns them with their deliveries. */
export async function storeEvents(
  { calls }: Pick<Store, 'calls'>,
  events: readonly NewEvent[],
  { accountId = 1, nowSteadyUs = nowUs() }: { accountId?: number; nowSteadyUs?: number } = {},
): Promise<StoredEvent[]> {
  const stored = batch({ accountId, events }, { nowSteadyUs })
  return storedEventsOf(stored, await calls.batchStore(stored))
}

/** For pruners in tests without flows. */
export const NO_FLOW_RECORDS = { keptPrune: async () => 0, flowProgressPrune: async () => 0 }
