import type { Claim, ClusterView, Lease, LiveNode } from '../store/operations/cluster.ts'

/**
 * The leases of one node: which it has, when it may trust them, and what it does about those of others. Pure: times are
 * microseconds of the node's own monotonic clock, and the database's clock plays no part, so that no clock that is set
 * or wrong can give a lease two owners.
 *
 * States of a lease, seen from one node:
 *
 *     others' ──(its node is dead, or released it)──→ free ──(claimed: a new term)──→ owned
 *     others' ──(another node hands it over: a new term)──→ owned
 *     owned ──(handed over)──→ giving ──→ others'
 *     owned or giving ──(lost)──→ others'
 *
 * Invariants:
 * - A node trusts its leases until TRUST_US after it *sent* its last heartbeat that succeeded. It may have been
 *   stopped at any point in between: only the moment before sending counts.
 * - A node is declared dead only by one that saw its same heartbeat for SILENT_US of its own clock, and only if the
 *   heartbeat is still the same. So its last heartbeat was sent at least SILENT_US ago, and its trust has ended. A dead
 *   node never comes back: it gets another id.
 * - A lease goes from one node to another only after the first is dead or has released it, and only from the term that
 *   was seen then. So a statement that arrives late changes nothing.
 * - A statement that fails makes all knowledge of other nodes worthless: after an outage of the database every node has
 *   time to continue with its leases, or to find that a standby which took over does not know of them.
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
  /** A statement failed, the heartbeat or another, or nobody knows whether it did: the database may be another now. */
  statementFailed(): void
  /** Notes that this node was declared dead. Returns the leases that it had. */
  died(): string[]
  /** Notes which claims of a plan succeeded. Returns the new leases. */
  claimed(claims: readonly Claim[], names: readonly string[]): string[]
  /**
   * Starts to hand over a lease that this node no longer owns. Returns it, or `undefined` if this node does not have
   * it.
   */
  give(name: string): Lease | undefined
  /** A lease was handed over. */
  gave(lease: Lease): void
}

export type Plan = {
  readonly gained: readonly string[]
  readonly lost: readonly string[]
  /** Nodes that have been silent for too long. */
  readonly silent: readonly { readonly id: string; readonly beat: number }[]
  readonly claims: readonly Claim[]
  /** A lease to hand over, and to whom. */
  readonly handOver: { readonly name: string; readonly to: string } | undefined
  /** Leases whose handing over did not come to an end. */
  readonly giving: readonly Lease[]
}

const SECOND = 1_000_000
/** How long a heartbeat is good for, from before it was sent. */
export const TRUST_US = 3 * SECOND
/**
 * How long a node must be silent to be found dead, and how long one that judges others must have had heartbeats without
 * a failure.
 */
export const SILENT_US = 4 * SECOND
/** A node that is silent for so long is given nothing, and no share of what is free. */
const DOUBTED_US = 2 * SECOND
/** A lease that is free for this long is taken by any node that can: the nodes whose share it is cannot use it. */
const LEFT_OVER_US = SECOND
/** Heartbeats after which a node is given leases: by then it may judge others. */
const MEMBER_BEATS = 9
/** A step must be short: the heartbeat waits for it. */
const MAX_CLAIMS = 256

export type LeasesOptions = {
  readonly nodeId: string
  /** Whether this node is set up for a lease. */
  readonly canOwn?: (name: string) => boolean
  readonly newTerm: () => string
  /** From 0 to 1, for what is taken first: so that nodes seldom want the same. */
  readonly random: () => number
  /** How much a lease has to do: those with the least are handed over first. */
  readonly loadOf?: (name: string) => number
}

/** Returns what a lease is for: `account`, `pbx` or `maintenance`. */
export const kindOf = (name: string): string => name.split(':', 1)[0] ?? name

/** Makes the leases of a node that has none yet. */
export function newLeases(options: LeasesOptions): Leases {
  const { nodeId, newTerm, canOwn = () => true } = options
  /** Terms by name. */
  const owned = new Map<string, string>()
  const giving = new Map<string, string>()
  /** The heartbeats of other nodes, and since when each is seen to be the same. */
  const seen = new Map<string, { readonly beat: number; readonly sinceUs: number }>()
  /** Since when each free lease is seen. */
  const freeSince = new Map<string, number>()
  let lastSentUs = Number.NEGATIVE_INFINITY
  /** When the first of the heartbeats in a row was sent. */
  let unbrokenSinceUs: number | undefined
  let dead = false

  const isTrusted = (nowUs: number) => !dead && nowUs < lastSentUs + TRUST_US

  function statementFailed(): void {
    unbrokenSinceUs = undefined
    seen.clear()
    freeSince.clear()
  }

  function takeInOwn(own: readonly Lease[]): { gained: string[]; lost: string[] } {
    const terms = new Map(own.map(({ name, term }) => [name, term]))
    const lost = [...owned].filter(([name, term]) => terms.get(name) !== term).map(([name]) => name)
    for (const name of lost) owned.delete(name)
    for (const [name, term] of giving) if (terms.get(name) !== term) giving.delete(name)
    // A lease that was lost and came back under another term is gained with the next heartbeat: work under the old term
    // has to end first.
    const gained = own.filter(({ name }) => !owned.has(name) && !giving.has(name) && !lost.includes(name))
    for (const { name, term } of gained) owned.set(name, term)
    return { gained: gained.map(({ name }) => name), lost }
  }

  /** Returns how long a node has been silent, as far as this one saw. */
  function silenceOf({ id, beat }: LiveNode, nowUs: number): number {
    const before = seen.get(id)
    if (before?.beat === beat) return nowUs - before.sinceUs
    seen.set(id, { beat, sinceUs: nowUs })
    return 0
  }

  function takeInOthers(nodes: readonly LiveNode[], nowUs: number) {
    const others = nodes.filter(({ id }) => id !== nodeId)
    const alive = new Set(others.map(({ id }) => id))
    for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
    return others.map((node) => ({ ...node, silentUs: silenceOf(node, nowUs) }))
  }

  function takeInFree(free: readonly Lease[], nowUs: number): void {
    const now = new Set(free.map(({ name }) => name))
    for (const name of freeSince.keys()) if (!now.has(name)) freeSince.delete(name)
    for (const name of now) if (!freeSince.has(name)) freeSince.set(name, nowUs)
  }

  function claimsOf(view: ClusterView, sharers: number, nowUs: number): Claim[] {
    const totals = new Map<string, number>()
    for (const { kind, count } of view.counts) totals.set(kind, (totals.get(kind) ?? 0) + count)
    const mine = new Map<string, number>()
    for (const name of owned.keys()) mine.set(kindOf(name), (mine.get(kindOf(name)) ?? 0) + 1)
    const claims: Claim[] = []
    for (const { name, term: seenTerm } of shuffled(view.free, options.random)) {
      if (claims.length >= MAX_CLAIMS) break
      if (!canOwn(name)) continue
      const kind = kindOf(name)
      const own = mine.get(kind) ?? 0
      const isLeftOver = nowUs - (freeSince.get(name) ?? nowUs) >= LEFT_OVER_US
      if (own >= Math.ceil((totals.get(kind) ?? 0) / sharers) && !isLeftOver) continue
      mine.set(kind, own + 1)
      claims.push({ name, seenTerm, newTerm: newTerm() })
    }
    return claims
  }

  /** Returns one lease for a node that has fewer by two at least: so that a lease does not go to and fro. */
  function handOverOf(view: ClusterView, members: readonly LiveNode[]): Plan['handOver'] {
    if (giving.size > 0) return undefined
    const countOf = (node: string, kind: string) =>
      view.counts.find((one) => one.node === node && one.kind === kind)?.count ?? 0
    const loadOf = options.loadOf ?? (() => 0)
    const byLoad = [...owned.keys()].map((name) => ({ name, load: loadOf(name) })).sort((a, b) => a.load - b.load)
    for (const { name } of byLoad) {
      const kind = kindOf(name)
      const able = members.filter(({ pbxs }) => kind !== 'pbx' || pbxs.includes(name.slice('pbx:'.length)))
      const own = countOf(nodeId, kind)
      const to = able.find(({ id }) => countOf(id, kind) + 2 <= own)
      if (to !== undefined) return { name, to: to.id }
    }
    return undefined
  }

  return {
    isTrusted,
    trustedUntilUs: () => (dead ? Number.NEGATIVE_INFINITY : lastSentUs + TRUST_US),
    holds: (name) => !dead && owned.has(name),
    termOf: (name) => owned.get(name) ?? giving.get(name),
    names: () => [...owned.keys()],

    beaten(view, { sentUs, nowUs }) {
      if (dead) throw new Error('a node that is dead has no heartbeat')
      // A pause as long as the trust is a break: what was seen before it may have changed to and fro.
      if (sentUs >= lastSentUs + TRUST_US) statementFailed()
      unbrokenSinceUs ??= sentUs
      lastSentUs = Math.max(lastSentUs, sentUs)
      const { gained, lost } = takeInOwn(view.own)
      const others = takeInOthers(view.nodes, nowUs)
      takeInFree(view.free, nowUs)
      const known = { gained, lost, giving: [...giving].map(([name, term]) => ({ name, term })) }
      if (!isTrusted(nowUs) || nowUs - unbrokenSinceUs < SILENT_US)
        return { ...known, silent: [], claims: [], handOver: undefined }
      const heard = others.filter(({ silentUs }) => silentUs < DOUBTED_US)
      const silent = others.filter(({ silentUs }) => silentUs >= SILENT_US).map(({ id, beat }) => ({ id, beat }))
      const claims = claimsOf(view, heard.length + 1, nowUs)
      const members = heard.filter(({ beat }) => beat >= MEMBER_BEATS)
      return { ...known, silent, claims, handOver: claims.length > 0 ? undefined : handOverOf(view, members) }
    },

    statementFailed,

    died() {
      const names = [...owned.keys()]
      dead = true
      owned.clear()
      giving.clear()
      return names
    },

    claimed(claims, names) {
      if (dead) return []
      const taken = claims.filter(({ name }) => names.includes(name) && !owned.has(name))
      for (const { name, newTerm } of taken) {
        owned.set(name, newTerm)
        freeSince.delete(name)
      }
      return taken.map(({ name }) => name)
    },

    give(name) {
      const term = owned.get(name)
      if (term === undefined) return undefined
      owned.delete(name)
      giving.set(name, term)
      return { name, term }
    },

    gave({ name, term }) {
      if (giving.get(name) === term) giving.delete(name)
    },
  }
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
