import type { Log } from '../lib/log.ts'
import type { NowUs } from '../lib/time.ts'
import { SECOND } from '../lib/time.ts'
import type { ClusterStore, ClusterView, Lease, LeaseView } from '../store/operations/cluster.ts'

import { type Leases, newLeases, type Plan } from './leases.ts'
import { type EndOfWork, kindOf, MAINTENANCE_LEASE } from './ownership.ts'

type MemberOptions = LeaseKeeperOptions & {
  /** Notifies those who depend on what this node owns. */
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
  leases: Leases
  /** The database has this node. */
  isAdded: boolean
  isLeaving: boolean
  /** The database does not answer, which was logged. */
  isAway: boolean
  /** A statement had no answer: the database may be another now. */
  isInDoubt: boolean
  /** The leases as they were read last; `undefined`: they are to be read with the next heartbeat. */
  leaseView: LeaseView | undefined
  /** When they were read. */
  leasesReadUs: number
  /** Which history of the database the leases are of; `null`: it is not known. */
  history: string | null
}

const NOTHING_KNOWN = { isAway: false, isInDoubt: true, history: null, leaseView: undefined, leasesReadUs: 0 }

/** Changes that were not counted, by nodes of an earlier version, are seen that late at most. */
const READ_LEASES_EVERY_US = 10 * SECOND

const NO_LEASES: LeaseView = { version: 0, own: [], free: [], counts: [], owners: [] }

type Context = MemberOptions & { readonly self: Self; readonly handOvers: ReturnType<typeof newHandOvers> }

/** Makes the member that this node is, outside at first. Only it sends statements that change nodes and leases. */
export function createMember(options: MemberOptions) {
  const id = crypto.randomUUID()
  const leases = leasesOf(options, id)
  const self: Self = { id, leases, address: '', isAdded: false, isLeaving: false, ...NOTHING_KNOWN }
  const handOvers = newHandOvers({ cluster: options.cluster, onReady: options.onReady })
  const context: Context = { ...options, self, handOvers }
  return {
    id: () => self.id,
    leases: () => self.leases,
    setAddress(address: string): void {
      self.address = address
    },

    /** Sends a heartbeat, and does what follows from it. Returns in how many microseconds there is more to do. */
    async step(): Promise<number | undefined> {
      try {
        const plan = await beat(context)
        if (plan !== undefined) return await carryOut(context, plan)
        beginAgain(context)
        return 0
      } catch (error) {
        self.isInDoubt = true
        self.leaseView = undefined
        if (!self.isAway) options.log.error({ err: error }, 'the database does not answer: it is tried again')
        self.isAway = true
        return undefined
      }
    },

    /** Notes that the database is on another server, where others may have what this node had. */
    databaseReplaced(): void {
      self.isInDoubt = true
      self.leaseView = undefined
      self.leases.databaseReplaced(options.elapsedUs())
      options.notify()
    },

    /** Reads the leases with the next heartbeat, whether or not a change of them was counted. */
    forgetLeases(): void {
      self.leaseView = undefined
    },

    /** Takes nothing any more, and begins to hand over all. */
    leave(): void {
      self.isLeaving = true
      self.leases.leave()
      const ended = options.notify()
      for (const lease of self.leases.giving()) handOvers.begin(lease, null, ended)
    },

    /** Is a member no more. */
    async end(): Promise<void> {
      if (!self.isAdded) return
      self.isAdded = false
      try {
        await options.cluster.nodeEnd(self.id)
      } catch (error) {
        const message = 'the cluster could not be left: others take over what this node had in 4 s'
        options.log.warn({ err: error }, message)
      }
    },
  }
}

function leasesOf({ canWatch, homes, random = Math.random }: MemberOptions, nodeId: string): Leases {
  const canOwn = (name: string) => kindOf(name) !== 'pbx' || canWatch(name.slice('pbx:'.length))
  return newLeases({ nodeId, canOwn, homes, newTerm: () => crypto.randomUUID(), random })
}

/** Was found dead: a dead node never comes back, but as another. */
function beginAgain(context: Context): void {
  const { self, handOvers, notify, log } = context
  const message = 'this node was not heard of for 4 s, and others took over what it had: it joins again'
  log.warn({ node: self.id }, message)
  self.leases.died()
  handOvers.forget()
  self.id = crypto.randomUUID()
  self.leases = leasesOf(context, self.id)
  if (self.isLeaving) self.leases.leave()
  self.isAdded = false
  self.leaseView = undefined
  notify()
}

/**
 * Resolves the doubt that a statement without an answer left. A database with the same history has all that was
 * committed, so that what is known of other nodes is still true.
 */
async function resolveDoubt({ self, cluster }: Context): Promise<void> {
  if (!self.isInDoubt) return
  const history = await cluster.historyGet()
  if (history === null || history !== self.history) self.leases.statementFailed()
  self.history = history
  self.isInDoubt = false
}

/** Returns what follows from the answer, or `undefined` if this node was found dead. */
async function beat(context: Context): Promise<Plan | undefined> {
  const { self, cluster, version, pbxs, elapsedUs, notify, log } = context
  const { id, leases } = self
  await resolveDoubt(context)
  if (!self.isAdded) await cluster.nodeAdd({ id, address: self.address, version, pbxs })
  self.isAdded = true
  const sentUs = elapsedUs()
  if (sentUs - self.leasesReadUs >= READ_LEASES_EVERY_US) self.leaseView = undefined
  const seenVersion = self.leaseView?.version
  const beat = await cluster.nodeBeat(id, {
    isLeaving: self.isLeaving,
    seenVersion,
    addsLeases: seenVersion === undefined || leases.holds(MAINTENANCE_LEASE),
    ownersOf: [...new Set(context.homes?.().values())],
    clockAheadUs: context.clockAheadUs?.() ?? null,
  })
  if (beat === undefined) return undefined
  const at = { sentUs, nowUs: elapsedUs() }
  if (beat.leases !== undefined) {
    self.leaseView = beat.leases
    self.leasesReadUs = sentUs
  }
  const { databaseUs, nodes } = beat
  const view = { databaseUs, nodes, ...(self.leaseView ?? NO_LEASES) }
  // Trust may have ended while the answer was on its way, before a timer noticed. All that acts on a lease has to
  // notice that it was lost, since another node may have acted on it meanwhile, and then begins again.
  const wasTrusted = leases.isTrusted(at.nowUs)
  if (!wasTrusted) notify()
  context.onView?.(view, at)
  const plan = leases.beaten(view, at)
  context.onBeat()
  if (self.isAway) log.info('the database answers again')
  self.isAway = false
  if (plan.gained.length > 0 || plan.lost.length > 0 || !wasTrusted) notify()
  logLeases(log, plan.gained, 'this node owns these now')
  logLeases(log, plan.lost, 'this node owns these no more')
  return plan
}

/** Returns in how many microseconds there is more to do. */
async function carryOut(context: Context, plan: Plan): Promise<number | undefined> {
  const { self, cluster, handOvers, notify, log } = context
  const { id, leases } = self
  await handOvers.give(plan, leases)
  let isAnyFreed = false
  for (const silent of plan.silent) {
    if (!(await cluster.nodeEndIfSilent(silent))) continue
    log.warn({ node: silent.id }, 'a node was not heard of for 4 s: what it owned is taken over')
    isAnyFreed = true
  }
  if (plan.claims.length > 0) {
    const gained = leases.claimed(plan.claims, await cluster.leaseClaim({ node: id, claims: plan.claims }))
    if (gained.length > 0) notify()
    logLeases(log, gained, 'this node owns these now')
  }
  if (plan.handOvers.length > 0 && !self.isLeaving) handOver(context, plan.handOvers)
  return isAnyFreed ? 0 : plan.moreInUs
}

function handOver({ self, handOvers, notify, log }: Context, wanted: Plan['handOvers']): void {
  const begun = wanted.flatMap(({ name, to }) => {
    const term = self.leases.termOf(name)
    return term !== undefined && self.leases.give(name) ? [{ name, term, to }] : []
  })
  if (begun.length === 0) return
  logLeases(log, names(begun), 'these are handed over to nodes that have less')
  const ended = notify()
  for (const { to, ...lease } of begun) handOvers.begin(lease, to, ended)
}

const names = (leases: readonly { readonly name: string }[]) => leases.map(({ name }) => name)

function logLeases(log: Log, leases: readonly string[], message: string): void {
  if (leases.length > 0) log.info({ leases: leases.slice(0, 20), count: leases.length }, message)
}

export type LeaseKeeperOptions = {
  readonly cluster: ClusterStore
  readonly version: string
  /** The PBXs of the settings. */
  readonly pbxs: readonly string[]
  /** Returns whether this node knows a PBX, and so can watch it. */
  readonly canWatch: (pbx: string) => boolean
  /** Returns the leases of accounts by those of the PBXs whose calls belong to them: one node should have both. */
  readonly homes?: () => ReadonlyMap<string, string>
  /** Returns how far the wall clock of this node is ahead of the database's. */
  readonly clockAheadUs?: () => number | null
  readonly log: Log
  /** A clock that never steps. */
  readonly elapsedUs: NowUs
  readonly random?: () => number
  /** Takes in each view: the database's clock, and when it was asked. */
  readonly onView?: (view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }) => void
}

/** Work for a lease has to end within this time, to hand it over. */
const WITHIN_MS = 3_000

type HandOversOptions = {
  readonly cluster: Pick<ClusterStore, 'leaseGive'>
  /** Called when there is a lease whose work has ended. */
  readonly onReady: () => void
}

/** Makes the list of the leases that this node is handing over. Each goes when the work for it has ended. */
function newHandOvers({ cluster, onReady }: HandOversOptions) {
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
