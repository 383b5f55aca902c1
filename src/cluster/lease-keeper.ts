import { MILLISECOND } from '../lib/time.ts'
import { LeaseLost } from '../store/operations/cluster.ts'
import { createMember, type LeaseKeeperOptions, type NodeFacts } from './member.ts'
import {
  accountLease,
  leaseKindOf,
  MAINTENANCE_LEASE,
  newOwnershipListeners,
  type Ownership,
  pbxLease,
} from './ownership.ts'
import { newTrustWatch } from './trust-watch.ts'

/**
 * Keeps one node a member of its cluster: it sends heartbeats, takes its share of the leases, and hands leases over.
 *
 *     timer, hint of another node, work that has ended
 *        ↓ wake
 *     steps, one after the other ──→ member: a heartbeat, then what its plan asks for ──→ nodes and leases in the store
 *                                       │ leases change hands, trust begins
 *     trust watch: trust ends ──────────┴──→ listeners: PBXs and deliveries begin and end their work
 *
 * The member is the only owner of the state: which node this is, and its leases.
 */
export type LeaseKeeper = Ownership & {
  /**
   * Joins the cluster as a node with this address, and with facts for other nodes and commands. Resolves after its
   * first heartbeat, or when it is stopped. From then on other nodes may give it leases; some seconds later it takes
   * its share.
   */
  join(address: string, facts?: NodeFacts): Promise<void>
  /** Returns the id of this node. It changes after the node was declared dead. */
  nodeId(): string
  /** Returns the number of leases of each kind, for the metrics. */
  counts(): { readonly accounts: number; readonly pbxs: number }
  /**
   * Notes that the database moved to another server. Trust ends at once, since other nodes may have taken over the
   * leases there; all parts that depend on ownership read everything again.
   */
  databaseReplaced(): void
  /**
   * Stops taking leases and hands over all that it has, each as soon as its work has ended. Resolves when none is left,
   * or after 4 s.
   */
  leave(): Promise<void>
  /** Leaves the cluster, which frees the remaining leases. Further calls do nothing. */
  stop(): Promise<void>
}

/** The longest pause between two heartbeats, ±20 % so that nodes do not stay in step. */
const STEP_MS = 500
const JITTER = 0.2
/** The shortest pause between two heartbeats, however often the loop is woken. */
const LEAST_STEP_MS = 5
/** The longest time to leave; each kind of work has its own limit within it. */
const LEAVE_WITHIN_MS = 4_000
const CHECK_EVERY_MS = 5

/** Creates a node that has not joined yet. It owns nothing until it has joined and sent heartbeats for some seconds. */
export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { log, elapsedUs } = options
  const listeners = newOwnershipListeners(log)
  const loop = newLoop(() => member.step(), options.random ?? Math.random)
  const member = createMember({
    cluster: options.cluster,
    version: options.version,
    pbxs: options.pbxs,
    canWatch: options.canWatch,
    homes: options.homes,
    needs: options.needs,
    clockAheadUs: options.clockAheadUs,
    log,
    elapsedUs,
    random: options.random,
    onView: options.onView,
    notify: listeners.notify,
    onReady: loop.wake,
    onBeat() {
      trust.restart()
      joined.resolve()
    },
  })
  const hinted = () => {
    member.forgetLeases()
    loop.wake()
  }
  const trustedUntilUs = () => member.leases().trustedUntilUs()
  const trust = newTrustWatch({ trustedUntilUs, elapsedUs, log, onEnded: listeners.notify })
  const joined = Promise.withResolvers<void>()
  let unlisten: (() => Promise<void>) | undefined
  let isStopped = false

  const isTrusted = () => !isStopped && member.leases().isTrusted(elapsedUs())
  const mayAct = (name: string) => isTrusted() && member.leases().holds(name)
  return {
    isShared: true,
    join(address, facts) {
      if (loop.begin(() => member.setAddress(address, facts))) unlisten = options.cluster.listen(hinted)
      return joined.promise
    },
    ownsAccount: (accountId) => mayAct(accountLease(accountId)),
    pbxOwnership(name) {
      if (isStopped || !member.leases().holds(pbxLease(name))) return 'not owned'
      return trust.keepsPbxs() ? 'owned' : 'doubtful'
    },
    ownsMaintenance: () => mayAct(MAINTENANCE_LEASE),
    onChange: listeners.add,
    isTrusted,
    fenceOf(lease) {
      const term = member.leases().termOf(lease)
      if (term === undefined) throw new LeaseLost(lease)
      return { leaseNames: [lease], terms: [term] }
    },
    nodeId: member.id,
    counts() {
      const kinds = member.leases().names().map(leaseKindOf)
      const count = (kind: string) => kinds.filter((one) => one === kind).length
      return { accounts: count('account'), pbxs: count('pbx') }
    },
    databaseReplaced() {
      log.warn('the database is on another server now: all connections were replaced, and everything is read again')
      member.databaseReplaced()
      trust.restart()
      loop.wake()
    },
    async leave() {
      member.leave()
      loop.wake()
      const untilMs = performance.now() + LEAVE_WITHIN_MS
      while (isTrusted() && member.leases().giving().length > 0 && performance.now() < untilMs)
        await Bun.sleep(CHECK_EVERY_MS)
    },
    async stop() {
      isStopped = true
      joined.resolve()
      trust.stop()
      await loop.stop()
      await member.end()
      await unlisten?.()
    },
  }
}

/** Creates the loop that runs one step at a time, about twice a second, and at once when woken. */
function newLoop(step: () => Promise<number | undefined>, random: () => number) {
  let running: Promise<void> | undefined
  let isStopped = false
  let woken = Promise.withResolvers<void>()

  async function run(): Promise<void> {
    while (!isStopped) {
      woken = Promise.withResolvers<void>()
      const soonerUs = (await step()) ?? Number.POSITIVE_INFINITY
      const usualMs = STEP_MS * (1 - JITTER + 2 * JITTER * random())
      // A timer may fire a little early.
      const waitMs = Math.max(LEAST_STEP_MS, Math.min(usualMs, soonerUs / MILLISECOND + 1))
      await Promise.race([Bun.sleep(waitMs), woken.promise.then(() => Bun.sleep(LEAST_STEP_MS))])
    }
  }
  return {
    /** Begins the loop. Returns false if it has begun before. */
    begin(before: () => void): boolean {
      if (running !== undefined || isStopped) return false
      before()
      running = run()
      return true
    },
    wake: () => woken.resolve(),
    async stop(): Promise<void> {
      isStopped = true
      woken.resolve()
      await running
    },
  }
}
