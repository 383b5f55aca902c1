import type { Log } from '../lib/log.ts'
import type { NowUs } from '../lib/time.ts'
import type { ClusterStore, ClusterView } from '../store/cluster-store.ts'
import { newHandOvers } from './hand-overs.ts'
import { type Leases, newLeases, type Plan } from './leases.ts'
import { kindOf, pbxLease } from './ownership.ts'
import type { EndOfWork } from './ownership-listeners.ts'

export type MemberOptions = {
  readonly cluster: ClusterStore
  readonly version: string
  readonly pbxs: readonly string[]
  readonly log: Log
  readonly elapsedUs: NowUs
  readonly random?: () => number
  readonly onView?: (view: ClusterView, at: { readonly sentUs: number; readonly nowUs: number }) => void
  /** Notifies those who depend on what this node owns. */
  readonly notify: () => EndOfWork
  /** Called when a lease can be handed over: a step is due. */
  readonly onReady: () => void
  /** Called after a heartbeat that succeeded. */
  readonly onBeat: () => void
}

/**
 * This node as a member of the cluster: which node it is, and its leases. The only code that sends statements about
 * nodes and leases.
 *
 *     outside ──(step: added)──→ member ──(step: found dead)──→ outside, under another id
 *     member ──(leave)──→ leaving: takes nothing, hands over all ──(end)──→ ended
 */
export function createMember(options: MemberOptions) {
  const { cluster, log, elapsedUs, notify, version, pbxs, random = Math.random } = options
  const handOvers = newHandOvers({ cluster, onReady: options.onReady })
  const wanted = new Set(pbxs.map(pbxLease))
  let nodeId = crypto.randomUUID()
  let leases = freshLeases()
  let address = ''
  let isAdded = false
  let isLeaving = false
  /** The database does not answer, which was logged. */
  let isAway = false

  function freshLeases(): Leases {
    const canOwn = (name: string) => kindOf(name) !== 'pbx' || wanted.has(name)
    return newLeases({ nodeId, canOwn, newTerm: () => crypto.randomUUID(), random })
  }

  function died(): void {
    log.warn({ node: nodeId }, 'this node was not heard of for 4 s, and others took over what it had: it joins again')
    leases.died()
    handOvers.forget()
    nodeId = crypto.randomUUID()
    leases = freshLeases()
    if (isLeaving) leases.leave()
    isAdded = false
    notify()
  }

  async function beat(): Promise<Plan | undefined> {
    if (!isAdded) await cluster.nodeAdd({ id: nodeId, address, version, pbxs })
    isAdded = true
    const sentUs = elapsedUs()
    const wasTrusted = leases.isTrusted(sentUs)
    const view = await cluster.nodeBeat(nodeId, { isLeaving })
    if (view === undefined) return undefined
    const at = { sentUs, nowUs: elapsedUs() }
    options.onView?.(view, at)
    const plan = leases.beaten(view, at)
    options.onBeat()
    if (isAway) log.info('the database answers again')
    isAway = false
    if (plan.gained.length > 0 || plan.lost.length > 0 || !wasTrusted) notify()
    logLeases(log, plan.gained, 'this node owns these now')
    logLeases(log, plan.lost, 'this node owns these no more')
    return plan
  }

  /** Returns in how long there is more to do. */
  async function carryOut(plan: Plan): Promise<number | undefined> {
    await handOvers.give(plan.giving, leases)
    let isAnyFreed = false
    for (const silent of plan.silent) {
      if (!(await cluster.nodeEndIfSilent(silent))) continue
      log.warn({ node: silent.id }, 'a node was not heard of for 4 s: what it owned is taken over')
      isAnyFreed = true
    }
    if (plan.claims.length > 0) {
      const gained = leases.claimed(plan.claims, await cluster.leaseClaim({ node: nodeId, claims: plan.claims }))
      if (gained.length > 0) notify()
      logLeases(log, gained, 'this node owns these now')
    }
    const { handOver } = plan
    if (handOver !== undefined && !isLeaving) handOne(handOver)
    return isAnyFreed ? 0 : plan.moreInUs
  }

  function handOne({ name, to }: { readonly name: string; readonly to: string }): void {
    const term = leases.termOf(name)
    if (term === undefined || !leases.give(name)) return
    log.info({ lease: name, to }, 'this is handed over to a node that has less')
    handOvers.begin({ name, term }, to, notify())
  }

  return {
    id: () => nodeId,
    leases: () => leases,
    setAddress(url: string): void {
      address = url
    },

    /** Sends a heartbeat, and does what follows from its answer. Returns in how many microseconds there is more to do. */
    async step(): Promise<number | undefined> {
      try {
        const plan = await beat()
        if (plan !== undefined) return await carryOut(plan)
        died()
        return 0
      } catch (error) {
        leases.statementFailed()
        if (!isAway) log.error({ err: error }, 'the database does not answer: it is tried again')
        isAway = true
        return undefined
      }
    },

    /** Takes nothing any more, and begins to hand over all. */
    leave(): void {
      isLeaving = true
      leases.leave()
      const ended = notify()
      for (const lease of leases.giving()) handOvers.begin(lease, null, ended)
    },

    /** Is a member no more. */
    async end(): Promise<void> {
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

function logLeases(log: Log, names: readonly string[], message: string): void {
  if (names.length > 0) log.info({ leases: names.slice(0, 20), count: names.length }, message)
}
