import type { ClusterStore, Lease } from '../store/operations/cluster.ts'
import type { Leases, Plan } from './leases.ts'
import type { EndOfWork } from './ownership-listeners.ts'

/** Work for a lease has to end within this time, to hand it over. */
const WITHIN_MS = 3_000

export type HandOversOptions = {
  readonly cluster: Pick<ClusterStore, 'leaseGive'>
  /** Called when there is a lease whose work has ended. */
  readonly onReady: () => void
}

/** Makes the list of the leases that this node is handing over. Each goes when the work for it has ended. */
export function newHandOvers({ cluster, onReady }: HandOversOptions) {
  /** By term. `to`: the node that gets it; `null`: it is decided when it is given. */
  const handing = new Map<string, { readonly to: string | null; isReady: boolean }>()
  return {
    /** Hands a lease over when the work for it has ended, or its time is over. */
    begin({ name, term }: Lease, to: string | null, ended: EndOfWork): void {
      const one = { to, isReady: false }
      handing.set(term, one)
      void Promise.race([ended(name), Bun.sleep(WITHIN_MS)]).then(() => {
        one.isReady = true
        onReady()
      })
    },
    /**
     * Gives those that are ready, and those of which it is not known: each to the node that it is for, else to its
     * heir. @throws Fault `unavailable`.
     */
    async give({ giving, heirs }: Pick<Plan, 'giving' | 'heirs'>, leases: Leases): Promise<void> {
      const ready = giving.filter(({ term }) => handing.get(term)?.isReady ?? true)
      const isGiven = new Set(giving.map(({ term }) => term))
      for (const [term, { isReady }] of handing) if (isReady && !isGiven.has(term)) handing.delete(term)
      if (ready.length === 0) return
      await cluster.leaseGive(
        ready.map((lease) => ({
          ...lease,
          to: handing.get(lease.term)?.to ?? heirs.get(lease.name) ?? null,
          newTerm: crypto.randomUUID(),
        })),
      )
      leases.gave(ready)
      for (const { term } of ready) handing.delete(term)
    },
    forget: () => handing.clear(),
  }
}
