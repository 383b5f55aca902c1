import { type OpaqueIds, openOpaqueIds } from '../../http/opaque-ids.ts'
import { readCursor } from '../../http/paging.ts'
import { Fault } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { type EventItem, FIRST_HISTORY } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'

/**
 * Reads an account's events back, for `GET /event`. A client that has read to the end can wait for the next event: it
 * costs a promise and a timer, and is woken when events are stored. Ids grow with the order in which events become
 * visible, so a position that was given out never has to be read before.
 */
export type EventReader = {
  /**
   * Returns events behind a cursor, or the oldest cursor when events behind the given one were deleted, or it is of
   * another history than the store's: a backup was restored, or a standby took over that lacked events.
   * @throws Fault 422 when the cursor is not one of the account, 429 when too many wait.
   */
  read(accountId: number, request: EventRequest): Promise<EventPage | EventsGone>
  /** Wakes those who wait for events of these accounts; of all without any. */
  wake(accountIds?: ReadonlySet<number>): void
  /** Returns the accounts whose events a client waits for. */
  accounts(): number[]
  /** How many wait. */
  waiting(): number
  /** Answers all who wait. */
  stop(): Promise<void>
}

export type EventRequest = {
  /** The cursor behind which is read; without one from the first event that is kept, `now`: from now on. */
  readonly after?: string | undefined
  readonly limit: number
  /** How long to wait for one when there is none. */
  readonly waitMs: number
  readonly names?: readonly string[] | undefined
  readonly callId?: string | undefined
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal
}

/** Why a cursor is of no use any more, and the one from which all events are there. */
export type EventsGone = { readonly gone: 'deleted' | 'other history'; readonly oldestCursor: string }
export type EventPage = { readonly items: readonly EventItem[]; readonly nextCursor: string }

/** An event behind which is read. `history` is `undefined` in cursors of earlier versions. */
type Position = { readonly id: number; readonly history: number | undefined }

/** Events per read, to let other work run in between. */
const READ_AT_ONCE = 100
/** A page of large bodies is short of its limit: a body may have 256 KB. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024
/** The most that is read for one page. If nothing matches, the response is empty, with a cursor that has advanced. */
const MAX_PARTS = 100
/** Of an account. */
const MAX_WAITING = 1_000

/** Creates the reader of stored events, for `GET /event`. */
export function createEventReader({ log }: Pick<Store, 'log'>): EventReader {
  const waiters = createWaiters()
  const openIds = openOpaqueIds(log)
  let stopped = false

  async function cursorAt(accountId: number, id: number, history?: number): Promise<string> {
    const ids = await openIds()
    const known = history ?? (await log.eventGetHistories([id]))[0] ?? FIRST_HISTORY
    return ids.write('eventCursor', { accountId, id, history: known })
  }
  async function positionOf(accountId: number, after: string | undefined): Promise<Position> {
    if (after !== undefined && after !== 'now') return readPosition(await openIds(), accountId, after)
    const { oldestId, newestId } = await log.eventGetBounds(accountId)
    const id = after === 'now' ? newestId : oldestId
    return { id, history: (await log.eventGetHistories([id]))[0] }
  }

  return {
    async read(accountId, request) {
      const { waitMs, signal } = request
      const untilMs = performance.now() + waitMs
      let { id: afterId, history } = await positionOf(accountId, request.after)
      for (;;) {
        const wakes = waiters.wakes()
        const { items, lastId, isEnd } = await readPage(log, { ...request, accountId, afterId })
        // After reading: what was deleted meanwhile may be missing.
        const { oldestId, newestId } = await log.eventGetBounds(accountId)
        const [found, lastHistory] = await log.eventGetHistories([afterId, lastId])
        const isOther = afterId > newestId || (history !== undefined && history !== found)
        if (isOther || afterId < oldestId)
          return { gone: isOther ? 'other history' : 'deleted', oldestCursor: await cursorAt(accountId, oldestId) }
        const leftMs = untilMs - performance.now()
        if (items.length > 0 || !isEnd || leftMs <= 0 || stopped || signal?.aborted === true)
          return { items, nextCursor: await cursorAt(accountId, lastId, lastHistory) }
        afterId = lastId
        history = lastHistory
        // Else something was stored meanwhile: it is read first.
        if (wakes === waiters.wakes()) await waiters.wait(accountId, leftMs, signal)
      }
    },
    wake: waiters.wake,
    accounts: waiters.accounts,
    waiting: waiters.count,
    async stop() {
      stopped = true
      waiters.wake()
    },
  }
}

/** Creates the list of those who wait for events, by their account. */
function createWaiters() {
  const waiters = new Map<number, Set<() => void>>()
  let wakes = 0

  return {
    /** Counts the calls of `wake`: shows whether something was stored since it was read last. */
    wakes: () => wakes,
    wake(accountIds: Iterable<number> = [...waiters.keys()]): void {
      wakes += 1
      for (const accountId of accountIds) for (const waiter of [...(waiters.get(accountId) ?? [])]) waiter()
    },
    /** Resolves when it is woken, the time is over, or the client has gone. */
    async wait(accountId: number, ms: number, signal: AbortSignal | undefined): Promise<void> {
      const mine = waiters.get(accountId) ?? new Set<() => void>()
      if (mine.size >= MAX_WAITING)
        throw new Fault('too_many_requests', `${MAX_WAITING} readers of this account wait already. Try again later.`, {
          headers: { 'retry-after': '5' },
        })
      waiters.set(accountId, mine)
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => resolve())
      mine.add(resolve)
      await promise
      clearTimeout(timer)
      mine.delete(resolve)
      if (mine.size === 0 && waiters.get(accountId) === mine) waiters.delete(accountId)
      // Of many that are woken together each has a turn of its own.
      await nextTurn()
    },
    accounts: () => [...waiters.keys()],
    count: () => waiters.values().reduce((sum, { size }) => sum + size, 0),
  }
}

type Part = { readonly items: readonly EventItem[]; readonly lastId: number; readonly isEnd: boolean }

/** Reads the events behind one until the page is full, or there are no more. */
async function readPage(
  log: Store['log'],
  { accountId, afterId, limit, names, callId }: EventRequest & { accountId: number; afterId: number },
): Promise<Part> {
  const items: EventItem[] = []
  let chars = 0
  let lastId = afterId
  let isEnd = false
  for (let parts = 0; parts < MAX_PARTS && items.length < limit && chars < MAX_PAGE_CHARS && !isEnd; parts += 1) {
    if (parts > 0) await nextTurn()
    const atMost = Math.min(limit - items.length, READ_AT_ONCE)
    const part = await log.eventRead({ accountId, afterId: lastId, limit: atMost, names, callId })
    items.push(...part.items)
    chars += part.items.reduce((sum, { body }) => sum + body.length, 0)
    lastId = part.lastId
    isEnd = part.isEnd
  }
  return { items, lastId, isEnd }
}

/** @throws Fault 422 when the text is not a cursor that this account was given. */
function readPosition(ids: OpaqueIds, accountId: number, after: string): Position {
  const found = ids.read('eventCursor', after)
  if (found !== undefined && found.accountId === accountId) return { id: found.id, history: found.history }
  const [owner, id] = found === undefined ? readCursor(after, ['number', 'number'], '/after').map(Number) : []
  if (owner !== accountId || id === undefined || id < 0)
    throw new Fault('invalid', 'The cursor is not one of this list.', {
      errors: [{ path: '/after', message: 'is no cursor of this account' }],
    })
  return { id, history: ids.wasPlain(id) ? undefined : NO_HISTORY }
}

/** Cursors of earlier versions end where this one began: later ones are of a store that was restored since. */
const NO_HISTORY = -1
