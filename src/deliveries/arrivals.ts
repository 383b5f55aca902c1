import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'

export type ArrivalsOptions = {
  readonly store: Pick<Store['log'], 'eventGetNewest'>
  /** Returns the accounts that this node sends for. */
  readonly accountIds: () => readonly number[]
  /** Called with the accounts for which events were stored, by any node, since the last poll. */
  readonly onArrived: (accountIds: ReadonlySet<number>) => void
  readonly log: Log
}

const POLL_MS = 250

/** Starts to poll the store for events of other nodes, four times a second. Not to be started without other nodes. */
export function startArrivals({ store, accountIds, onArrived, log }: ArrivalsOptions): { stop(): void } {
  let newest: ReadonlyMap<number, number> = new Map()
  let polling = false

  async function poll(): Promise<void> {
    const wanted = accountIds()
    if (wanted.length === 0) return
    const now = await store.eventGetNewest(wanted)
    const arrived = [...now].filter(([accountId, id]) => newest.get(accountId) !== id).map(([accountId]) => accountId)
    newest = now
    if (arrived.length > 0) onArrived(new Set(arrived))
  }
  const timer = setInterval(() => {
    if (polling) return
    polling = true
    poll()
      // Parts that write log a warning when the store is unavailable.
      .catch((error) => log.debug({ err: error }, 'cannot read which events have arrived, will retry'))
      .finally(() => {
        polling = false
      })
  }, POLL_MS)
  return { stop: () => clearInterval(timer) }
}
