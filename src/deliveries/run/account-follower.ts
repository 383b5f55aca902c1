import { accountLease, type Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { Store } from '../../store/store.ts'
import type { Backlogs } from '../queue/backlog.ts'
import type { Sender } from '../sending/sender.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'
import { startArrivalHints, startArrivals } from './arrivals.ts'
import type { Emitter } from './emitter.ts'
import type { Loader } from './loader.ts'
import type { Guard } from './run-guard.ts'

type AccountFollowerOptions = {
  readonly ownership: Ownership
  readonly events: Pick<Store['log'], 'eventGetNewest' | 'eventGetNewestAbove'>
  readonly emitter: Emitter
  /** Hints between nodes that events were stored. */
  readonly hints?: Pick<StatusStore, 'arrivalHint' | 'arrivalListen'> | undefined
  readonly backlogs: Backlogs
  readonly webhooks: WebhookCache
  readonly loader: Loader
  readonly sender: Sender
  readonly guard: Guard
  readonly log: Log
  /** How long attempts may take to end before they are aborted; `undefined`: a stop aborts none. */
  readonly drainMs?: number | undefined
  /** Called when accounts may have been gained: their webhooks are read. */
  readonly onGained: () => void
  /** Begins the attempts that may begin. */
  readonly run: () => void
}

/** How often to check whether the deliveries of lost accounts have left memory. */
const CHECK_MS = 10
/** A stop takes no longer for an upload, or for a token, than for an attempt. */
const FLOWS_DRAIN_MS = 10_000

/**
 * Starts to follow the accounts of this node. For a lost account, attempts in flight are aborted and deliveries leave
 * memory; for a gained one, deliveries are loaded. Also notices events of its accounts that other nodes store, since a
 * PBX and its account may have different owners.
 */
export function followAccounts(options: AccountFollowerOptions) {
  const { ownership, events, emitter, hints, backlogs, webhooks, loader, sender, guard, log, drainMs, onGained, run } =
    options
  let stopped = false

  function onChange(): ReadonlyMap<string, Promise<void>> {
    const lost = loader.releaseLost()
    loader.noteOwnersChanged()
    if (!stopped) onGained()
    run()
    return new Map(lost.map((accountId) => [accountLease(accountId), ended(accountId)]))
  }

  /** Resolves when no delivery of an account is in memory; at once while the database does not answer. */
  async function ended(accountId: number): Promise<void> {
    const untilMs = performance.now() + (ownership.isTrusted() ? (drainMs ?? 0) : 0)
    let aborted = false
    while (loader.countOf([accountId]) > 0 && !ownership.ownsAccount(accountId)) {
      if (!aborted && performance.now() >= untilMs) {
        aborted = true
        sender.abort(accountId)
        continue
      }
      await Bun.sleep(CHECK_MS)
    }
  }

  function knownAccounts(): number[] {
    const known = Array.from(backlogs.all(), ({ webhookId }) => webhooks.get(webhookId)?.accountId)
    return [...new Set(known.filter((accountId) => accountId !== undefined))].filter(ownership.ownsAccount)
  }

  function onArrived(accountIds: ReadonlySet<number>): void {
    loader.noteArrived(accountIds)
    run()
  }

  const unlisten = ownership.onChange(guard(onChange))
  const arrivals = ownership.isShared
    ? startArrivals({ store: events, hints, accountIds: knownAccounts, onArrived: guard(onArrived), log })
    : undefined
  const hinting = hints && startArrivalHints({ hints, emitter, ownership, log })
  return {
    stop(): void {
      stopped = true
      arrivals?.stop()
      void hinting?.stop()
      unlisten()
    },
    /** Resolves with `draining`: attempts that take longer than `drainMs` are aborted. */
    async drained(draining: Promise<void>): Promise<void> {
      const abort = () => {
        for (const accountId of knownAccounts()) sender.abort(accountId)
      }
      const timer = drainMs === undefined ? undefined : setTimeout(abort, drainMs)
      // Other attempts have ended by then.
      const ofFlows = setTimeout(() => sender.abortFlows(), FLOWS_DRAIN_MS)
      await draining
      clearTimeout(timer)
      clearTimeout(ofFlows)
    },
  }
}
