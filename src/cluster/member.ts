import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import type { ClusterStore, ClusterView, Lease, LeaseView } from '../store/operations/cluster.ts'
import { type LeasePlan, type Leases, newLeases } from './leases.ts'
import { type EndOfWork, leaseKindOf, MAINTENANCE_LEASE } from './ownership.ts'
import type { NeededPresets } from './preset-needs.ts'

export type LeaseKeeperOptions = {
  readonly cluster: ClusterStore
  readonly version: string
  /** The PBXs of the settings. */
  readonly pbxs: readonly string[]
  /** Returns whether this node knows a PBX, and so can watch it. */
  readonly canWatch: (pbx: string) => boolean
  /** Returns, by the lease of a PBX, the lease of the account that its calls belong to: one node should have both. */
  readonly homes?: (() => ReadonlyMap<string, string>) | undefined
  /** Returns the presets that the webhooks of accounts need, where not all nodes have them. */
  readonly needs?: (() => NeededPresets) | undefined
  /** Returns how many microseconds this node's wall clock is ahead of the database's; `null`: unknown. */
  readonly clockAheadUs?: (() => number | null) | undefined
  readonly log: Log
  /** A clock that never steps. */
  readonly elapsedUs: NowUs
  readonly random?: (() => number) | undefined
  /** Called with each answer to a heartbeat and its times. */
  readonly onView?: ((view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }) => void) | undefined
}

/** A node's facts that other nodes and commands read. */
export type NodeFacts = {
  /** The settings that commands need, as JSON; `null`: unknown. */
  readonly settings: string | null
  /** The names of its presets; `null`: unknown. */
  readonly presets: readonly string[] | null
}

const NO_FACTS: NodeFacts = { settings: null, presets: null }

type MemberOptions = LeaseKeeperOptions & {
  /** Notifies all parts that depend on ownership. */
  readonly notify: () => EndOfWork
  /** Called when a lease can be handed over: a step is due. */
  readonly onReady: () => void
  /** Called after a heartbeat that succeeded. */
  readonly onBeat: () => void
}

/**
 * This node as a member of the cluster; only this file changes it.
 *
 *     outside ──(step: added)──→ member ──(step: found dead)──→ outside, under another id
 *     member ──(leave)──→ leaving: takes nothing, hands over all ──(end)──→ ended
 */
type Self = {
  id: string
  address: string
  facts: NodeFacts
  leases: Leases
  /** The database has this node. */
  isAdded: boolean
  isLeaving: boolean
  /** The database does not answer, and that was logged. */
  isAway: boolean
  /** A statement had no answer: the database may have failed over. */
  isInDoubt: boolean
  /** The leases as last read; `undefined`: the next heartbeat reads them. */
  leaseView: LeaseView | undefined
  /** When the leases were last read. */
  leasesReadUs: number
  /** The history of the database that the leases were read from; `null`: unknown. */
  history: string | null
}

const NOTHING_KNOWN = { isAway: false, isInDoubt: true, history: null, leaseView: undefined, leasesReadUs: 0 }

/** Nodes of an earlier version do not count their changes of leases: a full read finds them, this late at most. */
const READ_LEASES_EVERY_US = 10 * SECOND

const NO_LEASES: LeaseView = { version: 0, own: [], free: [], counts: [], owners: [] }

type Context = MemberOptions & { readonly self: Self; readonly handOvers: ReturnType<typeof newHandOvers> }

/** Creates this node as a member, outside at first. Only it sends statements that change nodes and leases. */
export function createMember(options: MemberOptions) {
  const id = crypto.randomUUID()
  const leases = leasesOf(options, id)
  const self: Self = { id, leases, address: '', facts: NO_FACTS, isAdded: false, isLeaving: false, ...NOTHING_KNOWN }
  const handOvers = newHandOvers({ cluster: options.cluster, onReady: options.onReady })
  const context: Context = { ...options, self, handOvers }
  return {
    id: () => self.id,
    leases: () => self.leases,
    setAddress(address: string, facts: NodeFacts = NO_FACTS): void {
      self.address = address
      self.facts = facts
    },

    /** Sends a heartbeat and carries out its plan. Returns the microseconds until there is more to do, if known. */
    async step(): Promise<number | undefined> {
      try {
        const plan = await beat(context)
        if (plan !== undefined) return await carryOut(context, plan)
        beginAgain(context)
        return 0
      } catch (error) {
        self.isInDoubt = true
        self.leaseView = undefined
        if (!self.isAway) options.log.error({ err: error }, 'the database does not answer: will retry')
        self.isAway = true
        return undefined
      }
    },

    /** Notes that the database moved to another server, where other nodes may own the leases of this one. */
    databaseReplaced(): void {
      self.isInDoubt = true
      self.leaseView = undefined
      self.leases.databaseReplaced(options.elapsedUs())
      options.notify()
    },

    /** Makes the next heartbeat read the leases, even if no change was counted. */
    forgetLeases(): void {
      self.leaseView = undefined
    },

    /** Stops taking leases, and begins to hand over all. */
    leave(): void {
      self.isLeaving = true
      self.leases.leave()
      const ended = options.notify()
      for (const lease of self.leases.giving()) handOvers.begin(lease, null, ended)
    },

    /** Leaves the cluster. */
    async end(): Promise<void> {
      if (!self.isAdded) return
      self.isAdded = false
      try {
        await options.cluster.nodeEnd(self.id)
      } catch (error) {
        options.log.warn({ err: error }, 'cannot leave the cluster: other nodes take over in 4 s')
      }
    },
  }
}

function leasesOf({ canWatch, homes, needs, random = Math.random }: MemberOptions, nodeId: string): Leases {
  const canOwn = (name: string) => leaseKindOf(name) !== 'pbx' || canWatch(name.slice('pbx:'.length))
  return newLeases({ nodeId, canOwn, homes, needs, newTerm: () => crypto.randomUUID(), random })
}

/** Begins again under another id, since this node was declared dead. */
function beginAgain(context: Context): void {
  const { self, handOvers, notify, log } = context
  log.warn({ node: self.id }, 'other nodes did not hear from this node for 4 s and took over: it joins again')
  self.leases.declaredDead()
  handOvers.forget()
  self.id = crypto.randomUUID()
  self.leases = leasesOf(context, self.id)
  if (self.isLeaving) self.leases.leave()
  self.isAdded = false
  self.leaseView = undefined
  notify()
}

/**
 * Finds out whether the database failed over after a statement without an answer. A database with the same history has
 * every commit, so that all knowledge of other nodes is still true.
 */
async function resolveDoubt({ self, cluster }: Context): Promise<void> {
  if (!self.isInDoubt) return
  const history = await cluster.historyGet()
  if (history === null || history !== self.history) self.leases.statementFailed()
  self.history = history
  self.isInDoubt = false
}

/** Sends a heartbeat. Returns the plan that follows, or `undefined` if this node was declared dead. */
async function beat(context: Context): Promise<LeasePlan | undefined> {
  const { self, cluster, version, pbxs, elapsedUs, notify, log } = context
  const { id, leases } = self
  await resolveDoubt(context)
  if (!self.isAdded) await cluster.nodeAdd({ id, address: self.address, version, pbxs, ...self.facts })
  self.isAdded = true
  const sentUs = elapsedUs()
  if (sentUs - self.leasesReadUs >= READ_LEASES_EVERY_US) self.leaseView = undefined
  const seenVersion = self.leaseView?.version
  const answer = await cluster.nodeBeat(id, {
    isLeaving: self.isLeaving,
    seenVersion,
    addsLeases: seenVersion === undefined || leases.holds(MAINTENANCE_LEASE),
    ownersOf: [...new Set(context.homes?.().values())],
    clockAheadUs: context.clockAheadUs?.() ?? null,
  })
  if (answer === undefined) return undefined
  const at = { sentUs, nowUs: elapsedUs() }
  if (answer.leases !== undefined) {
    self.leaseView = answer.leases
    self.leasesReadUs = sentUs
  }
  const { databaseUs, nodes } = answer
  const view = { databaseUs, nodes, ...(self.leaseView ?? NO_LEASES) }
  // Trust may have ended while the answer was on its way, before the timer fired. Every part that acts on a lease must
  // notice the loss and begin again, since another node may have acted on it meanwhile.
  const wasTrusted = leases.isTrusted(at.nowUs)
  if (!wasTrusted) notify()
  context.onView?.(view, at)
  const plan = leases.heartbeatReceived(view, at)
  context.onBeat()
  if (self.isAway) log.info('the database answers again')
  self.isAway = false
  if (plan.gained.length > 0 || plan.lost.length > 0 || !wasTrusted) notify()
  logLeases(log, plan.gained, 'this node owns these leases now')
  logLeases(log, plan.lost, 'this node lost these leases')
  return plan
}

/** Returns the microseconds until there is more to do, if known. */
async function carryOut(context: Context, plan: LeasePlan): Promise<number | undefined> {
  const { self, cluster, handOvers, notify, log } = context
  const { id, leases } = self
  await handOvers.give(plan, leases)
  let isAnyFreed = false
  for (const silent of plan.silent) {
    if (!(await cluster.nodeEndIfSilent(silent))) continue
    log.warn({ node: silent.id }, 'a node was silent for 4 s: its accounts and PBXs are taken over')
    isAnyFreed = true
  }
  if (plan.claims.length > 0) {
    const gained = leases.claimed(plan.claims, await cluster.leaseClaim({ node: id, claims: plan.claims }))
    if (gained.length > 0) notify()
    logLeases(log, gained, 'this node owns these leases now')
  }
  if (plan.handOvers.length > 0 && !self.isLeaving) handOver(context, plan.handOvers)
  return isAnyFreed ? 0 : plan.moreInUs
}

function handOver({ self, handOvers, notify, log }: Context, wanted: LeasePlan['handOvers']): void {
  const begun = wanted.flatMap(({ name, to }) => {
    const term = self.leases.termOf(name)
    return term !== undefined && self.leases.give(name) ? [{ name, term, to }] : []
  })
  if (begun.length === 0) return
  logLeases(log, names(begun), 'handing over these leases to nodes with fewer')
  const ended = notify()
  for (const { to, ...lease } of begun) handOvers.begin(lease, to, ended)
}

const names = (leases: readonly { readonly name: string }[]) => leases.map(({ name }) => name)

function logLeases(log: Log, leases: readonly string[], message: string): void {
  if (leases.length > 0) log.info({ leases: leases.slice(0, 20), count: leases.length }, message)
}

/** The longest wait for the work under a lease to end before it is handed over. */
const WORK_ENDS_WITHIN_MS = 3_000

type HandOversOptions = {
  readonly cluster: Pick<ClusterStore, 'leaseGive'>
  /** Called when there is a lease whose work has ended. */
  readonly onReady: () => void
}

/** Creates the list of leases that this node is handing over, each as soon as its work has ended. */
function newHandOvers({ cluster, onReady }: HandOversOptions) {
  /** Hand-overs by term. `to`: the next owner; `null` if it is chosen at the hand-over. */
  const handing = new Map<string, { readonly to: string | null; isReady: boolean }>()
  return {
    /** Hands a lease over when the work for it has ended, or its time is over. */
    begin({ name, term }: Lease, to: string | null, ended: EndOfWork): void {
      const one = { to, isReady: false }
      handing.set(term, one)
      void Promise.race([ended(name), Bun.sleep(WORK_ENDS_WITHIN_MS)]).then(() => {
        one.isReady = true
        onReady()
      })
    },
    /**
     * Hands over the leases whose work has ended or that have no entry here, each to its next owner or heir.
     * @throws Fault `unavailable`.
     */
    async give({ giving, heirs }: Pick<LeasePlan, 'giving' | 'heirs'>, leases: Leases): Promise<void> {
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
      leases.handedOver(ready)
      for (const { term } of ready) handing.delete(term)
    },
    forget: () => handing.clear(),
  }
}
