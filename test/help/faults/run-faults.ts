import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, run, startServe } from '../app.ts'
import { addUser, callsOf, lastingSql, putList, putOptions, type Sql } from '../cluster-parts.ts'
import { reservePort } from '../ports.ts'
import { migratedDatabase, startPostgres } from '../postgres.ts'
import { until } from '../receiver.ts'
import { startTcpProxy } from '../tcp-proxy.ts'
import { countRepeats, wrongDeliveries } from './delivery-order.ts'
import {
  type FaultPlan,
  type FaultyNode,
  lengthMs,
  type Measured,
  outagesOf,
  type PlannedFault,
  planFaults,
  playFaults,
} from './play-faults.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import { dueMs, isAlone, type Takeover } from './takeover-times.ts'

/** The webhooks of the second one are sent to in a strict order. */
const ACCOUNTS = ['one', 'two'] as const
const RECEIVERS_EACH = 3
const NODES = 3
/** Many short pauses: a delivery to a receiver that hangs or refuses is tried until the end of a round. */
const SCHEDULE = `${'1s,'.repeat(99)}1h`
/** After this many faults the run waits until all is delivered, and checks it. */
const FAULTS_IN_A_ROUND = 50
/** One of every `each` calls is so long that a takeover falls into it. */
const LONG_CALL = { each: 4, ms: 8_000 }

type FaultRun = FaultPlan & {
  readonly callsPerSecond: number
  readonly onFault?: (fault: PlannedFault) => void
  readonly onRound?: (report: FaultReport) => void
  /** A folder for the output of the nodes if something is wrong. */
  readonly logs?: string | undefined
}

export type FaultReport = {
  readonly faults: number
  readonly events: number
  readonly calls: number
  /** Requests that were accepted although they had been accepted before. */
  readonly repeated: number
  /** Times from a fault until others had all that the node had: nothing else was done then, and before. */
  readonly aloneMs: readonly number[]
  /** The others, with how long after it was due at the latest each was over. */
  readonly overlapping: readonly { readonly ms: number; readonly lateMs: number }[]
  /** How long after SIGTERM others had all that a node had, in the same two kinds. */
  readonly handOverAloneMs: readonly number[]
  readonly handOverMs: readonly number[]
  /** Nodes that came back before another could find them dead. */
  readonly returned: number
  /** The promises that were broken. */
  readonly wrong: readonly string[]
}

const NOTHING: FaultReport = {
  faults: 0,
  events: 0,
  calls: 0,
  repeated: 0,
  returned: 0,
  aloneMs: [],
  overlapping: [],
  handOverAloneMs: [],
  handOverMs: [],
  wrong: [],
}

type Rig = {
  readonly run: FaultRun
  readonly folder: string
  readonly databaseUrl: string
  readonly sql: Sql
  readonly recorders: readonly Recorder[]
  readonly pbxs: ReturnType<typeof startPbxs>
  readonly nodes: readonly FaultyNode[]
  readonly play: (plan: readonly PlannedFault[]) => Promise<Measured>
}

/**
 * Plays calls to three nodes on one database, and does to them what machines, networks and people do. It repeats rounds
 * with the same nodes until something is wrong.
 */
export async function runFaults(options: FaultRun): Promise<FaultReport> {
  await using cleaning = new AsyncDisposableStack()
  const rig = await startRig(options, cleaning)
  let report = NOTHING
  try {
    for (let round = 0; report.faults < options.faults && report.wrong.length === 0; round += 1) {
      report = addUp(report, await playRound(rig, round, Math.min(FAULTS_IN_A_ROUND, options.faults - report.faults)))
      options.onRound?.(report)
    }
    const { code, stdout, stderr } = await run(['verify', '--database-url', rig.databaseUrl], { cwd: rig.folder })
    const wrong = code === 0 ? report.wrong : [...report.wrong, `verify: ${stdout}${stderr}`]
    if (wrong.length > 0) keepLogs(rig, wrong)
    return { ...report, wrong }
  } catch (error) {
    keepLogs(rig, [String(error)])
    throw error
  }
}

function addUp(one: FaultReport, other: FaultReport): FaultReport {
  return {
    faults: one.faults + other.faults,
    events: one.events + other.events,
    calls: one.calls + other.calls,
    repeated: one.repeated + other.repeated,
    aloneMs: [...one.aloneMs, ...other.aloneMs],
    overlapping: [...one.overlapping, ...other.overlapping],
    handOverAloneMs: [...one.handOverAloneMs, ...other.handOverAloneMs],
    handOverMs: [...one.handOverMs, ...other.handOverMs],
    returned: one.returned + other.returned,
    wrong: [...one.wrong, ...other.wrong],
  }
}

function keepLogs({ run: { logs }, nodes }: Rig, wrong: readonly string[]): void {
  if (logs === undefined) return
  writeFileSync(join(logs, 'wrong.txt'), wrong.join('\n'))
  for (const [at, { printed, app }] of nodes.entries())
    writeFileSync(join(logs, `node-${at}.log`), [...printed, app.output()].join('\n---- started again\n'))
}

async function startRig(options: FaultRun, cleaning: AsyncDisposableStack): Promise<Rig> {
  const folder = emptyFolder()
  cleaning.defer(() => folder[Symbol.dispose]())
  const server = await startPostgres()
  cleaning.defer(() => server.stop())
  const database = await migratedDatabase(server)
  const sql = lastingSql(database.url)
  cleaning.defer(sql.stop)
  for (const account of ACCOUNTS) await addUser(folder.path, database.url, account)
  const recorders = ACCOUNTS.flatMap(() => Array.from({ length: RECEIVERS_EACH }, () => startRecorder()))
  for (const recorder of recorders) cleaning.defer(() => void recorder.stop())
  const pbxs = startPbxs(ACCOUNTS.map(reservePort))
  cleaning.defer(pbxs.stop)
  const pbxArgs = pbxs.ports.flatMap((port, index) => [
    '--pbx',
    `ami://any:any@127.0.0.1:${port}?name=pbx${index}&account=${ACCOUNTS[index]}`,
  ])
  const args = ['--allow-net', 'loopback', '--log-level', 'info', '--retry-schedule', SCHEDULE]
  // While there is no PBX: an event that comes before the list has no receiver.
  const first = await startServe({ cwd: folder.path, args: [...args, '--database-url', database.url] })
  for (const [at, account] of ACCOUNTS.entries()) {
    const urls = recorders.slice(at * RECEIVERS_EACH, (at + 1) * RECEIVERS_EACH).map(({ url }) => `${url}/${account}`)
    await putList(first, account, urls)
    for (const url of urls) await putOptions(first, account, { url, order: isStrict(at) ? 'strict' : 'first_attempt' })
  }
  await first.stop()
  const { hostname, port } = new URL(database.url)
  const startNode = (proxyPort: number) => {
    const url = new URL(database.url)
    url.port = String(proxyPort)
    return startServe({ cwd: folder.path, args: [...args, ...pbxArgs, '--database-url', url.href] })
  }
  const nodes: FaultyNode[] = []
  for (let index = 0; index < NODES; index += 1) {
    const proxy = startTcpProxy({ hostname, port: Number(port) })
    cleaning.defer(() => proxy.stop())
    const node: FaultyNode = { app: await startNode(proxy.port), proxy, isUp: true, printed: [] }
    cleaning.defer(async () => void (await node.app.stop('SIGKILL')))
    nodes.push(node)
  }
  await until('all leases have an owner', async () => (await sql.freeLeases()) === 0)
  const onFault = (fault: PlannedFault) => options.onFault?.(fault)
  const play = (plan: readonly PlannedFault[]) => playFaults({ plan, nodes, server, sql, startNode, onFault })
  return { run: options, folder: folder.path, databaseUrl: database.url, sql, recorders, pbxs, nodes, play }
}

const isStrict = (account: number): boolean => account === 1

/** Plays calls and faults until both are over, and checks all deliveries. */
async function playRound(rig: Rig, round: number, faults: number): Promise<FaultReport> {
  const { run: options, sql, recorders } = rig
  const { callsPerSecond } = options
  const before = await sql.lastEvent()
  const beganMs = Date.now()
  // Rounds alternate between the two orders: one receiver that hangs and one that refuses.
  const [hangs, refuses] = round % 2 === 0 ? ([1, 4] as const) : ([4, 1] as const)
  recorders[hangs]?.become('hangs')
  recorders[refuses]?.become('refuses')
  const plan = planFaults({ ...options, faults })
  const seconds = 5 + lengthMs(plan) / 1_000
  const measured = await withPbxs(rig, { callsPerSecond, seconds, round }, () => rig.play(plan))
  for (const recorder of recorders) recorder.become('answers')
  await untilFinished(sql)
  const events = await sql.eventsAfter(before)
  const failed = await sql.failedAttemptsAfter(before)
  const arrivals = recorders.map((recorder) => recorder.takeArrivals())
  const outages = outagesOf(rig.nodes, beganMs)
  const mayRepeat = (fromMs: number, toMs: number) =>
    [...measured.abrupt, ...outages].some((one) => one.fromMs <= toMs && one.toMs + AFTERMATH_MS >= fromMs)
  const wrong = arrivals.flatMap((of, index) => {
    const account = Math.floor(index / RECEIVERS_EACH)
    const found = wrongDeliveries({
      arrivals: of,
      events: events.filter((event) => event.account === ACCOUNTS[account]),
      failed: failed.filter((one) => one.account === ACCOUNTS[account] && one.position === index % RECEIVERS_EACH),
      isStrict: isStrict(account),
      mayRepeat,
    })
    return found.slice(0, MAX_SHOWN).map((what) => `receiver ${index}, of ${found.length}: ${what}`)
  })
  return {
    ...NOTHING,
    faults,
    events: events.length,
    calls: new Set(events.map(({ call }) => call)).size,
    repeated: arrivals.reduce((sum, of) => sum + countRepeats(of), 0),
    ...timesOf({ ...measured, disturbances: [...measured.disturbances, ...outages] }),
    wrong: [...measured.wrong, ...(await sql.wrongAfter(before, RECEIVERS_EACH)), ...wrong],
  }
}

/** A node that continues after a fault may have been interrupted while it recorded outcomes. */
const AFTERMATH_MS = 10_000
const MAX_SHOWN = 5

function timesOf({ takeovers, handOvers, returned, disturbances }: Measured) {
  const timeOf = ({ fromMs, toMs }: Takeover) => toMs - fromMs
  const alone = (one: Takeover) => isAlone(one, disturbances)
  const lateMs = (one: Takeover) => Math.max(0, one.toMs - dueMs(one, NODES, [...disturbances]))
  return {
    aloneMs: takeovers.filter(alone).map(timeOf),
    overlapping: takeovers.filter((one) => !alone(one)).map((one) => ({ ms: timeOf(one), lateMs: lateMs(one) })),
    handOverAloneMs: handOvers.filter(alone).map(timeOf),
    handOverMs: handOvers.filter((one) => !alone(one)).map(timeOf),
    returned,
  }
}

/** The database has other work than the questions of a test. */
const POLL_MS = 50

type Traffic = { readonly callsPerSecond: number; readonly seconds: number; readonly round: number }

/** Lets PBXs have calls, whether a node listens or not, during some work and until all of their calls are over. */
async function withPbxs<Result>(rig: Rig, traffic: Traffic, work: () => Promise<Result>): Promise<Result> {
  await using cleaning = new AsyncDisposableStack()
  const replays = await rig.pbxs.begin(traffic)
  for (const { port } of replays) cleaning.defer(await keepLoggedIn(port))
  const result = await work()
  await Promise.all(replays.map(({ finished }) => finished))
  // The PBX stays until then, so that a node that connects again reads its list of channels.
  await until('all calls are over', async () => {
    await Bun.sleep(POLL_MS)
    return (await rig.sql.liveCalls()) === 0
  })
  return result
}

/** PBXs that stay when their calls are over, until others begin. */
function startPbxs(ports: readonly number[]) {
  const start = (callsPerSecond: number, seconds: number, firstCall: number) =>
    ports.map((port, index) => {
      const calls = callsOf(callsPerSecond, seconds, { firstCall: firstCall + index * 1_000_000, long: LONG_CALL })
      return startReplay({ port, files: [calls] })
    })
  let replays = start(0, 0, 0)
  const stop = async () => void (await Promise.all(replays.map((replay) => replay.stop())))
  return {
    ports,
    async begin({ callsPerSecond, seconds, round }: Traffic) {
      await stop()
      replays = start(callsPerSecond, seconds, round * 10_000)
      return replays
    },
    stop,
  }
}

/** Logs in to a PBX and stays, since its clock runs only while it has a client. Returns the function that ends that. */
async function keepLoggedIn(port: number): Promise<() => void> {
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (opened) => void opened.write('Action: Login\r\nUsername: any\r\nSecret: any\r\nEvents: on\r\n\r\n'),
      data() {},
    },
  })
  return () => socket.end()
}

/** Waits as long as there is progress, however slow the machine is. */
async function untilFinished(sql: Sql): Promise<void> {
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    let now = before
    await until('more calls are over and more events are delivered', async () => {
      now = await sql.unfinished()
      await Bun.sleep(100)
      return now < before
    }).catch(async (error) => {
      throw new Error(`${error}: ${JSON.stringify(await sql.unfinishedParts())}`)
    })
    if (now === 0) return
    before = now
  }
}
