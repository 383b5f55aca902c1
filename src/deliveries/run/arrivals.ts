import type { Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import type { StoredEvent } from '../../store/operations/calls.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { Store } from '../../store/store.ts'
import type { Emitter } from './emitter.ts'

type ArrivalsOptions = {
  readonly store: Pick<Store['log'], 'eventGetNewest' | 'eventGetNewestAbove'>
  /** Hints of other nodes, which are faster than the poll. */
  readonly hints?: Pick<StatusStore, 'arrivalListen'> | undefined
  /** Returns the accounts that this node sends for. */
  readonly accountIds: () => readonly number[]
  /** Called with the accounts for which events were stored, by any node, since the last poll or hint. */
  readonly onArrived: (accountIds: ReadonlySet<number>) => void
  readonly log: Log
  readonly pollMs?: number
  readonly compareMs?: number
}

const POLL_MS = 500
/** Up to this many accounts are all compared: that costs as little as reading the newest events. */
const FEW_ACCOUNTS = 100
/** The pause between two comparisons of all accounts, which find each event, however late its commit became visible. */
const COMPARE_MS = 10_000
/** Events of different accounts may become visible out of order, but never by more than this. */
const ORDERED_WITHIN_MS = 2_000

/**
 * Starts to poll the store for events of other nodes, twice a second: hints are faster. Comparing 1,000 accounts takes
 * the database 10 ms, so most polls read only the newest events.
 */
export function startArrivals(options: ArrivalsOptions): { stop(): void } {
  const { store, hints, accountIds, onArrived, log, pollMs = POLL_MS, compareMs = COMPARE_MS } = options
  let newest: ReadonlyMap<number, number> = new Map()
  let known: ReadonlySet<number> = new Set()
  /** The highest id seen by each of the last polls. */
  let seen: { readonly atMs: number; readonly id: number }[] = []
  let seenTo = 0
  let comparedMs = Number.NEGATIVE_INFINITY
  let polling = false

  function note(ids: Iterable<number>): void {
    for (const id of ids) seenTo = Math.max(seenTo, id)
  }
  /** Returns the newest known event of each wanted account. */
  async function read(wanted: ReadonlySet<number>, nowMs: number): Promise<ReadonlyMap<number, number>> {
    const from = seen.findLast(({ atMs }) => nowMs - atMs >= ORDERED_WITHIN_MS)
    if (from !== undefined) seen = seen.slice(seen.indexOf(from))
    const isSame = wanted.size === known.size && wanted.isSubsetOf(known)
    const isDue = nowMs - comparedMs >= compareMs
    if (from === undefined || !isSame || isDue || wanted.size <= FEW_ACCOUNTS) {
      const all = await store.eventGetNewest([...wanted])
      note(all.values())
      comparedMs = nowMs
      known = wanted
      return all
    }
    const recent = await store.eventGetNewestAbove(from.id)
    note(recent.values())
    const all = new Map(newest)
    for (const [accountId, id] of recent) if (wanted.has(accountId)) all.set(accountId, id)
    return all
  }
  async function poll(): Promise<void> {
    const wanted = new Set(accountIds())
    if (wanted.size === 0) return
    const nowMs = performance.now()
    const now = await read(wanted, nowMs)
    const arrived = [...now].filter(([accountId, id]) => newest.get(accountId) !== id).map(([accountId]) => accountId)
    newest = now
    seen.push({ atMs: nowMs, id: seenTo })
    if (arrived.length > 0) onArrived(new Set(arrived))
  }
  const timer = setInterval(() => {
    if (polling) return
    polling = true
    poll()
      // Other parts, which write, log a warning when the store is unavailable.
      .catch((error) => log.debug({ err: error }, 'cannot read which events have arrived, will retry'))
      .finally(() => {
        polling = false
      })
  }, pollMs)
  const unlisten = hints?.arrivalListen((hinted) => {
    const wanted = new Set(accountIds())
    const arrived = hinted.filter((accountId) => wanted.has(accountId))
    if (arrived.length > 0) onArrived(new Set(arrived))
  })
  return {
    stop() {
      clearInterval(timer)
      void unlisten?.()
    },
  }
}

type ArrivalHintsOptions = {
  readonly hints: Pick<StatusStore, 'arrivalHint'>
  readonly emitter: Emitter
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly log: Log
}

/** The shortest pause between two hints: at most some hundred a second, however many events a PBX has. */
const GAP_MS = 5
/** A hint has 8,000 bytes at most. */
const MAX_ACCOUNTS = 400

/**
 * Starts to send hints to other nodes when events are stored for their accounts, so that they need not wait for the
 * next poll. The first hint goes at once; the hints of the next milliseconds are sent as one.
 */
export function startArrivalHints({ hints, emitter, ownership, log }: ArrivalHintsOptions): { stop(): Promise<void> } {
  const waiting = new Set<number>()
  let sending: Promise<void> | undefined

  async function sendAll(): Promise<void> {
    while (waiting.size > 0) {
      const accountIds = [...waiting].slice(0, MAX_ACCOUNTS)
      for (const id of accountIds) waiting.delete(id)
      try {
        await hints.arrivalHint(accountIds)
      } catch (error) {
        log.debug({ err: error }, 'cannot send the hint that events were stored: other nodes find them by themselves')
      }
      await Bun.sleep(GAP_MS)
    }
    sending = undefined
  }
  const onStored = (events: readonly StoredEvent[]) => {
    for (const { accountId, deliveries } of events)
      if (deliveries.length > 0 && !ownership.ownsAccount(accountId)) waiting.add(accountId)
    if (waiting.size > 0) sending ??= sendAll()
  }
  emitter.on('stored', onStored)
  return {
    async stop() {
      emitter.off('stored', onStored)
      await sending
    },
  }
}
