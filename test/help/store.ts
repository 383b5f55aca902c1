import { nowUs } from '../../src/lib/time.ts'
import { type CallBatch, type NewEvent, type StoredEvent, storedEventsOf } from '../../src/store/operations/calls.ts'
import { stateNumber } from '../../src/store/operations/delivery-state.ts'
import type { OutcomeBatch } from '../../src/store/operations/queue.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { storeOver } from '../../src/store/sqlite/store-over.ts'
import type { Store } from '../../src/store/store.ts'

/** A SQLite store whose tables a test may read. */
export type OpenStore = Store & { readonly db: Database }

export function openStore(path: string, options: DatabaseOptions = {}): OpenStore {
  const db = openDatabase(path, options)
  return { ...storeOver(db), db }
}

/** An empty batch with the given parts. */
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

/** Pruners need these in tests without flows. */
export const NO_FLOW_RECORDS = { keptPrune: async () => 0, flowProgressPrune: async () => 0 }

/** Returns the outcomes of deliveries that a receiver accepted at their first attempt. */
export function deliveredOutcomes(nowUs: number, ids: readonly number[]): OutcomeBatch {
  const each = <Value>(value: Value): Value[] => ids.map(() => value)
  return {
    deliveryIds: ids,
    generations: each(1),
    states: each(stateNumber('delivered')),
    tries: each(1),
    attemptsMade: each(1),
    dueSteadyUs: each(null),
    endedUs: each(nowUs),
    attemptUs: each(nowUs),
    probes: each(false),
    statuses: each(200),
    durationsMs: each(1),
    errors: each(null),
    addresses: each(null),
    responses: each('ok'),
  }
}
