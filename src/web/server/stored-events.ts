import { type Emitter, startArrivals } from '../../deliveries/deliveries.ts'
import type { Log } from '../../lib/log.ts'
import type { LogStore } from '../../store/operations/log.ts'

/** An event that was stored, as far as a stream shows it. */
type Stored = { readonly accountId: number; readonly body: string }

/** Follows the events of accounts as they are stored. Returns a function that ends it. */
export type FollowEvents = (
  accountIds: () => readonly number[],
  onStored: (events: readonly Stored[]) => void,
) => {
  /**
   * Begins with the next event that is stored.
   * @throws Fault `unavailable`.
   */
  begin(accountId: number): Promise<void>
  /** Resolves when `onStored` has had all events that are stored by now. */
  caughtUp(): Promise<void>
  stop(): void
}

/** Follows the events that this process stores, where no other stores any. */
export const followOwnEvents =
  (emitter: Emitter): FollowEvents =>
  (_, onStored) => {
    emitter.on('stored', onStored)
    const nothing = async () => undefined
    return { begin: nothing, caughtUp: nothing, stop: () => void emitter.off('stored', onStored) }
  }

const READ_AT_ONCE = 200

/** Follows the events that any node stores, in the order of each account, within half a second. */
export const followAllEvents =
  (
    events: Pick<LogStore, 'eventGetNewest' | 'eventGetNewestAbove' | 'eventRead' | 'eventGetBounds'>,
    log: Log,
  ): FollowEvents =>
  (accountIds, onStored) => {
    /** Up to which event each account was followed. */
    const positions = new Map<number, number>()
    let working: Promise<void> = Promise.resolve()

    async function catchUp(accountId: number): Promise<void> {
      const position = positions.get(accountId)
      if (position === undefined) return
      for (let afterId = position, isEnd = false; !isEnd; ) {
        const part = await events.eventRead({ accountId, afterId, limit: READ_AT_ONCE })
        onStored(part.items.map(({ body }) => ({ accountId, body })))
        afterId = part.lastId
        isEnd = part.isEnd
        positions.set(accountId, afterId)
      }
    }
    async function catchUpAll(arrived: ReadonlySet<number>): Promise<void> {
      for (const accountId of arrived) await catchUp(accountId)
    }
    function follow(arrived: ReadonlySet<number>): Promise<void> {
      working = working
        .then(() => catchUpAll(arrived))
        .catch((error) => log.debug({ err: error }, 'cannot read the events that have arrived, will retry'))
      return working
    }
    const arrivals = startArrivals({ store: events, accountIds, onArrived: (arrived) => void follow(arrived), log })
    return {
      async begin(accountId) {
        const { newestId } = await events.eventGetBounds(accountId)
        // An account that is already followed continues at its position, so that its readers get nothing twice.
        if (!accountIds().includes(accountId)) positions.set(accountId, newestId)
      },
      caughtUp: () => follow(new Set(accountIds())),
      stop: arrivals.stop,
    }
  }
