import type { Emitter } from '../../deliveries/deliveries.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import type { ChangePosition, StatusStore } from '../../store/operations/statuses.ts'

export type ChangeNotes = {
  /**
   * Follows the deliveries of accounts that other nodes change: `onChanged` gets their ids, at most a second later. An
   * account is followed once `begin` has resolved for it.
   */
  follow(
    accountIds: () => readonly number[],
    onChanged: (ids: readonly number[]) => void,
  ): {
    /** @throws Fault `unavailable`. */
    begin(accountId: number): Promise<void>
    stop(): void
  }
  stop(): Promise<void>
}

type Options = {
  readonly store: Pick<StatusStore, 'followedSet' | 'followedGet' | 'deliveryChangesAdd' | 'deliveryChangesGet'>
  readonly emitter: Emitter
  readonly log: Log
}

const NOTE_EVERY_MS = 500
const READ_EVERY_MS = 250
/** An account is followed for 10 s after this was last repeated. */
const REPEAT_FOLLOWED_MS = 3_000
/** How long changes are kept for accounts that begin to be followed: longer than it takes to notice that. */
const KEPT_MS = 3_000
const MAX_IDS = 4_096
/** Positions of accounts that were once followed; positions of nodes that have gone are dropped with them. */
const MAX_POSITIONS = 10_000

/**
 * Notes the deliveries that this node changes in the store, as far as other nodes follow their accounts: they show them
 * in their event streams. While none follows, that costs one small read twice a second.
 */
export function startChangeNotes({ store, emitter, log }: Options): ChangeNotes {
  /** This process: no other has noted under this name. */
  const node = crypto.randomUUID()
  let kept: { readonly ids: readonly number[]; readonly atMs: number; isNoted: boolean }[] = []
  let followed = new Set<number>()
  let number = 0

  const onDeliveries = (ids: readonly number[]) => {
    kept.push({ ids, atMs: performance.now(), isNoted: false })
  }
  async function note(): Promise<void> {
    const accountIds = await store.followedGet(node)
    // New followers of an account also get the changes made before this node noticed them.
    if (accountIds.some((id) => !followed.has(id))) for (const one of kept) one.isNoted = false
    followed = new Set(accountIds)
    const due = kept.filter(({ isNoted }) => !isNoted)
    if (followed.size > 0) {
      const ids = [...new Set(due.flatMap((one) => one.ids))]
      for (let at = 0; at < ids.length; at += MAX_IDS) {
        number += 1
        await store.deliveryChangesAdd({ node, number, ids: ids.slice(at, at + MAX_IDS) })
      }
    }
    for (const one of due) one.isNoted = true
    kept = kept.filter(({ atMs }) => performance.now() - atMs < KEPT_MS)
  }
  emitter.on('deliveries', onDeliveries)
  const noting = startPeriodic(NOTE_EVERY_MS, () =>
    note().catch((error) => {
      kept = kept.filter(({ atMs }) => performance.now() - atMs < KEPT_MS)
      log.debug({ err: error }, 'cannot note for other nodes which deliveries changed, will retry')
    }),
  )
  return {
    follow: (accountIds, onChanged) => followChanges({ store, node, log }, accountIds, onChanged),
    async stop() {
      emitter.off('deliveries', onDeliveries)
      await noting.stop()
    },
  }
}

type Reader = Pick<Options, 'store' | 'log'> & { readonly node: string }

function followChanges(
  { store, node, log }: Reader,
  accountIds: () => readonly number[],
  onChanged: (ids: readonly number[]) => void,
) {
  const positions = new Map<string, ChangePosition>()
  let repeatAtMs = 0

  async function read(): Promise<void> {
    const wanted = accountIds()
    if (wanted.length === 0) return
    if (performance.now() >= repeatAtMs) {
      await store.followedSet({ node, accountIds: wanted })
      repeatAtMs = performance.now() + REPEAT_FOLLOWED_MS
    }
    const changes = await store.deliveryChangesGet({ node, accountIds: wanted, after: [...positions.values()] })
    if (positions.size > MAX_POSITIONS) positions.clear()
    for (const change of changes) positions.set(`${change.accountId} ${change.node}`, change)
    const ids = changes.flatMap((change) => change.ids)
    if (ids.length > 0) onChanged(ids)
  }
  const reading = startPeriodic(READ_EVERY_MS, () =>
    read().catch((error) => log.debug({ err: error }, 'cannot read which deliveries other nodes changed, will retry')),
  )
  return {
    async begin(accountId: number) {
      const before = accountIds()
      if (before.includes(accountId)) return
      await store.followedSet({ node, accountIds: [...before, accountId] })
    },
    stop: () => void reading.stop(),
  }
}
