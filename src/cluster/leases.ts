import { SECOND } from '../lib/time.ts'
import type { Claim, ClusterView, Lease, LiveNode, NodeRecord } from '../store/operations/cluster.ts'
import { type HandOver, newShares, type Shares, type SharesOptions } from './shares.ts'

/**
 * The leases of one node: which it has, when it may trust them, and which leases of other nodes it claims. Pure: times
 * are microseconds of the node's own steady clock. The database's clock plays no part, so that a wrong clock can never
 * give a lease two owners.
 *
 *     view of a heartbeat ──→ own leases (which it has)      ──┐
 *                        ├──→ silence (which nodes are dead) ───┼──→ plan: what to take, to give, whom to declare dead
 *                        └──→ shares (the free leases) ─────────┘
 *
 * Invariants:
 * - A node trusts its leases until TRUST_US after it *sent* its last successful heartbeat. Only that moment counts,
 *   since the process may have been suspended at any point after it.
 * - A node is declared dead only by a node that saw the same heartbeat for SILENT_US of its own clock, and only while
 *   that heartbeat is unchanged. So the silent node's trust has ended. A dead node never comes back: it joins again
 *   under another id.
 * - A lease changes hands only after its owner is dead or has released it, and only from the term that was seen then.
 *   So a late statement changes nothing.
 * - After a statement without an answer a node forgets all about other nodes, unless the database is certainly the same
 *   one: a standby that took over may lack the latest leases. After an outage every node has time to continue with its
 *   leases, since only time in which the database answers counts.
 */
export type Leases = {
  /** Returns whether this node may act as the owner of its leases. */
  isTrusted(nowUs: number): boolean
  /** Returns the time at which trust ends unless another heartbeat succeeds. */
  trustedUntilUs(): number
  /** Returns whether this node has a lease. To act on it, it also needs trust. */
  holds(name: string): boolean
  /** Returns the term under which this node may still write, or `undefined`. */
  termOf(name: string): string | undefined
  names(): readonly string[]
  /** Applies the answer to a heartbeat that was sent at `sentUs` or later. Returns the changes, and what to do next. */
  heartbeatReceived(view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }): LeasePlan
  /** Notes that a statement had no answer: the database may have failed over. */
  statementFailed(): void
  /** Notes that the database moved to another server: trust ends until a heartbeat succeeds there. */
  databaseReplaced(nowUs: number): void
  /** Notes that this node was declared dead. Returns the leases that it had. */
  declaredDead(): string[]
  /** Notes which claims of a plan succeeded. Returns the new leases. */
  claimed(claims: readonly Claim[], names: readonly string[]): string[]
  /** Begins to hand over a lease, which this node then no longer owns. Returns false if it did not own it. */
  give(name: string): boolean
  /** Begins to hand over all leases, and stops taking any. */
  leave(): void
  /** Returns the leases that this node is handing over. */
  giving(): readonly Lease[]
  /** Notes that leases were handed over. */
  handedOver(leases: readonly Lease[]): void
}

export type LeasePlan = {
  readonly gained: readonly string[]
  readonly lost: readonly string[]
  /** Nodes to declare dead. */
  readonly silent: readonly { readonly id: string; readonly beat: number }[]
  readonly claims: readonly Claim[]
  /** Leases to hand over to nodes that have fewer. */
  readonly handOvers: readonly HandOver[]
  /** The next owner of each lease that a leaving node hands over. */
  readonly heirs: ReadonlyMap<string, string>
  /** Leases that this node is still handing over. */
  readonly giving: readonly Lease[]
  /** Microseconds until there is more to do, if known: the next heartbeat is no later. */
  readonly moreInUs: number | undefined
}

/** How long a heartbeat gives trust, from the moment before it was sent. */
export const TRUST_US = 3 * SECOND
/**
 * How long a node must be silent to be declared dead, and how long a node must have had heartbeats without a failure to
 * judge others.
 */
const SILENT_US = 4 * SECOND
/** A node that has been silent for this long is given no leases and counts for no share. */
const DOUBTED_US = 2 * SECOND
/** A node with an older heartbeat is probably gone: a lease given to it would have to be taken over again. */
const HEARD_US = 1.5 * SECOND
/** Heartbeats after which a node is given leases: by then it may judge others. */
const MEMBER_BEATS = 9

/** `silent`: the node is about to be declared dead. */
export const NODE_STATES = ['up', 'silent', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

/** Returns the state of a node at a time of the database's clock. */
export const stateOfNode = (
  { deadUs, beatUs }: Pick<NodeRecord, 'deadUs' | 'beatUs'>,
  databaseUs: number,
): NodeState => (deadUs !== null ? 'dead' : databaseUs - beatUs >= SILENT_US ? 'silent' : 'up')

/** Creates the leases of a node, none at first. */
export function newLeases(options: SharesOptions): Leases {
  const own = newOwnLeases()
  const silence = newSilence()
  const shares = newShares(options)
  let lastSentUs = Number.NEGATIVE_INFINITY
  /** Heartbeats sent before this reached another database. */
  let replacedUs = Number.NEGATIVE_INFINITY
  let state: 'member' | 'leaving' | 'dead' = 'member'

  const trustedUntilUs = () => (state === 'dead' ? Number.NEGATIVE_INFINITY : lastSentUs + TRUST_US)
  const isTrusted = (nowUs: number) => nowUs < trustedUntilUs()
  const othersOf = ({ nodes }: ClusterView) => nodes.filter(({ id }) => id !== options.nodeId)

  function statementFailed(): void {
    silence.restart()
    shares.restart()
  }

  /** Keeps new leases; a leaving node hands them over at once. */
  function keep(gained: string[]): string[] {
    if (state === 'member') return gained
    for (const name of gained) own.give(name)
    return []
  }
  function updateOwn(leases: readonly Lease[]) {
    const { gained, lost } = own.update(leases)
    return { gained: keep(gained), lost, giving: own.giving() }
  }

  return {
    isTrusted,
    trustedUntilUs,
    holds: own.owns,
    termOf: own.termOf,
    names: own.names,

    heartbeatReceived(view, { sentUs, nowUs }) {
      if (state === 'dead') throw new Error('a node that is dead has no heartbeat')
      // After a pause as long as the trust, leases may have changed hands and come back unseen: start over.
      if (sentUs >= lastSentUs + TRUST_US) statementFailed()
      if (sentUs >= replacedUs) lastSentUs = Math.max(lastSentUs, sentUs)
      const known = updateOwn(view.own)
      const others = silence.record(othersOf(view), nowUs)
      shares.noteFree(view.free, nowUs)
      const nothing = { ...known, silent: [], claims: [], handOvers: [], heirs: new Map(), moreInUs: undefined }
      if (!isTrusted(nowUs)) return nothing
      if (state === 'leaving') {
        // A node that joined a moment ago takes nothing by itself yet, but may be given what its owner leaves.
        const heard = others.filter(({ silentUs, isLeaving }) => silentUs < HEARD_US && !isLeaving)
        const names = known.giving.map(({ name }) => name)
        return { ...nothing, heirs: shares.heirsOf(view, names, heard) }
      }
      if (silence.watchedUs() < SILENT_US) return { ...nothing, moreInUs: SILENT_US - silence.watchedUs() }
      return {
        ...nothing,
        ...judge(view, { others, names: own.names(), isGiving: known.giving.length > 0, shares, nowUs }),
      }
    },

    statementFailed,

    databaseReplaced(nowUs) {
      replacedUs = nowUs
      lastSentUs = Math.min(lastSentUs, nowUs - TRUST_US)
      statementFailed()
    },
    declaredDead() {
      state = 'dead'
      return own.clear()
    },
    claimed: (claims, names) => (state === 'dead' ? [] : keep(own.claimed(claims, names))),
    give: own.give,
    leave() {
      state = 'leaving'
      keep([...own.names()])
    },
    giving: own.giving,
    handedOver: own.handedOver,
  }
}

type Judged = Pick<LeasePlan, 'silent' | 'claims' | 'handOvers' | 'moreInUs'>
type Known = {
  readonly others: ReturnType<Silence['record']>
  readonly names: readonly string[]
  readonly isGiving: boolean
  readonly shares: Shares
  readonly nowUs: number
}

/** Returns what a node does once it has watched the others for long enough. */
function judge(view: ClusterView, { others, names, isGiving, shares, nowUs }: Known): Judged {
  const silent = others.filter(({ silentUs }) => silentUs >= SILENT_US)
  const heard = others.filter(({ silentUs, isLeaving }) => silentUs < DOUBTED_US && !isLeaving)
  const claims = shares.claimsOf(view, names, { others: heard, nowUs })
  const members = heard.filter(({ beat }) => beat >= MEMBER_BEATS)
  const deadInUs = others.filter((one) => !silent.includes(one)).map(({ silentUs }) => SILENT_US - silentUs)
  const moreInUs = Math.min(...deadInUs, shares.leftOverInUs(view, claims, nowUs))
  return {
    silent: silent.map(({ id, beat }) => ({ id, beat })),
    claims,
    handOvers: claims.length > 0 || isGiving ? [] : shares.handOversOf(view, names, members),
    moreInUs: Number.isFinite(moreInUs) ? moreInUs : undefined,
  }
}

/**
 * Creates the leases of one node, each with its term: none at first. Only this code changes them.
 *
 * States of a lease, seen from its node:
 *
 *     others' ──(claimed, or given by its owner: a new term)──→ owned ──(give)──→ giving ──(handedOver)──→ others'
 *     owned or giving ──(the database has another term)──→ others'
 *
 * While handing over a lease a node begins no work under it, but stores the results of work that had begun.
 */
function newOwnLeases() {
  const owned = new Map<string, string>()
  const giving = new Map<string, string>()
  return {
    owns: (name: string): boolean => owned.has(name),
    termOf: (name: string): string | undefined => owned.get(name) ?? giving.get(name),
    names: (): readonly string[] => [...owned.keys()],
    giving: (): Lease[] => Array.from(giving, ([name, term]) => ({ name, term })),

    /** Updates the leases to those in the database. Returns the gained and the lost ones. */
    update(own: readonly Lease[]): { gained: string[]; lost: string[] } {
      const terms = new Map(own.map(({ name, term }) => [name, term]))
      const lost = [...owned].filter(([name, term]) => terms.get(name) !== term).map(([name]) => name)
      for (const name of lost) owned.delete(name)
      for (const [name, term] of giving) if (terms.get(name) !== term) giving.delete(name)
      // A lease that was lost and came back under another term is gained with the next heartbeat: work under the old
      // term has to end first.
      const gained = own.filter(({ name }) => !owned.has(name) && !giving.has(name) && !lost.includes(name))
      for (const { name, term } of gained) owned.set(name, term)
      return { gained: gained.map(({ name }) => name), lost }
    },

    /** Notes which claims succeeded. Returns the new leases. */
    claimed(claims: readonly Claim[], names: readonly string[]): string[] {
      const taken = claims.filter(({ name }) => names.includes(name) && !owned.has(name))
      for (const { name, newTerm } of taken) owned.set(name, newTerm)
      return taken.map(({ name }) => name)
    },

    /** Begins to hand over an owned lease. Returns false if it was not owned. */
    give(name: string): boolean {
      const term = owned.get(name)
      if (term === undefined) return false
      owned.delete(name)
      giving.set(name, term)
      return true
    },

    /** Notes that leases were handed over. */
    handedOver(leases: readonly Lease[]): void {
      for (const { name, term } of leases) if (giving.get(name) === term) giving.delete(name)
    },

    /** Drops all leases. Returns the owned ones. */
    clear(): string[] {
      const names = [...owned.keys()]
      owned.clear()
      giving.clear()
      return names
    },
  }
}

/**
 * How long each other node has been silent, and how long this node has watched. Only time in which the database
 * answered this node counts, at most a second between two answers. So neither an outage nor a database that is slow for
 * all nodes makes a node seem dead.
 */
type Silence = ReturnType<typeof newSilence>

/** The longest gap between two answers that counts as watched time. */
const MOST_BETWEEN_US = 1_000_000

/** Begins to watch the heartbeats of other nodes. */
function newSilence() {
  /** The last heartbeat of each other node, and the watched time at which it was first seen. */
  const seen = new Map<string, { readonly beat: number; readonly sinceUs: number }>()
  let watchedUs = 0
  let latestUs: number | undefined

  function silenceOf({ id, beat }: LiveNode): number {
    const before = seen.get(id)
    if (before?.beat === beat) return watchedUs - before.sinceUs
    seen.set(id, { beat, sinceUs: watchedUs })
    return 0
  }

  return {
    /** Records the heartbeats of other nodes. Returns the nodes, each with the length of its silence. */
    record(nodes: readonly LiveNode[], nowUs: number): (LiveNode & { readonly silentUs: number })[] {
      if (latestUs !== undefined) watchedUs += Math.min(nowUs - latestUs, MOST_BETWEEN_US)
      latestUs = nowUs
      const alive = new Set(nodes.map(({ id }) => id))
      for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
      return nodes.map((node) => ({ ...node, silentUs: silenceOf(node) }))
    },
    /** Returns the watched time since the last failure. */
    watchedUs: (): number => watchedUs,
    /** Forgets all heartbeats: they may be of another database. */
    restart(): void {
      seen.clear()
      watchedUs = 0
      latestUs = undefined
    },
  }
}
