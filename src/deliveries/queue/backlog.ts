import type { LoadedDelivery } from './delivery.ts'
import { createDueTimes, type DueTimes } from './due-times.ts'

/**
 * The pending deliveries of one webhook that are only in the store. Pure, and the only code that changes this state.
 *
 * Invariants: every untried delivery with an id up to `cursor` is in memory or has ended. Above `cursor` the store may
 * have more if `hasMore`, else it has none (apart from unnoticed events of other nodes). Retries that are only in the
 * store are due at `retryUs` or later; `undefined`: the store has no such delivery.
 */
export type Backlog = {
  readonly webhookId: number
  readonly cursor: number
  /** The highest id that was ever read or taken. Unlike `cursor` it never goes back. */
  readonly seenTo: number
  readonly hasMore: boolean
  /** The earliest due time of a retry in the store (steady clock). */
  readonly retryUs: number | undefined
  /** The load that is under way: one at a time. */
  readonly load: Load | undefined
  /**
   * Whether only the first pending delivery of a call is in memory; the others are in the store, below `cursor` too.
   */
  readonly isStrict: boolean
  /** With a strict order: calls whose next delivery is to be loaded, since the previous one has ended. */
  readonly nextOf: Set<string>
  /** With a strict order: the calls whose next delivery waits for a merged call, by the id of that one. */
  readonly waitingFor: Map<string, Set<string>>
  /** Where it is noted that the store may have deliveries to queue. */
  readonly agenda: Agenda
}

/**
 * The backlogs that need a load or will need one. All others cost nothing, however many there are.
 *
 * Invariant: a backlog that needs a load is in `now`, or in `later` with a time that has come.
 */
type Agenda = { readonly now: Set<Backlog>; readonly later: DueTimes<Backlog> }

/** A load from the store, and the changes since it began, which its result may lack. */
export type Load = {
  /** The store has changed: the result is out of date. */
  readonly isStale: boolean
  /** Later events were stored. */
  readonly moreStored: boolean
  /** Deliveries that left memory: the result may have their earlier state. */
  readonly released: Set<number>
}

type State = { -readonly [name in keyof Backlog]: Backlog[name] }
type LoadState = { -readonly [name in keyof Load]: Load[name] }

/** Returns the backlog of a webhook before the first read: the store may have deliveries of each kind. */
const newBacklog = (webhookId: number, agenda: Agenda): Backlog => ({
  webhookId,
  cursor: 0,
  seenTo: 0,
  hasMore: true,
  retryUs: 0,
  load: undefined,
  isStrict: false,
  nextOf: new Set(),
  waitingFor: new Map(),
  agenda,
})

/** Notes on the agenda the work that a change has made necessary. Needless work is taken off when it is read. */
function plan(backlog: Backlog): void {
  const { hasMore, nextOf, retryUs, agenda } = backlog
  if (hasMore || nextOf.size > 0) agenda.now.add(backlog)
  if (retryUs !== undefined) agenda.later.plan(backlog, retryUs)
}

export const hasDue = ({ retryUs }: Backlog, nowUs: number): boolean => retryUs !== undefined && retryUs <= nowUs

export const needsLoad = (backlog: Backlog, nowUs: number): boolean =>
  backlog.hasMore || backlog.nextOf.size > 0 || hasDue(backlog, nowUs)

/**
 * Notes that a new delivery went into memory when it was stored. Without other nodes, the store has no untried delivery
 * below it.
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
  plan(backlog)
  const load: LoadState | undefined = backlog.load
  if (load !== undefined) load.moreStored = true
}

/** Notes that a delivery left memory. */
export function noteReleased({ load }: Backlog, id: number): void {
  load?.released.add(id)
}

/** Notes that a pending delivery left memory: it has to be loaded again. */
export function noteEvicted(backlog: Backlog, { id, dueUs }: LoadedDelivery): void {
  const state: State = backlog
  if (dueUs !== undefined) {
    noteRetry(backlog, dueUs)
    return
  }
  state.cursor = Math.min(state.cursor, id - 1)
  state.hasMore = true
  plan(backlog)
  invalidateLoad(backlog)
}

/** Notes that a delivery was retried by hand while it was in memory: in the store it is due. */
export function noteSuperseded(backlog: Backlog): void {
  const state: State = backlog
  state.retryUs = 0
  plan(backlog)
  invalidateLoad(backlog)
}

/** Notes that any of the deliveries may have been changed in the store. */
export function noteChanged(backlog: Backlog): void {
  const state: State = backlog
  state.hasMore = true
  // Deliveries that waited for an earlier one may have any id.
  if (backlog.isStrict) state.cursor = 0
  // Assumed to be due now: the next load finds their due times.
  state.retryUs = 0
  plan(backlog)
  invalidateLoad(backlog)
}

/**
 * Forgets all knowledge of the store: another node may have sent any of the deliveries, or a crash of the database may
 * have lost their outcomes.
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
  backlog.waitingFor.clear()
  return true
}

/**
 * Notes, in a strict order, that a delivery of a call has ended: the next one may be loaded, and so may deliveries of
 * calls into which this one was merged.
 */
export function noteEndedOfCall(backlog: Backlog, callId: string): void {
  if (!backlog.isStrict) return
  backlog.nextOf.add(callId)
  for (const waiting of backlog.waitingFor.get(callId) ?? []) backlog.nextOf.add(waiting)
  backlog.waitingFor.delete(callId)
  plan(backlog)
}

/** Notes that the next deliveries of calls are still to be loaded. */
export function noteUnread(backlog: Backlog, callIds: Iterable<string>): void {
  for (const callId of callIds) backlog.nextOf.add(callId)
  plan(backlog)
}

/** Notes that the next delivery of a call waits for deliveries of a merged call. */
export function noteWaiting(backlog: Backlog, callId: string, { mergedId }: { mergedId: string }): void {
  const known = backlog.waitingFor.get(mergedId)
  if (known === undefined) backlog.waitingFor.set(mergedId, new Set([callId]))
  else known.add(callId)
}

/** Notes that the next delivery of a call does not wait for a merged call. */
export function noteNotWaiting(backlog: Backlog, callId: string, { mergedId }: { mergedId: string }): void {
  const known = backlog.waitingFor.get(mergedId)
  known?.delete(callId)
  if (known?.size === 0) backlog.waitingFor.delete(mergedId)
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

/** Notes that untried deliveries were read up to `lastId`; `hasMore`: there may be more above it. */
export function noteUntriedRead(backlog: Backlog, { lastId, hasMore }: { lastId: number; hasMore: boolean }): void {
  const state: State = backlog
  state.cursor = Math.max(state.cursor, lastId)
  state.seenTo = Math.max(state.seenTo, lastId)
  state.hasMore = hasMore
  plan(backlog)
}

/** Notes the earliest due time of the retries that are only in the store; `undefined`: no retry is. */
export function noteRetriesRead(backlog: Backlog, retryUs: number | undefined): void {
  const state: State = backlog
  state.retryUs = retryUs
  plan(backlog)
}

/** Notes that another retry in the store is due at `dueUs`. */
export function noteRetry(backlog: Backlog, dueUs: number): void {
  const state: State = backlog
  state.retryUs = Math.min(state.retryUs ?? dueUs, dueUs)
  plan(backlog)
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
  /** Backlogs with deliveries in the store that may be loaded now. */
  const toLoad = new Set<Backlog>()
  const agenda: Agenda = { now: new Set(), later: createDueTimes() }
  return {
    toLoad,
    all: () => backlogs.values(),
    webhookIds: (): number[] => [...backlogs.keys()],
    /** Returns the backlog of a webhook; a new one is created, and to be loaded. */
    of(webhookId: number): Backlog {
      const known = backlogs.get(webhookId)
      if (known !== undefined) return known
      const backlog = newBacklog(webhookId, agenda)
      backlogs.set(webhookId, backlog)
      toLoad.add(backlog)
      plan(backlog)
      return backlog
    },
    due(nowUs: number): Backlog[] {
      for (const backlog of agenda.later.take(nowUs)) agenda.now.add(backlog)
      for (const backlog of agenda.now) {
        const isKnown = backlogs.get(backlog.webhookId) === backlog
        if (isKnown && needsLoad(backlog, nowUs)) continue
        agenda.now.delete(backlog)
        if (isKnown) plan(backlog)
      }
      return [...agenda.now]
    },
    remove(backlog: Backlog): void {
      backlogs.delete(backlog.webhookId)
      toLoad.delete(backlog)
      agenda.now.delete(backlog)
      agenda.later.remove(backlog)
    },
  }
}
