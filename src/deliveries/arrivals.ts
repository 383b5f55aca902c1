import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'

export type ArrivalsOptions = {
  readonly store: Pick<Store['log'], 'eventGetNewest'>
  /** Returns the accounts whose events matter at present. */
  readonly accountIds: () => readonly number[]
  /** Called when events of an account were stored, by whichever node, since this was looked at last. */
  readonly onArrived: (accountIds: ReadonlySet<number>) => void
  readonly log: Log
}

const POLL_MS = 250

/** Sees within a quarter of a second what other nodes stored. Where no other stores anything it must not be started. */
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
      // What matters more says louder that the store is unavailable.
      .catch((error) => log.debug({ err: error }, 'cannot read which events have arrived, will retry'))
      .finally(() => {
        polling = false
      })
  }, POLL_MS)
  return { stop: () => clearInterval(timer) }
}
