import type { Log } from '../lib/log.ts'
import type { Fence } from '../store/operations/cluster.ts'

/**
 * Which accounts and PBXs this node owns: it alone sends for these accounts, and watches these PBXs. A node that is
 * alone with its store owns everything, always; one of several has leases. Nothing that asks knows which it is.
 */
export type Ownership = {
  /** Whether other nodes may own what this one does not, and store events for accounts that this one owns. */
  readonly isShared: boolean
  /** Returns whether this node sends for an account at this moment. To be asked before each attempt. */
  ownsAccount(accountId: number): boolean
  /** Returns whether this node watches a PBX. */
  pbxOwnership(name: string): PbxOwnership
  /** Returns whether it may act at this moment on what it owns: not while the database does not answer. */
  isTrusted(): boolean
  /**
   * Returns what a write of an owner is fenced with; `undefined`: no fence is needed. A lease that is handed over may
   * be written under until then.
   * @throws LeaseLost when this node does not own it.
   */
  fenceOf(lease: string): Fence | undefined
  /** Returns whether it is this node that does what one has to do for all, as pruning. */
  ownsMaintenance(): boolean
  /**
   * Calls back at once, before anything else happens, when any of these answers changes. What was lost and comes back
   * is lost for a while in between, so that nobody can take it for the same. Returns what takes the listener off.
   */
  onChange(listener: OwnershipListener): () => void
}

/**
 * `doubtful`: the database has not answered for long. Events of the PBX may still be stored, if the database is back
 * before another node took over, but the PBX is read no further.
 */
export type PbxOwnership = 'owned' | 'doubtful' | 'not owned'

/**
 * Returns for each lease that was lost when the work for it will have ended: then another node may begin. `undefined`:
 * there is none.
 */
export type OwnershipListener = () => ReadonlyMap<string, Promise<unknown>> | undefined

/** The ownership of a node that is alone with its store. */
export const OWNS_EVERYTHING: Ownership = {
  isShared: false,
  ownsAccount: () => true,
  pbxOwnership: () => 'owned',
  ownsMaintenance: () => true,
  isTrusted: () => true,
  fenceOf: () => undefined,
  onChange: () => () => undefined,
}

/** The names of leases. */
export const MAINTENANCE_LEASE = 'maintenance'
/** Returns the name of the lease of an account. */
export const accountLease = (accountId: number): string => `account:${accountId}`
/** Returns the name of the lease of a PBX. */
export const pbxLease = (name: string): string => `pbx:${name}`
/** Returns what a lease is for: `account`, `pbx` or `maintenance`. */
export const kindOf = (name: string): string => name.split(':', 1)[0] ?? name

/** Returns a promise that resolves when all work for a lease has ended; it never rejects. */
export type EndOfWork = (lease: string) => Promise<void>

/** Makes the list of those who are notified when what this node owns changes. */
export function newOwnershipListeners(log: Log) {
  const listeners = new Set<OwnershipListener>()
  return {
    /** Adds a listener. Returns what takes it off. */
    add(listener: OwnershipListener): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Notifies all of them, at once. */
    notify(): EndOfWork {
      const endings = [...listeners].flatMap((listener) => listener() ?? [])
      for (const ending of endings)
        for (const [lease, ended] of ending)
          ended.catch((error) => log.error({ lease, err: error }, 'the work for a lease failed to end'))
      return async (lease) => {
        await Promise.allSettled(endings.map((ending) => ending.get(lease)))
      }
    },
  }
}
