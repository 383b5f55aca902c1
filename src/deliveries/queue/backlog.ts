import type { LoadedDelivery } from './delivery.ts'

/**
 * The pending deliveries of one webhook that are in the store alone. Pure, and the only code that changes this.
 *
 * Invariants: a delivery that was never tried and has an id up to `cursor` is in memory or has ended; above, the store
 * alone may have some if `hasMore`, else none (of other nodes' events none that was noticed). Retries in the store
 * alone are due at `retryUs` or later; `undefined`: none.
 */
export type Backlog = {
  readonly webhookId: number
  readonly cursor: number
  /** The highest id that was ever read or taken. Unlike the cursor it never goes back. */
  readonly seenTo: number
  readonly hasMore: boolean
  /** In steady time. */
  readonly retryUs: number | undefined
  /** The load that is under way: one at a time. */
  readonly load: Load | undefined
  /**
   * Whether only the first pending delivery of a call is in memory; the others are in the store, below `cursor` too.
   */
  readonly isStrict: boolean
  /** In a strict order: calls whose next delivery is to be loaded, since the one before it has ended. */
  readonly nextOf: Set<string>
}

/** A load of deliveries from the store, and what has happened since it began, which its result cannot show. */
export type Load = {
  /** The store was changed: the result is out of date. */
  readonly isStale: boolean
  /** Events were stored above those that are read. */
  readonly moreStored: boolean
  /** Deliveries that left memory: the result may have them as they were before. */
  readonly released: Set<number>
}

type State = { -readonly [name in keyof Backlog]: Backlog[name] }
type LoadState = { -readonly [name in keyof Load]: Load[name] }

/** Returns the backlog of a webhook of which nothing was read yet: the store may have deliveries of each kind. */
const newBacklog = (webhookId: number): Backlog => ({
  webhookId,
  cursor: 0,
  seenTo: 0,
  hasMore: true,
  retryUs: 0,
  load: undefined,
  isStrict: false,
  nextOf: new Set(),
})

/** Returns whether a retry in the store may be due. */
export const hasDue = ({ retryUs }: Backlog, nowUs: number): boolean => retryUs !== undefined && retryUs <= nowUs

/** Returns whether the store may have deliveries that can be queued now. */
export const needsLoad = (backlog: Backlog, nowUs: number): boolean =>
  backlog.hasMore || backlog.nextOf.size > 0 || hasDue(backlog, nowUs)

/**
 * Notes that a delivery was taken into memory as it was stored. Unless other nodes may have stored some, none that was
 * never tried is below it in the store.
 */
export function noteTaken(backlog: Backlog, id: number, { isShared }: { isShared: boolean }): void {
  const state: State = backlog
  state.seenTo = Math.max(state.seenTo, id)
  if (!isShared) state.cursor = id
}

/** Notes that a delivery was stored and not taken into memory. */
export function noteStored(backlog: Backlog): void {
  const state: State = backlog
  state.hasMore = true
  const load: LoadState | undefined = backlog.load
  if (load !== undefined) load.moreStored = true
}

/** Notes that a delivery left memory. */
export function noteReleased({ load }: Backlog, id: number): void {
  load?.released.add(id)
}

/** Notes that a delivery left memory while it is pending: it has to be loaded again. */
export function noteEvicted(backlog: Backlog, { id, dueUs }: LoadedDelivery): void {
  const state: State = backlog
  if (dueUs !== undefined) {
    state.retryUs = Math.min(state.retryUs ?? dueUs, dueUs)
    return
  }
  state.cursor = Math.min(state.cursor, id - 1)
  state.hasMore = true
  invalidateLoad(backlog)
}

/** Notes that a delivery was retried by hand while it was in memory: in the store it is due. */
export function noteSuperseded(backlog: Backlog): void {
  const state: State = backlog
  state.retryUs = 0
  invalidateLoad(backlog)
}

/** Notes that any of the deliveries may have been changed in the store. */
export function noteChanged(backlog: Backlog): void {
  const state: State = backlog
  state.hasMore = true
  // Deliveries that waited for another may be anywhere.
  if (backlog.isStrict) state.cursor = 0
  // Due now, as far as is known: the next load finds when they are.
  state.retryUs = 0
  invalidateLoad(backlog)
}

/**
 * Notes that nothing is known any more: another node may have sent any of the deliveries, or a crash of the database
 * may have undone that they ended.
 */
export function noteUnknown(backlog: Backlog): void {
  const state: State = backlog
  state.cursor = 0
  noteChanged(backlog)
}

/**
 * Sets whether the order is strict. Returns whether that changed: then the queued deliveries have to be loaded again.
 */
export function setStrict(backlog: Backlog, isStrict: boolean): boolean {
  if (backlog.isStrict === isStrict) return false
  const state: State = backlog
  state.isStrict = isStrict
  state.cursor = 0
  backlog.nextOf.clear()
  return true
}

/** Notes, in a strict order, that a delivery of a call has ended, so that the next one may be loaded. */
export function noteEndedOfCall(backlog: Backlog, callId: string): void {
  if (backlog.isStrict) backlog.nextOf.add(callId)
}

function invalidateLoad({ load }: Backlog): void {
  const state: LoadState | undefined = load
  if (state !== undefined) state.isStale = true
}

/** Begins a load. @throws Error while one is under way. */
export function beginLoad(backlog: Backlog): Load {
  if (backlog.load !== undefined) throw new Error(`a load for webhook ${backlog.webhookId} is under way`)
  const state: State = backlog
  const load: Load = { isStale: false, moreStored: false, released: new Set() }
  state.load = load
  return load
}

/** Ends the load that is under way. */
export function endLoad(backlog: Backlog): void {
  const state: State = backlog
  state.load = undefined
}

/** Notes that deliveries that were never tried were read up to `lastId`; `hasMore`: there may be others above. */
export function noteUntriedRead(backlog: Backlog, { lastId, hasMore }: { lastId: number; hasMore: boolean }): void {
  const state: State = backlog
  state.cursor = Math.max(state.cursor, lastId)
  state.seenTo = Math.max(state.seenTo, lastId)
  state.hasMore = hasMore
}

/** Notes that retries in the store alone are due at `retryUs` or later; `undefined`: there are none. */
export function noteRetriesRead(backlog: Backlog, retryUs: number | undefined): void {
  const state: State = backlog
  state.retryUs = retryUs
}

/** Notes that another retry in the store is due at `dueUs`. */
export function noteRetry(backlog: Backlog, dueUs: number): void {
  const state: State = backlog
  state.retryUs = Math.min(state.retryUs ?? dueUs, dueUs)
}

/** Notes that the webhook was deleted: the store has nothing for it. */
export function noteDeleted(backlog: Backlog): void {
  const state: State = backlog
  state.hasMore = false
  state.retryUs = undefined
}

export type Backlogs = ReturnType<typeof createBacklogs>

/** Creates the backlogs of all webhooks: none yet. */
export function createBacklogs() {
  const backlogs = new Map<number, Backlog>()
  /** Those for which the store may have deliveries that can be loaded now. */
  const toLoad = new Set<Backlog>()
  return {
    toLoad,
    all: () => backlogs.values(),
    webhookIds: (): number[] => [...backlogs.keys()],
    /** Returns the backlog of a webhook; a new one is created, and to be loaded. */
    of(webhookId: number): Backlog {
      const known = backlogs.get(webhookId)
      if (known !== undefined) return known
      const backlog = newBacklog(webhookId)
      backlogs.set(webhookId, backlog)
      toLoad.add(backlog)
      return backlog
    },
    remove(backlog: Backlog): void {
      backlogs.delete(backlog.webhookId)
      toLoad.delete(backlog)
    },
  }
}
