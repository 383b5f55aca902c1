import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs } from '../lib/time.ts'
import { type ClusterStore, type ClusterView, type Lease, LeaseLost } from '../store/operations/cluster.ts'
import { kindOf, type Leases, newLeases, type Plan } from './leases.ts'
import { accountLease, MAINTENANCE_LEASE, type Ownership, type OwnershipListener, pbxLease } from './ownership.ts'

/**
 * Keeps one node a member of its cluster: it sends heartbeats, takes its share of the leases, and hands leases over.
 */
export type LeaseKeeper = Ownership & {
  /** Joins the cluster as a node with this address: from then on it takes its share. */
  join(address: string): void
  /** Returns which node this is at present: it gets another id when it was found dead. */
  nodeId(): string
  /** How many leases it has of each kind, for the metrics. */
  counts(): { readonly accounts: number; readonly pbxs: number }
  /** Takes nothing any more, and lets go of the PBXs, which are watched no more, so that others take them at once. */
  letGoOfPbxs(): Promise<void>
  /** Leaves the cluster: all that it still has is free then. It may be called again. */
  stop(): Promise<void>
}

export type LeaseKeeperOptions = {
  readonly cluster: ClusterStore
  readonly version: string
  readonly pbxs: readonly string[]
  readonly log: Log
  /** A clock that never steps. */
  readonly elapsedUs: NowUs
  readonly random?: () => number
  /** Takes in each view: the database's clock, and when it was asked. */
  readonly onView?: (view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }) => void
}

/** Between two heartbeats, ±20 %, so that nodes do not stay in step. */
const STEP_MS = 500
const JITTER = 0.2
/**
 * A PBX connection is kept for this time after trust has ended: the database may come back, and its events are not
 * lost.
 */
const KEEP_PBXS_US = 10_000 * MILLISECOND - 3_000 * MILLISECOND
/** Work for a lease has to end within this time, to hand it over. */
const HAND_OVER_WITHIN_MS = 3_000

type Handing = Lease & { readonly to: string | null; isReady: boolean }

/**
 * Creates a node that has not joined yet. Nothing is owned before it has joined, and has had heartbeats for some
 * seconds.
 */
export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { cluster, log, elapsedUs, random = Math.random } = options
  const wanted = new Set(options.pbxs.map(pbxLease))
  const listeners = new Set<OwnershipListener>()
  const stopping = Promise.withResolvers<void>()
  const handing = new Map<string, Handing>()
  let nodeId = crypto.randomUUID()
  let leases = freshLeases()
  let isAdded = false
  let isStopped = false
  /** Nothing more is taken. */
  let isLeaving = false
  let running: Promise<void> | undefined
  let address = ''
  /** Since when the database does not answer, for the log. */
  let awaySinceUs: number | undefined
  let timers: Timer[] = []

  function freshLeases(): Leases {
    const canOwn = (name: string) => kindOf(name) !== 'pbx' || wanted.has(name)
    return newLeases({ nodeId, canOwn, newTerm: () => crypto.randomUUID(), random })
  }

  /** Resolves when all who listen have ended what they have to end. */
  async function changed(): Promise<void> {
    const ending = [...listeners].map((listener) => listener())
    const ended = await Promise.allSettled(ending)
    for (const one of ended) if (one.status === 'rejected') log.error({ err: one.reason }, 'a change of owner failed')
  }

  /** Trust ends by itself: the parts that depend on it are notified then. */
  function watchTrust(): void {
    for (const timer of timers) clearTimeout(timer)
    const leftUs = leases.trustedUntilUs() - elapsedUs()
    const after = (us: number, action: () => void) => setTimeout(action, Math.max(0, Math.ceil(us / MILLISECOND)))
    timers = [
      after(leftUs, () => {
        log.warn('the database has not answered for 3 s: deliveries are paused, and go on when it is back')
        void changed()
      }),
      after(leftUs + KEEP_PBXS_US, () => {
        log.warn('the database has not answered for 10 s: PBXs are disconnected, and connected again when it is back')
        void changed()
      }),
    ]
  }

  const mayWatch = () => elapsedUs() < leases.trustedUntilUs() + KEEP_PBXS_US

  function died(): void {
    log.warn({ node: nodeId }, 'this node was not heard of for 4 s, and others took over what it had: it joins again')
    leases.died()
    handing.clear()
    nodeId = crypto.randomUUID()
    leases = freshLeases()
    isAdded = false
    void changed()
  }

  async function beat(): Promise<void> {
    if (!isAdded) {
      const { version, pbxs } = options
      await cluster.nodeAdd({ id: nodeId, address, version, pbxs })
      isAdded = true
    }
    const sentUs = elapsedUs()
    const wasTrusted = leases.isTrusted(sentUs)
    const view = await cluster.nodeBeat(nodeId)
    if (view === undefined) {
      died()
      return
    }
    const at = { sentUs, nowUs: elapsedUs() }
    options.onView?.(view, at)
    const plan = leases.beaten(view, at)
    watchTrust()
    if (awaySinceUs !== undefined) log.info('the database answers again')
    awaySinceUs = undefined
    if (plan.gained.length > 0 || plan.lost.length > 0 || !wasTrusted) void changed()
    logLeases(plan.gained, 'this node owns these now')
    logLeases(plan.lost, 'this node owns these no more')
    await carryOut(plan)
  }

  function logLeases(names: readonly string[], message: string): void {
    if (names.length > 0) log.info({ leases: names.slice(0, 20), count: names.length }, message)
  }

  async function carryOut(plan: Plan): Promise<void> {
    for (const silent of plan.silent)
      if (await cluster.nodeEndIfSilent(silent))
        log.warn({ node: silent.id }, 'a node was not heard of for 4 s: what it owned is taken over')
    if (plan.claims.length > 0 && !isLeaving) {
      const names = await cluster.leaseClaim({ node: nodeId, claims: plan.claims })
      const gained = leases.claimed(plan.claims, names)
      if (gained.length > 0) void changed()
      logLeases(gained, 'this node owns these now')
    }
    for (const lease of plan.giving) await giveIfReady(lease)
    if (plan.handOver !== undefined && !isLeaving) beginHandOver(plan.handOver)
  }

  function beginHandOver({ name, to }: { name: string; to: string }): void {
    const lease = leases.give(name)
    if (lease === undefined) return
    const one: Handing = { ...lease, to, isReady: false }
    handing.set(name, one)
    log.info({ lease: name, to }, 'this is handed over to a node that has less')
    void Promise.race([changed(), Bun.sleep(HAND_OVER_WITHIN_MS)]).then(() => {
      one.isReady = true
    })
  }

  async function giveIfReady(lease: Lease): Promise<void> {
    const one = handing.get(lease.name)
    if (one !== undefined && !one.isReady) return
    await cluster.leaseGive({ ...lease, to: one?.to ?? null, newTerm: crypto.randomUUID() })
    leases.gave(lease)
    handing.delete(lease.name)
  }

  async function step(): Promise<void> {
    try {
      await beat()
    } catch (error) {
      leases.statementFailed()
      if (awaySinceUs === undefined) log.error({ err: error }, 'the database does not answer: it is tried again')
      awaySinceUs ??= elapsedUs()
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      await step()
      const waitMs = STEP_MS * (1 - JITTER + 2 * JITTER * random())
      await Promise.race([Bun.sleep(waitMs), stopping.promise])
    }
  }

  const acts = (name: string) => !isStopped && leases.holds(name) && leases.isTrusted(elapsedUs())
  return {
    isShared: true,
    join(at) {
      address = at
      running ??= run()
    },
    ownsAccount: (accountId) => acts(accountLease(accountId)),
    pbxOwnership(name) {
      if (isStopped || !leases.holds(pbxLease(name))) return 'not owned'
      return mayWatch() ? 'owned' : 'doubtful'
    },
    ownsMaintenance: () => acts(MAINTENANCE_LEASE),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isTrusted: () => !isStopped && leases.isTrusted(elapsedUs()),
    fenceOf(lease) {
      const term = leases.termOf(lease)
      if (term === undefined) throw new LeaseLost(lease)
      return { leaseNames: [lease], terms: [term] }
    },
    nodeId: () => nodeId,
    counts() {
      const kinds = leases.names().map(kindOf)
      const count = (kind: string) => kinds.filter((one) => one === kind).length
      return { accounts: count('account'), pbxs: count('pbx') }
    },
    async letGoOfPbxs() {
      isLeaving = true
      const names = leases.names().filter((name) => kindOf(name) === 'pbx')
      const given = names.map((name) => leases.give(name)).filter((lease) => lease !== undefined)
      await Promise.all(
        given.map((lease) => cluster.leaseGive({ ...lease, to: null, newTerm: crypto.randomUUID() })),
      ).catch((error) => log.warn({ err: error }, 'PBXs could not be let go of: others take them in 4 s'))
    },
    async stop() {
      isStopped = true
      stopping.resolve()
      for (const timer of timers) clearTimeout(timer)
      await running
      if (!isAdded) return
      isAdded = false
      try {
        await cluster.nodeEnd(nodeId)
      } catch (error) {
        log.warn({ err: error }, 'the cluster could not be left: others take over what this node had in 4 s')
      }
    },
  }
}
