import { SECOND } from '../lib/time.ts'
import type { Claim, ClusterView, Lease, LiveNode } from '../store/operations/cluster.ts'
import { type HandOver, newShares, type Shares, type SharesOptions } from './shares.ts'

/**
 * The leases of one node: which it has, when it may trust them, and what it does about those of others. Pure: times are
 * microseconds of the node's own monotonic clock, and the database's clock plays no part, so that no clock that is set
 * or wrong can give a lease two owners.
 *
 *     view of a heartbeat ──→ own leases (which it has)      ──┐
 *                        ├──→ silence (which nodes are dead) ───┼──→ plan: what to take, to give, whom to declare dead
 *                        └──→ shares (what is free) ────────────┘
 *
 * Invariants:
 * - A node trusts its leases until TRUST_US after it *sent* its last heartbeat that succeeded. It may have been
 *   stopped at any point in between: only the moment before sending counts.
 * - A node is declared dead only by one that saw its same heartbeat for SILENT_US of its own clock, and only if the
 *   heartbeat is still the same. So its last heartbeat was sent at least SILENT_US ago, and its trust has ended. A dead
 *   node never comes back: it gets another id.
 * - A lease goes from one node to another only after the first is dead or has released it, and only from the term that
 *   was seen then. So a statement that arrives late changes nothing.
 * - A statement without an answer makes all knowledge of other nodes worthless, unless it is known that the database is
 *   the same: a standby that took over may not know of the latest leases. After an outage every node has time to
 *   continue with its leases, since only time in which the database answers counts.
 */
export type Leases = {
  /** Whether this node may act as the owner of what it holds. */
  isTrusted(nowUs: number): boolean
  /** Until when it may, if no other heartbeat succeeds. */
  trustedUntilUs(): number
  /** Returns whether this node has a lease. To act on it, it also needs trust. */
  holds(name: string): boolean
  /** Returns the term under which this node may still write, or `undefined`. */
  termOf(name: string): string | undefined
  names(): readonly string[]
  /**
   * Takes in what a heartbeat returned, and returns what changed by it and what to do next. `sentUs`: before it was
   * sent.
   */
  beaten(view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }): Plan
  /** Notes that a statement had no answer, and that the database may be another now. */
  statementFailed(): void
  /** Notes that the database is on another server: trust ends, until a heartbeat there succeeds. */
  databaseReplaced(nowUs: number): void
  /** Notes that this node was declared dead. Returns the leases that it had. */
  died(): string[]
  /** Notes which claims of a plan succeeded. Returns the new leases. */
  claimed(claims: readonly Claim[], names: readonly string[]): string[]
  /** Starts to hand over a lease, which this node no longer owns. Returns whether it owned it. */
  give(name: string): boolean
  /** Starts to hand over all, and takes nothing any more. */
  leave(): void
  /** Returns the leases that this node is handing over. */
  giving(): readonly Lease[]
  /** Notes that leases were handed over. */
  gave(leases: readonly Lease[]): void
}

export type Plan = {
  readonly gained: readonly string[]
  readonly lost: readonly string[]
  /** Nodes that have been silent for too long. */
  readonly silent: readonly { readonly id: string; readonly beat: number }[]
  readonly claims: readonly Claim[]
  /** Leases to hand over to nodes that have fewer. */
  readonly handOvers: readonly HandOver[]
  /** Of a node that leaves: who gets what it is giving. */
  readonly heirs: ReadonlyMap<string, string>
  /** Leases whose handing over did not come to an end. */
  readonly giving: readonly Lease[]
  /** In how long there will be more to do, if that is known: the next heartbeat need not be later. */
  readonly moreInUs: number | undefined
}

/** How long a heartbeat is good for, from before it was sent. */
export const TRUST_US = 3 * SECOND
/**
 * How long a node must be silent to be found dead, and how long one that judges others must have had heartbeats without
 * a failure.
 */
export const SILENT_US = 4 * SECOND
/** A node that is silent for so long is given nothing, and no share of what is free. */
const DOUBTED_US = 2 * SECOND
/** A node whose heartbeat is older is probably gone: what it was given would wait for others to take it over. */
const HEARD_US = 1.5 * SECOND
/** Heartbeats after which a node is given leases: by then it may judge others. */
const MEMBER_BEATS = 9

type LeasesOptions = SharesOptions

/** Makes the leases of a node that has none yet. */
export function newLeases(options: LeasesOptions): Leases {
  const own = newOwnLeases()
  const silence = newSilence()
  const shares = newShares(options)
  let lastSentUs = Number.NEGATIVE_INFINITY
  /** A heartbeat that was sent earlier says nothing about the present database. */
  let replacedUs = Number.NEGATIVE_INFINITY
  let state: 'member' | 'leaving' | 'dead' = 'member'

  const trustedUntilUs = () => (state === 'dead' ? Number.NEGATIVE_INFINITY : lastSentUs + TRUST_US)
  const isTrusted = (nowUs: number) => nowUs < trustedUntilUs()
  const othersOf = ({ nodes }: ClusterView) => nodes.filter(({ id }) => id !== options.nodeId)

  function statementFailed(): void {
    silence.restart()
    shares.restart()
  }

  /** A node that leaves passes on what it gets. */
  function keep(gained: string[]): string[] {
    if (state === 'member') return gained
    for (const name of gained) own.give(name)
    return []
  }
  function takeInOwn(leases: readonly Lease[]) {
    const { gained, lost } = own.takeIn(leases)
    return { gained: keep(gained), lost, giving: own.giving() }
  }

  return {
    isTrusted,
    trustedUntilUs,
    holds: own.owns,
    termOf: own.termOf,
    names: own.names,

    beaten(view, { sentUs, nowUs }) {
      if (state === 'dead') throw new Error('a node that is dead has no heartbeat')
      // A pause as long as the trust is a break: what was seen before it may have changed to and fro.
      if (sentUs >= lastSentUs + TRUST_US) statementFailed()
      if (sentUs >= replacedUs) lastSentUs = Math.max(lastSentUs, sentUs)
      const known = takeInOwn(view.own)
      const others = silence.takeIn(othersOf(view), nowUs)
      shares.takeIn(view.free, nowUs)
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
    died() {
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
    gave: own.gave,
  }
}

type Judged = Pick<Plan, 'silent' | 'claims' | 'handOvers' | 'moreInUs'>
type Known = {
  readonly others: ReturnType<Silence['takeIn']>
  readonly names: readonly string[]
  readonly isGiving: boolean
  readonly shares: Shares
  readonly nowUs: number
}

/** Returns what a node does that has seen enough of the others to judge them. */
function judge(view: ClusterView, { others, names, isGiving, shares, nowUs }: Known): Judged {
  const silent = others.filter(({ silentUs }) => silentUs >= SILENT_US)
  const heard = others.filter(({ silentUs, isLeaving }) => silentUs < DOUBTED_US && !isLeaving)
  const claims = shares.claimsOf(view, names, { sharers: heard.length + 1, nowUs })
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
 * Makes the leases that one node has, each with its term: none at first. Pure, and the only code that changes them.
 *
 * States of a lease, seen from its node:
 *
 *     others' ──(claimed, or given by its owner: a new term)──→ owned ──(give)──→ giving ──(gave)──→ others'
 *     owned or giving ──(the database has another term)──→ others'
 *
 * Under a lease that it is giving a node begins nothing, but stores what it had begun.
 */
function newOwnLeases() {
  const owned = new Map<string, string>()
  const giving = new Map<string, string>()
  return {
    owns: (name: string): boolean => owned.has(name),
    termOf: (name: string): string | undefined => owned.get(name) ?? giving.get(name),
    names: (): readonly string[] => [...owned.keys()],
    giving: (): Lease[] => Array.from(giving, ([name, term]) => ({ name, term })),

    /** Takes in which leases this node has in the database. Returns what it gained and lost by that. */
    takeIn(own: readonly Lease[]): { gained: string[]; lost: string[] } {
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

    /** Owns a lease no more, and hands it over. Returns whether it was owned. */
    give(name: string): boolean {
      const term = owned.get(name)
      if (term === undefined) return false
      owned.delete(name)
      giving.set(name, term)
      return true
    },

    /** Notes that leases were handed over. */
    gave(leases: readonly Lease[]): void {
      for (const { name, term } of leases) if (giving.get(name) === term) giving.delete(name)
    },

    /** Has nothing any more. Returns what was owned. */
    clear(): string[] {
      const names = [...owned.keys()]
      owned.clear()
      giving.clear()
      return names
    },
  }
}

/**
 * How long other nodes have been silent, and how long this node has been able to judge that. Pure. Only time in which
 * the database answered this node counts, by its own clock: of two answers that are far apart, a second. So an outage
 * makes no node seem dead, nor does a database that is slow for all nodes.
 */
type Silence = ReturnType<typeof newSilence>

/** As long an answer shows what goes on. */
const MOST_BETWEEN_US = 1_000_000

/** Begins to watch the heartbeats of other nodes. */
function newSilence() {
  /** The heartbeats of other nodes, and since when each is the same, in watched time. */
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
    /** Takes in what the database answered. Returns the nodes, each with how long it has been silent. */
    takeIn(nodes: readonly LiveNode[], nowUs: number): (LiveNode & { readonly silentUs: number })[] {
      if (latestUs !== undefined) watchedUs += Math.min(nowUs - latestUs, MOST_BETWEEN_US)
      latestUs = nowUs
      const alive = new Set(nodes.map(({ id }) => id))
      for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
      return nodes.map((node) => ({ ...node, silentUs: silenceOf(node) }))
    },
    /** Returns for how long this has watched since the last failure. */
    watchedUs: (): number => watchedUs,
    /** Begins again, since what was seen may be worth nothing. */
    restart(): void {
      seen.clear()
      watchedUs = 0
      latestUs = undefined
    },
  }
}
