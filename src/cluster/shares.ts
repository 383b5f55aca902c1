import { type Claim, type ClusterView, EVERY_PBX, type Lease, type LiveNode } from '../store/operations/cluster.ts'
import { leaseKindOf } from './ownership.ts'
import type { NeededPresets } from './preset-needs.ts'

/**
 * Decides which leases a node claims and hands over, so that all nodes have about as many of each kind. Pure. A node
 * claims its share of the free leases at once, and leftovers after a moment: an unfair share is better than a lease
 * without an owner, and is corrected later. An account whose webhooks need presets is shared by the nodes that lack the
 * fewest of them; another node claims it as a leftover, and hands it over to one of these.
 */
export type Shares = ReturnType<typeof newShares>

export type SharesOptions = {
  readonly nodeId: string
  /** Whether this node is set up for a lease. */
  readonly canOwn?: (name: string) => boolean
  readonly newTerm: () => string
  /** From 0 to 1; shuffles the claims, so that two nodes seldom claim the same lease. */
  readonly random: () => number
  /** Returns the load of a lease; the least loaded are handed over first. */
  readonly loadOf?: (name: string) => number
  /** Returns, by the lease of a PBX, the lease of the account that should have the same owner. */
  readonly homes?: (() => ReadonlyMap<string, string>) | undefined
  /** Returns the presets that the webhooks of accounts need; empty while all nodes have the same. */
  readonly needs?: (() => NeededPresets) | undefined
}

/** A lease to hand over, and to whom. */
export type HandOver = { readonly name: string; readonly to: string }

const NO_HOMES: ReadonlyMap<string, string> = new Map()
const NO_NEEDS: NeededPresets = new Map()

/** `others`: the nodes that share the free leases with this one. */
type Sharing = { readonly others: readonly LiveNode[]; readonly nowUs: number }

/** A lease that has been free for this long is claimed by any node: the node whose share it is does not claim it. */
const LEFT_OVER_US = 300_000
/** A step must be short: the heartbeat waits for it. */
const MAX_CLAIMS = 256
/** The new owner reads the queues behind these; the rest wait for the next heartbeat. */
const MAX_HAND_OVERS = 64

/** Creates the shares of a node that has seen no free lease yet. */
export function newShares(options: SharesOptions) {
  const { nodeId, newTerm, random, canOwn = () => true, loadOf = () => 0 } = options
  const { homes = () => NO_HOMES, needs = () => NO_NEEDS } = options
  /** Since when each free lease is seen. */
  const freeSince = new Map<string, number>()
  const freeUs = (name: string, nowUs: number) => nowUs - (freeSince.get(name) ?? nowUs)
  const selfOf = ({ nodes }: ClusterView) => nodes.find(({ id }) => id === nodeId)

  return {
    /** Notes which leases are free. */
    noteFree(free: readonly Lease[], nowUs: number): void {
      const now = new Set(free.map(({ name }) => name))
      for (const name of freeSince.keys()) if (!now.has(name)) freeSince.delete(name)
      for (const name of now) if (!freeSince.has(name)) freeSince.set(name, nowUs)
    },

    /** Returns this node's claims to the free leases. */
    claimsOf(view: ClusterView, own: readonly string[], { others, nowUs }: Sharing): Claim[] {
      const totals = countsOf(view.counts)
      const mine = countsOf(own.map((name) => ({ kind: leaseKindOf(name), count: 1 })))
      const claims: Claim[] = []
      const homeOf = homes()
      const sharersOf = newSharerCount(selfOf(view), others, needs())
      const owners = new Map(view.owners.map(({ name, node }) => [name, node]))
      for (const name of own) owners.set(name, nodeId)
      for (const { name, term: seenTerm } of homesFirst(shuffled(view.free, random))) {
        if (claims.length >= MAX_CLAIMS) break
        if (!canOwn(name)) continue
        const kind = leaseKindOf(name)
        const has = mine.get(kind) ?? 0
        const host = owners.get(homeOf.get(name) ?? '')
        const sharers = sharersOf(name)
        const share = sharers === 0 ? 0 : Math.ceil((totals.get(kind) ?? 0) / sharers)
        const isBeyondShare = host === undefined ? has >= share : host !== nodeId
        if (isBeyondShare && freeUs(name, nowUs) < LEFT_OVER_US) continue
        owners.set(name, nodeId)
        mine.set(kind, has + 1)
        claims.push({ name, seenTerm, newTerm: newTerm() })
      }
      return claims
    },

    /** Returns the microseconds until a free lease that is not claimed now becomes a leftover; infinity: none will. */
    leftOverInUs(view: ClusterView, claims: readonly Claim[], nowUs: number): number {
      const claimed = new Set(claims.map(({ name }) => name))
      const waiting = view.free.filter(({ name }) => canOwn(name) && !claimed.has(name))
      return Math.max(0, Math.min(...waiting.map(({ name }) => LEFT_OVER_US - freeUs(name, nowUs))))
    },

    /**
     * Returns hand-overs: to nodes that lack fewer of an account's presets, and to nodes with at least two fewer
     * leases, so that none goes back and forth; the least loaded first.
     */
    handOversOf(view: ClusterView, own: readonly string[], members: readonly LiveNode[]): HandOver[] {
      const self = selfOf(view)
      const lackOf = newLackOf(needs())
      const counts = newLeaseCounts(view, members, lackOf)
      const hosts = new Map(view.owners.map(({ name, node }) => [name, members.find(({ id }) => id === node)]))
      const homeOf = homes()
      const isHomeOfOwn = new Set(own.map((name) => homeOf.get(name)))
      const isOwn = new Set(own)
      // An account whose PBXs are here has to take them along.
      const weight = (name: string) => loadOf(name) + (isHomeOfOwn.has(name) ? 1 : 0)
      const least = (name: string) => Math.min(...members.map((node) => lackOf(node, name)))
      const lease = (name: string) => ({ name, load: weight(name), gain: lackOf(self, name) - least(name) })
      // Deliveries that wait for a preset come before an even share.
      const inOrder = own.map(lease).sort((a, b) => Math.max(b.gain, 0) - Math.max(a.gain, 0) || a.load - b.load)
      const handOvers: HandOver[] = []
      for (const { name, gain } of inOrder) {
        if (handOvers.length === MAX_HAND_OVERS) break
        const home = homeOf.get(name)
        if (home !== undefined && isOwn.has(home)) continue
        const host = hosts.get(home ?? '')
        const isHome = host !== undefined && canWatch(host, name)
        const to = isHome ? host.id : counts.nodeFor(name)
        if (to === undefined || gain < 0) continue
        const isEven = counts.countOf(to, name) + 2 > counts.countOf(nodeId, name)
        if (!isHome && gain === 0 && isEven) continue
        counts.move(name, { from: nodeId, to })
        handOvers.push({ name, to })
      }
      return handOvers
    },

    /** Returns the next owner of each lease of a leaving node; a lease that no node can own is left out. */
    heirsOf(view: ClusterView, names: readonly string[], others: readonly LiveNode[]): ReadonlyMap<string, string> {
      const counts = newLeaseCounts(view, others, newLackOf(needs()))
      const heirs = new Map<string, string>()
      const homeOf = homes()
      const able = (name: string, id: string | undefined) =>
        others.some((node) => node.id === id && canWatch(node, name))
      const owners = new Map(view.owners.map(({ name, node }) => [name, node]))
      const ordered = homesFirst(names.map((name) => ({ name })))
      for (const { name } of ordered) {
        const home = homeOf.get(name) ?? ''
        const host = heirs.get(home) ?? owners.get(home)
        const to = host !== undefined && able(name, host) ? host : counts.nodeFor(name)
        if (to === undefined) continue
        counts.move(name, { from: nodeId, to })
        heirs.set(name, to)
      }
      return heirs
    },

    /** Forgets the free leases: they may be of another database. */
    restart: () => freeSince.clear(),
  }
}

/** Sorts the leases of accounts first: their owners decide who gets the PBXs. */
const homesFirst = <T extends { readonly name: string }>(leases: readonly T[]): T[] =>
  leases.toSorted((one, other) => Number(leaseKindOf(one.name) === 'pbx') - Number(leaseKindOf(other.name) === 'pbx'))

type LackOf = ReturnType<typeof newLackOf>

/** Creates the function that counts the presets of a lease that a node lacks; 0 for a node of an earlier version. */
function newLackOf(needs: NeededPresets) {
  return (node: Pick<LiveNode, 'presets'> | undefined, name: string): number => {
    const presets = node?.presets ?? null
    const needed = needs.get(name)
    return presets === null || needed === undefined ? 0 : needed.filter((one) => !presets.includes(one)).length
  }
}

/**
 * Creates the function that counts the nodes that share a lease: the nodes that lack the fewest of its presets. It
 * returns 0 where another node lacks fewer than this node.
 */
function newSharerCount(self: LiveNode | undefined, others: readonly LiveNode[], needs: NeededPresets) {
  const lackOf = newLackOf(needs)
  return (name: string): number => {
    if (!needs.has(name)) return others.length + 1
    const own = lackOf(self, name)
    const lacks = others.map((node) => lackOf(node, name))
    const least = Math.min(own, ...lacks)
    return own > least ? 0 : 1 + lacks.filter((lack) => lack === least).length
  }
}

/** Counts the leases of each node by kind, to find the node with the fewest. */
function newLeaseCounts(view: ClusterView, nodes: readonly LiveNode[], lackOf: LackOf) {
  const counts = new Map(view.counts.map(({ node, kind, count }) => [`${node} ${kind}`, count]))
  const countOf = (node: string, name: string) => counts.get(`${node} ${leaseKindOf(name)}`) ?? 0
  return {
    countOf,
    /**
     * Returns the node for a lease among the nodes that can own it: the node that lacks the fewest of its presets, then
     * the node with the fewest leases of this kind.
     */
    nodeFor(name: string): string | undefined {
      let found: { readonly id: string; readonly lack: number } | undefined
      for (const node of nodes) {
        if (!canWatch(node, name)) continue
        const lack = lackOf(node, name)
        const isFewer = (best: string) => countOf(node.id, name) < countOf(best, name)
        if (found === undefined || lack < found.lack || (lack === found.lack && isFewer(found.id)))
          found = { id: node.id, lack }
      }
      return found?.id
    },
    move(name: string, { from, to }: { readonly from: string; readonly to: string }): void {
      counts.set(`${from} ${leaseKindOf(name)}`, countOf(from, name) - 1)
      counts.set(`${to} ${leaseKindOf(name)}`, countOf(to, name) + 1)
    },
  }
}

/** Returns whether a node can own a lease: PBXs only if it knows them. */
const canWatch = ({ pbxs }: LiveNode, lease: string): boolean =>
  leaseKindOf(lease) !== 'pbx' || pbxs.includes(EVERY_PBX) || pbxs.includes(lease.slice('pbx:'.length))

function countsOf(counts: readonly { readonly kind: string; readonly count: number }[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { kind, count } of counts) sums.set(kind, (sums.get(kind) ?? 0) + count)
  return sums
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
