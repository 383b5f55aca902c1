import { nextTurn } from '../../lib/slices.ts'

// Keeping the store in order: the stepped clock, pruning, erasing, checks.

/** `steppedUs`: wall time less this is steady time. `pruneFromUs` (steady): nothing is pruned for its age before. */
export type SteppedClock = { readonly steppedUs: number; readonly pruneFromUs: number }

export type ErasedCounts = {
  /** Records deleted, and events whose bodies were emptied. */
  readonly calls: number
  readonly events: number
  /** Events that are still pending for a receiver: their bodies stay until they have ended. */
  readonly pending: number
}

/** How the deliveries of a store are, for `doctor`. */
export type StoreCondition = {
  /** Every URL in a list, once an account. */
  readonly webhooks: readonly { readonly account: string; readonly url: string }[]
  readonly failed: number
  /** Counted up to 10,000. */
  readonly pending: number
  readonly oldestPendingUs: number | undefined
  readonly newestEventUs: number | undefined
}

/** A place in the store that a search for a number has come to: all records of calls come before all events. */
export type NumberPlace =
  | { readonly of: 'calls'; readonly afterId: string }
  | { readonly of: 'events'; readonly afterId: number }
/** `next`: `null` after the last step. */
export type NumberStep = { readonly callIds: readonly string[]; readonly next: NumberPlace | null }

/** Returns the calls whose record or event bodies hold a number as a whole string. */
export async function callListWithNumber(
  maintenance: Pick<MaintenanceStore, 'callFindNumber'>,
  number: string,
): Promise<string[]> {
  const found = new Set<string>()
  for (let place: NumberPlace | null = { of: 'calls', afterId: '' }; place !== null; ) {
    const { callIds, next }: NumberStep = await maintenance.callFindNumber(number, place)
    for (const id of callIds) found.add(id)
    place = next
    // A read of SQLite resolves at once: without a turn of their own, all steps would be one.
    await nextTurn()
  }
  return [...found]
}

export type MaintenanceStore = {
  /** Writes one row: rejects when the store cannot be written. */
  writeProbe(): Promise<void>
  /**
   * Returns how far the wall clock was set since the store was made, the time from which pruning may go on, the latest
   * known steady time (0: none), and the time of the newest event.
   */
  clockGet(): Promise<SteppedClock & { readonly lastSteadyUs: number; readonly newestEventUs: number | undefined }>
  /** Stores how far the wall clock was set. */
  clockSet(clock: SteppedClock): Promise<void>
  /**
   * Deletes deliveries that ended before the given times with their attempts, and events without deliveries, of the
   * next `limit` events above an id. Returns how many, and the last event that was checked (`null`: the others are too
   * young).
   */
  deliveryPrune(step: {
    afterId: number
    deliveredBeforeUs: number
    failedBeforeUs: number
    nowUs: number
    limit: number
  }): Promise<{ lastId: number | null; pruned: number }>
  /**
   * Deletes events that are kept for a short time only and happened before a time, with their deliveries, of the next
   * `limit` such events above an id. Those with a pending delivery stay. Returns how many, and the last one that was
   * checked (`null`: the others are too young).
   */
  shortLivedPrune(step: {
    afterId: number
    beforeUs: number
    limit: number
  }): Promise<{ lastId: number | null; pruned: number }>
  /** Deletes webhooks that left their list and have no deliveries, at most `limit`. Returns how many. */
  webhookPrune(limit: number): Promise<number>
  /** Deletes secrets whose URL left its list before a time, at most `limit`, with their tokens. Returns how many. */
  secretPrune(step: { beforeUs: number; limit: number }): Promise<number>
  /** Deletes call records saved before a time, at most `limit`. Returns how many. */
  callPrune(step: { beforeUs: number; limit: number }): Promise<number>
  /**
   * Returns the calls whose record or event body holds a number as a whole string, of the next few records or events
   * behind a place, so that nothing waits long for it. `callListWithNumber` takes all steps.
   */
  callFindNumber(number: string, from: NumberPlace): Promise<NumberStep>
  /** Deletes the records of calls and empties the bodies of their events that have ended. Returns the counts. */
  callErase(ids: readonly string[]): Promise<ErasedCounts>
  /** Removes a number, in each spelling of an E.164 number, from live calls. Returns the number of calls with it. */
  liveCallErase(number: string): Promise<number>
  /** Returns all inconsistencies in the store, a sentence each with some ids; empty if the store is consistent. */
  verify(): Promise<string[]>
  /**
   * Returns the damage in the store's files and schema; empty if every page is readable and nothing is missing.
   * `brief`: only the damage that is found without reading all pages.
   */
  fileFaults(extent: 'brief' | 'whole'): Promise<string[]>
  /** Returns how many deliveries there are in each state, with the number that failed since a time. */
  conditionGet(sinceUs: number): Promise<StoreCondition>
}
