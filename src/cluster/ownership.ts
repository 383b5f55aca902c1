import type { Log } from '../lib/log.ts'
import type { Fence, NodeRecord } from '../store/operations/cluster.ts'

/**
 * The accounts and PBXs of this node: it alone sends for these accounts, and watches these PBXs. A single node always
 * owns everything; in a cluster a node has leases. Callers need not know the difference.
 */
export type Ownership = {
  /** Whether other nodes may own accounts and PBXs, and store events for accounts of this one. */
  readonly isShared: boolean
  /** Returns whether this node sends for an account at this moment. To be asked before each attempt. */
  ownsAccount(accountId: number): boolean
  pbxOwnership(name: string): PbxOwnership
  /** Returns whether this node may act as an owner at this moment: not while the database does not answer. */
  isTrusted(): boolean
  /**
   * Returns the fence for a write under a lease; `undefined`: no fence is needed. Writes are allowed until a hand-over
   * is complete.
   * @throws LeaseLost when this node does not own it.
   */
  fenceOf(lease: string): Fence | undefined
  /** Returns whether this node does the maintenance for all, such as pruning. */
  ownsMaintenance(): boolean
  /**
   * Calls back synchronously whenever one of these answers changes. A lease that is lost and regained counts as lost in
   * between, so that every listener notices. Returns the function that removes the listener.
   */
  onChange(listener: OwnershipListener): () => void
}

/**
 * `doubtful`: the database has not answered for long. The PBX is not read further; its events may still be stored if
 * the database is back before another node takes over.
 */
type PbxOwnership = 'owned' | 'doubtful' | 'not owned'

/**
 * Returns, for each lost lease, a promise that resolves when its work has ended, so that another node may begin;
 * `undefined`: none was lost.
 */
type OwnershipListener = () => ReadonlyMap<string, Promise<unknown>> | undefined

/** The ownership of a single node. */
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
/** Returns the kind of a lease: `account`, `pbx` or `maintenance`. */
export const leaseKindOf = (name: string): string => name.split(':', 1)[0] ?? name

/** Returns the accounts and PBXs that a node owns, by kind. */
export function ownedBy({ leases }: Pick<NodeRecord, 'leases'>) {
  const namesOf = (kind: string) =>
    leases.filter((lease) => leaseKindOf(lease) === kind).map((lease) => lease.slice(kind.length + 1))
  return {
    accounts: namesOf('account').map(Number),
    pbxs: namesOf('pbx'),
    maintenance: leases.includes(MAINTENANCE_LEASE),
  }
}

/** Returns a promise that resolves when all work for a lease has ended; it never rejects. */
export type EndOfWork = (lease: string) => Promise<void>

/** Creates the list of listeners to changes of ownership. */
export function newOwnershipListeners(log: Log) {
  const listeners = new Set<OwnershipListener>()
  return {
    /** Adds a listener. Returns the function that removes it. */
    add(listener: OwnershipListener): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Notifies all listeners synchronously. */
    notify(): EndOfWork {
      const endings = [...listeners].flatMap((listener) => listener() ?? [])
      for (const ending of endings)
        for (const [lease, ended] of ending)
          ended.catch((error) =>
            log.error(
              { lease, err: error },
              'an error of Hookswitch: work for a lost lease did not end properly; please report it',
            ),
          )
      return async (lease) => {
        await Promise.allSettled(endings.map((ending) => ending.get(lease)))
      }
    },
  }
}
