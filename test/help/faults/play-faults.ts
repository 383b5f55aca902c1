import type { RunningApp } from '../app.ts'
import type { Sql } from '../cluster-parts.ts'
import type { PostgresServer } from '../postgres.ts'
import type { Random } from '../random.ts'
import { until } from '../receiver.ts'
import type { startTcpProxy } from '../tcp-proxy.ts'
import type { Disturbance, Takeover } from './takeover-times.ts'

const KINDS = ['kill', 'freeze', 'stop', 'partition', 'terminate', 'fast restart', 'immediate restart'] as const
type Kind = (typeof KINDS)[number]
const OF_A_NODE: readonly Kind[] = ['kill', 'freeze', 'stop', 'partition']
/** Faults that come alone: they show whether takeovers keep the promised time. */
const ALONE: readonly Kind[] = ['kill', 'kill', 'freeze', 'stop']
/** A node judges others only after heartbeats without a failure for this long, with some margin. */
const CALM_MS = 6_000

/** A fault, drawn before the run begins, so that its length is known. */
export type PlannedFault = {
  readonly kind: Kind
  readonly isAlone: boolean
  /** How long it lasts, or how long after it the node is started again. */
  readonly lastsMs: number
  readonly pauseMs: number
  /** Which of the nodes that are up, from 0 to 1. */
  readonly victim: number
}

export type FaultPlan = {
  readonly faults: number
  /** Between two faults, at least and at most. */
  readonly pauseMs: readonly [number, number]
  /** One fault of every `aloneEach` comes when all is well, and the next one only after its effects are over. */
  readonly aloneEach: number
  readonly random: Random
}

export function planFaults({ faults, pauseMs, aloneEach, random }: FaultPlan): PlannedFault[] {
  const between = (least: number, most: number) => least + random.next() * (most - least)
  return Array.from({ length: faults }, (_, at) => {
    const isAlone = at % aloneEach === aloneEach - 1
    const kind = random.pick(isAlone ? ALONE : KINDS)
    const [least, most] = isAlone && kind === 'freeze' ? ([8_000, 12_000] as const) : LASTS_MS[kind]
    const lastsMs = between(least, most)
    return { kind, isAlone, lastsMs, pauseMs: between(...pauseMs), victim: random.next() }
  })
}

const LASTS_MS: Readonly<Record<Kind, readonly [number, number]>> = {
  kill: [500, 8_000],
  freeze: [3_000, 15_000],
  stop: [100, 2_000],
  partition: [2_000, 12_000],
  terminate: [0, 0],
  'fast restart': [100, 2_000],
  'immediate restart': [100, 2_000],
}

/** Returns about how long faults take to play. */
export function lengthMs(plan: readonly PlannedFault[]): number {
  const ofFault = ({ kind, isAlone, lastsMs, pauseMs }: PlannedFault) =>
    pauseMs + 1_000 + (isAlone ? 18_000 : OF_A_NODE.includes(kind) ? 0 : lastsMs)
  return plan.reduce((sum, fault) => sum + ofFault(fault), 0)
}

export type FaultyNode = {
  app: RunningApp
  readonly proxy: ReturnType<typeof startTcpProxy>
  /** Nothing is done to it at present. */
  isUp: boolean
  /** The output of this node's earlier processes. */
  readonly printed: string[]
}

export type Measured = {
  readonly takeovers: readonly Takeover[]
  readonly handOvers: readonly Takeover[]
  /** How many nodes came back before others could take over. */
  readonly returned: number
  readonly disturbances: readonly Disturbance[]
  /** The times in which an abrupt fault may have caused repeated requests. */
  readonly abrupt: readonly Disturbance[]
  readonly wrong: readonly string[]
}

type Playing = {
  readonly plan: readonly PlannedFault[]
  readonly nodes: readonly FaultyNode[]
  readonly server: PostgresServer
  readonly sql: Sql
  readonly startNode: (proxyPort: number) => Promise<RunningApp>
  readonly onFault: (fault: PlannedFault) => void
}

/** Plays faults one after the other. Resolves when all nodes are up again, and all that was to be measured is. */
export async function playFaults({ plan, nodes, server, sql, startNode, onFault }: Playing): Promise<Measured> {
  const { disturb, disturbances, abrupt } = newDisturbances()
  const measures = newMeasures(sql)
  const wrong: string[] = []
  const repairs: Promise<void>[] = []
  const later = (ms: number, action: () => Promise<void> | void) => repairs.push(Bun.sleep(ms).then(action))

  /**
   * Starts a node again. If it ends because the database does not answer, it is started once more, as a service manager
   * does; any other end is a fault.
   */
  async function restart(node: FaultyNode): Promise<void> {
    node.printed.push(node.app.output())
    for (let start = 1; ; start += 1)
      try {
        node.app = await startNode(node.proxy.port)
        break
      } catch (error) {
        if (start === MAX_STARTS || !String(error).includes('does not answer'))
          wrong.push(`a node did not start: ${error}`)
      }
    node.isUp = true
  }

  async function databaseFault(kind: Kind, lastsMs: number): Promise<void> {
    const over = disturb(undefined, kind)
    if (kind === 'terminate')
      await sql.ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hookswitch%'`)
    else {
      await server.halt(kind === 'fast restart' ? 'fast' : 'immediate')
      await Bun.sleep(lastsMs)
      await server.resume()
    }
    over()
  }

  /** Returns a node that owns something, if there is one: nothing is to be taken over from the others. */
  async function victimOf({ victim }: PlannedFault): Promise<{ node: FaultyNode; had: string[] } | undefined> {
    const up = nodes.filter(({ isUp }) => isUp)
    // One at least is left to take over.
    if (up.length < 2) return undefined
    const all = await Promise.all(up.map(async (node) => ({ node, had: await measures.leasesOf(node) })))
    const owners = all.filter(({ had }) => had.length > 0)
    const [among, at] = owners.length === 0 ? [all, 0] : [owners, Math.floor(victim * owners.length)]
    return among[at]
  }

  async function nodeFault({ kind, lastsMs }: PlannedFault, node: FaultyNode, had: readonly string[]): Promise<void> {
    node.isUp = false
    const index = nodes.indexOf(node)
    const over = disturb(index, kind)
    if (kind === 'kill') {
      process.kill(node.app.pid, 'SIGKILL')
      measures.begin(index, had, 'takeover')
      await node.app.stop('SIGKILL')
      later(lastsMs, () => restart(node).then(over))
    } else if (kind === 'stop') {
      measures.begin(index, had, 'hand-over')
      const code = await node.app.stop('SIGTERM')
      if (code !== 0) wrong.push(`a node that was stopped ended with ${code}: ${node.app.output().slice(-2_000)}`)
      later(lastsMs, () => restart(node).then(over))
    } else {
      const goOn = interrupt(kind, node)
      const returning = measures.begin(index, had, 'takeover')
      later(lastsMs, () => {
        goOn()
        returning()
        node.isUp = true
        over()
      })
    }
  }

  for (const fault of plan) {
    if (fault.isAlone) await untilCalm(nodes, disturbances, sql)
    for (const { app, isUp } of nodes)
      if (isUp && !isRunning(app)) throw new Error(`a node has ended by itself: ${app.output().slice(-4_000)}`)
    onFault(fault)
    const isOfNode = OF_A_NODE.includes(fault.kind)
    const victim = isOfNode ? await victimOf(fault) : undefined
    if (!isOfNode) await databaseFault(fault.kind, fault.lastsMs)
    else if (victim !== undefined) await nodeFault(fault, victim.node, victim.had)
    if (fault.isAlone) await measures.finished()
    await Bun.sleep(fault.pauseMs)
  }
  await Promise.all(repairs)
  await measures.finished()
  return { ...measures.taken(), disturbances, abrupt, wrong }
}

/**
 * Returns the times when a node had no answer from the database for so long that it stopped trusting its leases. On a
 * busy machine that happens without a fault of ours, and also after the last one.
 */
export function outagesOf(nodes: readonly FaultyNode[], sinceMs: number): Disturbance[] {
  return nodes.flatMap(({ app, printed }, node) => {
    const lines = [...printed, app.output()]
      .join('\n')
      .matchAll(/"time":"([^"]+)".*"msg":"(the database has|this node was) not/g)
    return [...lines]
      .map(([, time = '']) => ({ node, fromMs: Date.parse(time) - TRUSTED_MS, toMs: Date.parse(time) }))
      .filter(({ toMs }) => toMs >= sinceMs)
  })
}
const TRUSTED_MS = 4_000
const MAX_STARTS = 3

function isRunning({ pid }: RunningApp): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Begins a fault that does not end the process. Returns the function that ends it. */
function interrupt(kind: Kind, { app, proxy }: FaultyNode): () => void {
  if (kind === 'partition') {
    proxy.stall()
    return () => proxy.resume()
  }
  process.kill(app.pid, 'SIGSTOP')
  return () => void process.kill(app.pid, 'SIGCONT')
}

function newDisturbances() {
  const disturbances: Disturbance[] = []
  const abrupt: Disturbance[] = []
  return {
    disturbances,
    abrupt,
    /** Notes that a disturbance begins. Returns the function that notes its end. */
    disturb(node: number | undefined, kind: Kind): () => void {
      const one: Disturbance = { node, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY }
      disturbances.push(one)
      if (kind !== 'stop') abrupt.push(one)
      return () => {
        one.toMs = Date.now()
      }
    },
  }
}

async function untilCalm(nodes: readonly FaultyNode[], disturbances: readonly Disturbance[], sql: Sql): Promise<void> {
  await until('all is well', async () => {
    await Bun.sleep(POLL_MS)
    const isOver = disturbances.every(({ toMs }) => toMs + CALM_MS < Date.now())
    return isOver && nodes.every(({ isUp }) => isUp) && (await sql.freeLeases()) === 0
  })
}

/** Measures the time until other nodes own all leases of a node, or it has come back with them. */
function newMeasures(sql: Sql) {
  const takeovers: Takeover[] = []
  const handOvers: Takeover[] = []
  const measuring: Promise<void>[] = []
  let returned = 0

  return {
    leasesOf: (node: FaultyNode) => sql.leasesOf(new URL(node.app.url).origin),
    /** Begins a measurement. Returns the function to call when the node itself may continue. */
    begin(node: number, had: readonly string[], as: 'takeover' | 'hand-over'): () => void {
      const fromMs = Date.now()
      let beatsBefore: Promise<number> | undefined
      const isBack = async () =>
        beatsBefore !== undefined && (await sql.beatsOf(had)) > (await beatsBefore) + BEATS_OF_ONE_THAT_IS_BACK
      const names = had.map((one) => one.split(' ')[0])
      const isTaken = async () => {
        const now = await sql.terms()
        return names.every((name) => now.some((one) => one.startsWith(`${name} `) && !had.includes(one)))
      }
      let hasReturned = false
      const isOver = async () => {
        await Bun.sleep(POLL_MS)
        if (await isTaken()) return true
        hasReturned = await isBack()
        return hasReturned
      }
      const done = until('others have taken over', isOver).then(() => {
        if (hasReturned) returned += 1
        else if (had.length > 0) (as === 'takeover' ? takeovers : handOvers).push({ node, fromMs, toMs: Date.now() })
      })
      measuring.push(done)
      // It is waited for at the end: an error until then is not an unhandled one.
      done.catch(() => undefined)
      return () => {
        beatsBefore = sql.beatsOf(had)
      }
    },
    finished: () => Promise.all(measuring),
    taken: () => ({ takeovers, handOvers, returned }),
  }
}

/** The database has other work than the questions of a test. */
const POLL_MS = 50
/** One heartbeat may have been in its socket when it was frozen. */
const BEATS_OF_ONE_THAT_IS_BACK = 2
