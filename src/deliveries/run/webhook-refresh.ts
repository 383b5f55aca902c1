import type { Ownership } from '../../cluster/cluster.ts'
import type { StoredEvent } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import type { WebhookCache } from '../sending/webhook-cache.ts'
import type { Emitter } from './emitter.ts'
import type { Loader } from './loader.ts'
import type { Guard } from './run-guard.ts'

/** The pause before a failed read is repeated. */
const RETRY_MS = 1_000

/** Who changed something, or that accounts came to this node. */
type Cause = 'us' | 'others' | 'gained'

type WebhookRefreshOptions = {
  readonly store: Pick<Store, 'queue'>
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly emitter: Emitter
  readonly webhooks: WebhookCache
  readonly loader: Loader
  readonly guard: Guard
  /** Called when another process had an answer from the receiver of a webhook. */
  readonly onAnswered: (webhookId: number) => void
  /** Called after each refresh. */
  readonly onRefreshed: () => void
  /** Begins the attempts that may begin. */
  readonly run: () => void
  /** Makes the handler of a failed action, which is repeated later. */
  readonly onRejected: (action: string) => (error: unknown) => void
}

/**
 * Starts to follow the notifications: loads events as they are stored, and reads the webhooks and their pending
 * deliveries now, and after each change of a list, a retry by hand, or a change by another process. A read that fails
 * is repeated.
 */
export function startWebhookRefresh(options: WebhookRefreshOptions) {
  const { store, ownership, emitter, webhooks, loader, guard, onAnswered, onRefreshed, run, onRejected } = options
  const onUnread = onRejected('read the webhooks')
  let timer: Timer | undefined
  let stopped = false

  /** Reads the changes of one account if given, else of all: a change in one account costs the others no time. */
  async function refresh(by: Cause, accountId?: number): Promise<void> {
    try {
      const hasChanged = await webhooks.refresh(ownership.ownsAccount, accountId)
      // Before the loads of this refresh: a webhook that is being loaded stays.
      loader.removeUnneeded()
      const active = webhooks.activeIds(accountId)
      if (by === 'gained' && !hasChanged) loader.adopt(active)
      else loader.refresh(by === 'others' ? 'others' : 'us', active, accountId)
      onRefreshed()
      run()
    } catch (error) {
      onUnread(error)
      if (!stopped) timer = setTimeout(refresh, RETRY_MS, by, accountId)
    }
  }
  /** Answers the requests of other processes to the sending process. */
  async function answerRequests(): Promise<void> {
    for (const { webhookId, deliveryId } of await store.queue.ownerRequestTake(loader.ownWebhooks()))
      if (deliveryId === null) onAnswered(webhookId)
      else await loader.prioritize(deliveryId)
    run()
  }
  async function refreshDue(ids: readonly number[] = []): Promise<void> {
    await refresh('us')
    for (const id of ids) await loader.prioritize(id).catch(onRejected('load a delivery that was retried'))
    run()
  }

  const onStored = guard((events: readonly StoredEvent[]) => {
    for (const event of events) loader.offer(event)
    run()
  })
  const onWebhooks = (accountId?: number) => void refresh('us', accountId)
  const onForeign = () =>
    void refresh('others').then(answerRequests).catch(onRejected('read what other processes ask for'))
  emitter.on('stored', onStored).on('webhooks', onWebhooks).on('due', refreshDue).on('foreign', onForeign)
  onWebhooks()
  return {
    /** Reads the webhooks of accounts that were gained. */
    gained: () => void refresh('gained'),
    stop(): void {
      stopped = true
      clearTimeout(timer)
      emitter.off('stored', onStored).off('webhooks', onWebhooks).off('due', refreshDue).off('foreign', onForeign)
    },
  }
}
