// The shared knowledge of the nodes on one database. Only an engine that several machines can share has it.

/** A lease as one owner has it. `term` is random and new for each owner: who knows it is, or was, that owner. */
export type Lease = { readonly name: string; readonly term: string }

/** A process, while it counts as alive: a process that was declared dead continues under another id. */
type NewNode = {
  readonly id: string
  /** The URL at which it answers. */
  readonly address: string
  readonly version: string
  /** The PBXs of its settings. */
  readonly pbxs: readonly string[]
  /** The names of its presets, built-in ones included. */
  readonly presets?: readonly string[] | null
  /** The settings that commands need: JSON without secrets, which the store does not read. */
  readonly settings?: string | null
}

/**
 * An entry among the PBXs of a node: the node can watch all stored PBXs. A node of an earlier version lacks it, and
 * watches only the PBXs of its settings.
 */
export const EVERY_PBX = '*'

export type LiveNode = {
  readonly id: string
  readonly beat: number
  readonly pbxs: readonly string[]
  /** The names of its presets; `null`: it is of an earlier version, which does not say. */
  readonly presets: readonly string[] | null
  /** The node is stopping, and takes no further leases. */
  readonly isLeaving: boolean
}

/** The result of a heartbeat, all read at one moment. */
export type ClusterBeat = {
  /** The database's clock, in microseconds. */
  readonly databaseUs: number
  /** The nodes that nobody has found dead, this one included. */
  readonly nodes: readonly LiveNode[]
  /** `undefined`: they have not changed since the version that was seen. */
  readonly leases: LeaseView | undefined
}

/** The leases of a cluster at one moment, as one node sees them. */
export type LeaseView = {
  /** Grows with each change of a lease. */
  readonly version: number
  readonly own: readonly Lease[]
  /** Leases without a node, or of a dead one: some of them, if they are many. */
  readonly free: readonly Lease[]
  /** How many leases of each kind each live node has; `node` is `null` for free leases. */
  readonly counts: readonly { readonly node: string | null; readonly kind: string; readonly count: number }[]
  /** The live owners of the requested leases, without free leases. */
  readonly owners: readonly { readonly name: string; readonly node: string }[]
}

/** The cluster at one moment, as one node sees it. */
export type ClusterView = Omit<ClusterBeat, 'leases'> & Omit<LeaseView, 'version'>

type BeatState = {
  /** The node is stopping, and takes no further leases. */
  readonly isLeaving: boolean
  /** The version of the leases that this node has seen: they are returned if they have another. */
  readonly seenVersion?: number | undefined
  /** Adds the missing leases of accounts and PBXs. At least one node has to do this. */
  readonly addsLeases?: boolean
  /** The leases whose owners are returned. */
  readonly ownersOf?: readonly string[]
  /** How far the wall clock of this node is ahead of the database's; `null`: it is not known. */
  readonly clockAheadUs?: number | null
}

/** A node as people see it. Times are the database's, in microseconds. */
export type NodeRecord = {
  readonly id: string
  readonly address: string
  readonly version: string
  readonly startedUs: number
  readonly beatUs: number
  readonly deadUs: number | null
  /** How far its wall clock is ahead of the database's; `null`: it is not known. */
  readonly clockAheadUs: number | null
  /** JSON, as the node gave them; `null`: it is of an earlier version. */
  readonly settings: string | null
  /** The names of its presets; `null`: it is of an earlier version. */
  readonly presets: readonly string[] | null
  /** It said that it stops: once it is dead, it has left, and was not found dead. */
  readonly isLeaving: boolean
  readonly leases: readonly string[]
}

/** A take-over: the lease as it was seen free, and the term of its next owner. */
export type Claim = { readonly name: string; readonly seenTerm: string; readonly newTerm: string }

export type Gift = Lease & { readonly to: string | null; readonly newTerm: string }

export type ClusterStore = {
  /** Returns the database's clock, in microseconds. */
  clockGet(): Promise<number>
  /**
   * Returns the id of the database's history: a standby that took over has another one, and may lack commits of the old
   * one. `null`: unknown.
   */
  historyGet(): Promise<string | null>
  /** Adds a node with its first heartbeat, and any missing lease for its PBXs and for maintenance. */
  nodeAdd(node: NewNode): Promise<void>
  /**
   * Raises the heartbeat of a node, and returns the cluster as it is then. Returns `undefined` if the node is dead: it
   * was too late, and its leases may be others' now.
   */
  nodeBeat(id: string, state: BeatState): Promise<ClusterBeat | undefined>
  /**
   * Makes a node dead for ever if its heartbeat is still this one. Its leases are free then. Returns whether it is
   * dead.
   */
  nodeEndIfSilent(silent: { readonly id: string; readonly beat: number }): Promise<boolean>
  /** Makes a node dead for ever: it stops, and its leases are free. */
  nodeEnd(id: string): Promise<void>
  /**
   * Gives a node the leases whose term is still the given one, under a new term. Returns the names of the leases that
   * it got.
   */
  leaseClaim(claims: { readonly node: string; readonly claims: readonly Claim[] }): Promise<string[]>
  /** Gives leases to nodes (`null`: to the next node that asks) under new terms, each if its term has not changed. */
  leaseGive(gifts: readonly Gift[]): Promise<void>
  /**
   * Calls back soon after leases became free or were given to another node, by any node. It is a hint that may be lost:
   * a heartbeat shows the same. Returns a function that ends it.
   */
  listen(onChange: () => void): () => Promise<void>
  /** Returns the nodes with their leases, dead ones for an hour, in the order in which they started. */
  nodeList(): Promise<NodeRecord[]>
}

/**
 * The leases under which an owner writes, each with the term in which it was taken: arrays of one length. An engine for
 * one node has no leases, and reads no fence.
 */
export type Fence = { readonly leaseNames: readonly string[]; readonly terms: readonly string[] }

/** The error of a write whose node has lost these leases: the whole write was undone, and another node goes on. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  readonly leases: readonly string[]

  constructor(...leases: string[]) {
    super(`this node no longer owns ${leases.join(', ')}`)
    this.leases = leases
  }
}
