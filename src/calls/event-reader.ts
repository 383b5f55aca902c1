import { Fault } from '../lib/fault.ts'
import { nextTurn } from '../lib/slices.ts'
import type { EventItem } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'

/**
 * Reads an account's events back, for `GET /event`. A client that has read to the end can wait for the next event: it
 * costs a promise and a timer, and is woken when events are stored. Ids grow with the order in which events become
 * visible, so a position that was given out never has to be read before.
 */
export type EventReader = {
  /**
   * Returns events behind a position, or from which position on all are kept when some behind it were deleted.
   * @throws Fault 422 when the position is ahead of all that is stored, 429 when too many wait.
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
  /** The id of the event behind which is read; `oldest`: from the first that is kept, `now`: from now on. */
  readonly after: number | 'oldest' | 'now'
  readonly limit: number
  /** How long to wait for one when there is none. */
  readonly waitMs: number
  readonly names?: readonly string[] | undefined
  readonly callId?: string | undefined
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal
}

/** From `keptFrom` on all events are kept. */
export type EventsGone = { readonly keptFrom: number }
export type EventPage = { readonly items: readonly EventItem[]; readonly lastId: number }

/** So many are read at once: others have their turn in between. */
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
  let stopped = false

  return {
    async read(accountId, request) {
      const { after, waitMs, signal } = request
      const untilMs = performance.now() + waitMs
      const start = await log.eventGetBounds(accountId)
      let afterId = after === 'oldest' ? start.oldestId : after === 'now' ? start.newestId : after
      for (;;) {
        const wakes = waiters.wakes()
        const { items, lastId, isEnd } = await readPage(log, { ...request, accountId, afterId })
        // After reading: what was deleted meanwhile may be missing.
        const { oldestId, newestId } = await log.eventGetBounds(accountId)
        if (afterId < oldestId) return { keptFrom: oldestId }
        if (afterId > newestId)
          throw notOurs('is ahead of all events: it is of another store, or a backup was restored')
        const leftMs = untilMs - performance.now()
        if (items.length > 0 || !isEnd || leftMs <= 0 || stopped || signal?.aborted === true) return { items, lastId }
        afterId = lastId
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

type Page = EventPage & { readonly isEnd: boolean }

/** Reads the events behind one until the page is full, or there are no more. */
async function readPage(
  log: Store['log'],
  { accountId, afterId, limit, names, callId }: EventRequest & { accountId: number; afterId: number },
): Promise<Page> {
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

const notOurs = (message: string) =>
  new Fault('invalid', 'The cursor is not one of this list.', { errors: [{ path: '/after', message }] })
