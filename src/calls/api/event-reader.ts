import { type OpaqueIds, openOpaqueIds } from '../../http/opaque-ids.ts'
import { readCursor } from '../../http/paging.ts'
import { Fault } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { type EventItem, FIRST_HISTORY } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'

/**
 * Reads an account's events back, for `GET /event`. A client that has read to the end can wait for the next event: it
 * costs a promise and a timer, and is woken when events are stored. Ids grow in the order in which events become
 * visible, so nothing before a cursor ever has to be read again.
 */
export type EventReader = {
  /**
   * Returns the events behind a cursor. Returns the oldest usable cursor instead when events behind the given one were
   * deleted, or when the store has another history: a backup was restored, or a standby without the newest events took
   * over. @throws Fault 422 for a cursor of another account, 429 when too many clients wait.
   */
  read(accountId: number, request: EventRequest): Promise<EventPage | EventsGone>
  /** Wakes the clients that wait for events of these accounts; all clients without an argument. */
  wake(accountIds?: ReadonlySet<number>): void
  accounts(): number[]
  waiting(): number
  /** Answers all clients that wait. */
  stop(): Promise<void>
}

type EventRequest = {
  /** Only events behind this cursor are read. Absent: from the oldest kept event; `now`: from now on. */
  readonly after?: string | undefined
  readonly limit: number
  /** How long to wait for the next event. */
  readonly waitMs: number
  readonly names?: readonly string[] | undefined
  readonly callId?: string | undefined
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal
}

/** Why a cursor is no longer usable, and a cursor from which no event is missing. */
export type EventsGone = { readonly gone: 'deleted' | 'other history'; readonly oldestCursor: string }
export type EventPage = { readonly items: readonly EventItem[]; readonly nextCursor: string }

/** A position in the list: the events behind it are read. `history` is `undefined` in cursors of earlier versions. */
type Position = { readonly id: number; readonly history: number | undefined }

/** Events per read, to let other work run in between. */
const READ_AT_ONCE = 100
/** Ends a page early when bodies are large: one may have 256 KB. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024
/** The most reads for one page, some 20,000 events. If none matched, the response is empty; its cursor has advanced. */
const MAX_PARTS = 100
/** The most clients that wait for events of one account. */
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
        // Read after the events, since events may have been deleted in between.
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
        // Otherwise events were stored in the meantime: read them first.
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

/** Creates the list of waiting clients by account. */
function createWaiters() {
  const waiters = new Map<number, Set<() => void>>()
  let wakes = 0

  return {
    /** Counts the calls of `wake`, so that a reader notices events that were stored after its last read. */
    wakes: () => wakes,
    wake(accountIds: Iterable<number> = [...waiters.keys()]): void {
      wakes += 1
      for (const accountId of accountIds) for (const waiter of [...(waiters.get(accountId) ?? [])]) waiter()
    },
    /** Resolves on a wake-up, when the time is over, or when the client has gone. */
    async wait(accountId: number, ms: number, signal: AbortSignal | undefined): Promise<void> {
      const mine = waiters.get(accountId) ?? new Set<() => void>()
      if (mine.size >= MAX_WAITING)
        throw new Fault(
          'too_many_requests',
          `${MAX_WAITING} clients wait for events of this account already. Try again later.`,
          {
            headers: { 'retry-after': '5' },
          },
        )
      waiters.set(accountId, mine)
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => resolve())
      mine.add(resolve)
      await promise
      clearTimeout(timer)
      mine.delete(resolve)
      if (mine.size === 0 && waiters.get(accountId) === mine) waiters.delete(accountId)
      // Clients that are woken together continue one after the other.
      await nextTurn()
    },
    accounts: () => [...waiters.keys()],
    count: () => waiters.values().reduce((sum, { size }) => sum + size, 0),
  }
}

type Part = { readonly items: readonly EventItem[]; readonly lastId: number; readonly isEnd: boolean }

/** Reads events until the page is full or no event is left. */
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

/** Returns the position of a cursor. @throws Fault 422 for a text that is no cursor of this account. */
function readPosition(ids: OpaqueIds, accountId: number, after: string): Position {
  const found = ids.read('eventCursor', after)
  if (found !== undefined && found.accountId === accountId) return { id: found.id, history: found.history }
  const [owner, id] = found === undefined ? readCursor(after, ['number', 'number'], '/after').map(Number) : []
  if (owner !== accountId || id === undefined || id < 0)
    throw new Fault(
      'invalid',
      'The cursor does not belong to this account. Leave it out to start at the oldest event.',
      {
        errors: [{ path: '/after', message: 'is not a cursor of this account' }],
      },
    )
  return { id, history: ids.wasPlain(id) ? undefined : NO_HISTORY }
}

/**
 * Cursors of earlier versions end at the id where this version began: larger ids belong to a store that was restored
 * since.
 */
const NO_HISTORY = -1
