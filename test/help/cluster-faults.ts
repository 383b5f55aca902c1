import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from './app.ts'
import { addUser, callsOf, lastingSql, putList, type Sql } from './cluster-parts.ts'
import { migratedDatabase, type PostgresServer, startPostgres } from './postgres.ts'
import type { Random } from './random.ts'
import { startReceiver, until } from './receiver.ts'
import { startTcpProxy } from './tcp-proxy.ts'

const ACCOUNTS = ['one', 'two'] as const
const RECEIVERS_EACH = 3
const NODES = 3
/** Many short pauses: what hangs or refuses is tried until the end of the run. */
const SCHEDULE = `${'500ms,'.repeat(200)}1h`

const KINDS = ['kill', 'freeze', 'stop', 'partition', 'terminate', 'fast restart', 'immediate restart'] as const

export type FaultRun = {
  /** Which faults: all without it. */
  readonly kinds?: readonly (typeof KINDS)[number][]
  readonly faults: number
  /** Between two faults, at least and at most. */
  readonly pauseMs: readonly [number, number]
  readonly callsPerSecond: number
  readonly random: Random
  readonly onFault?: (what: string) => void
}

export type FaultReport = {
  readonly events: number
  readonly calls: number
  /** Requests with an id that the receiver had before, at those receivers that answer at once. */
  readonly repeated: number
  readonly takeoverMs: readonly number[]
  /** How long after SIGTERM others had all that a node had. */
  readonly handOverMs: readonly number[]
  /** What was promised and is not so. */
  readonly wrong: readonly string[]
}

type Node = { app: RunningApp; readonly proxy: ReturnType<typeof startTcpProxy>; readonly cwd: string; isUp: boolean }

/** Plays calls to three nodes on one database, and does to them what machines, networks and people do. */
export async function runFaults(options: FaultRun): Promise<FaultReport> {
  await using cleaning = new AsyncDisposableStack()
  const folder = emptyFolder()
  cleaning.defer(() => folder[Symbol.dispose]())
  const server = await startPostgres()
  cleaning.defer(() => server.stop())
  const database = await migratedDatabase(server)
  const sql = lastingSql(database.url)
  cleaning.defer(sql.stop)
  for (const account of ACCOUNTS) await addUser(folder.path, database.url, account)
  const receivers = ACCOUNTS.flatMap(() => Array.from({ length: RECEIVERS_EACH }, () => startReceiver()))
  for (const receiver of receivers) cleaning.defer(() => void receiver.stop())
  const hangs = Promise.withResolvers<void>()
  receivers[1]?.answerWith(async () => {
    await hangs.promise
    return new Response('ok')
  })
  receivers[4]?.answerWith(() => new Response('no', { status: 500 }))
  const seconds = 10 + (options.faults * (options.pauseMs[0] + options.pauseMs[1])) / 2_000
  const replays = ACCOUNTS.map((_, index) =>
    startReplay({ files: [callsOf(options.callsPerSecond, seconds, index * 1_000_000)] }),
  )
  for (const replay of replays) cleaning.defer(() => replay.stop())

  const pbxArgs = replays.flatMap(({ port }, index) => [
    '--pbx',
    `ami://any:any@127.0.0.1:${port}?name=pbx${index}&account=${ACCOUNTS[index]}`,
  ])
  const args = ['--allow-net', 'loopback', '--log-level', 'info', '--retry-schedule', SCHEDULE]
  // While there is no PBX: an event that comes before the list has no receiver.
  const first = await startServe({ cwd: folder.path, args: [...args, '--database-url', database.url] })
  for (const [at, account] of ACCOUNTS.entries()) {
    const own = receivers.slice(at * RECEIVERS_EACH, (at + 1) * RECEIVERS_EACH)
    await putList(
      first,
      account,
      own.map(({ url }, place) => `${url}/${account}/${place}`),
    )
  }
  await first.stop()
  const { hostname, port } = new URL(database.url)
  const startNode = (proxyPort: number) => {
    const url = new URL(database.url)
    url.port = String(proxyPort)
    return startServe({ cwd: folder.path, args: [...args, ...pbxArgs, '--database-url', url.href] })
  }
  const nodes: Node[] = []
  for (let index = 0; index < NODES; index += 1) {
    const proxy = startTcpProxy({ hostname, port: Number(port) })
    cleaning.defer(() => proxy.stop())
    const node = { app: await startNode(proxy.port), proxy, cwd: folder.path, isUp: true }
    cleaning.defer(async () => void (await node.app.stop('SIGKILL')))
    nodes.push(node)
  }
  /** As what runs a service does: one that cannot start is started again. */
  const restart = async (node: Node) => {
    const again = (tries: number): Promise<RunningApp> =>
      startNode(node.proxy.port).catch((error) => (tries === 0 ? Promise.reject(error) : again(tries - 1)))
    node.app = await again(5)
    node.isUp = true
  }
  await until('all leases have an owner', async () => (await sql.freeLeases()) === 0)
  const report = await playFaults({ ...options, nodes, server, sql, restart, startNode })
  for (const { proxy } of nodes) proxy.resume()
  await Promise.all(replays.map(({ finished }) => finished))
  hangs.resolve()
  for (const receiver of receivers) receiver.answerWith(() => new Response('ok'))
  await untilFinished(sql)
  const wrong = [
    ...(await sql.faults(RECEIVERS_EACH)),
    ...(await receiverFaults(sql, receivers)),
    ...(await verified(folder.path, database.url)),
  ]
  const prompt = receivers.filter((_, index) => index !== 1 && index !== 4)
  const repeated = prompt.reduce(
    (sum, { received }) => sum + received.length - new Set(received.map(({ id }) => id)).size,
    0,
  )
  return { ...(await sql.counts()), repeated, ...report, wrong }
}

/** As long as there is progress it is waited for, however slow the machine is. */
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

async function verified(cwd: string, url: string): Promise<string[]> {
  const { code, stdout, stderr } = await run(['verify', '--database-url', url], { cwd })
  return code === 0 ? [] : [`verify: ${stdout}${stderr}`]
}

/** Every receiver has every event of its account; those that answer at once got those of each call in order. */
async function receiverFaults(sql: Sql, receivers: readonly ReturnType<typeof startReceiver>[]): Promise<string[]> {
  const events = await sql.events()
  const failed = await sql.failedAttempts()
  const faults = receivers.flatMap(({ received }, index) => {
    const account = ACCOUNTS[Math.floor(index / RECEIVERS_EACH)]
    const first = new Map<string, number>()
    received.forEach(({ id }, at) => {
      if (!first.has(id)) first.set(id, at)
    })
    const own = events.filter((event) => event.account === account)
    const missing = own.filter(({ uuid }) => !first.has(uuid)).map(({ uuid }) => `receiver ${index} lacks ${uuid}`)
    if (index === 1 || index === 4) return missing.slice(0, 5)
    const calls = Map.groupBy(own, ({ call }) => call)
    const disordered = [...calls].flatMap(([call, ofCall]) => {
      const inOrder = ofCall.toSorted((a, b) => a.sequence - b.sequence)
      // An attempt that failed may not have come here: its event is tried again later, and holds no other back.
      const places = inOrder.flatMap(({ uuid }) =>
        failed.has(`${index % RECEIVERS_EACH} ${uuid}`) ? [] : [first.get(uuid) ?? 0],
      )
      const isWrong = places.some((place, at) => place < (places[at - 1] ?? -1))
      return isWrong ? [{ index, call, places: inOrder.map(({ uuid }) => first.get(uuid)) }] : []
    })
    return [...missing.slice(0, 5), ...disordered.slice(0, 3)]
  })
  const described = faults.map(async (fault) =>
    typeof fault === 'string' ? fault : `out of order: ${JSON.stringify([fault, await sql.attempts(fault.call)])}`,
  )
  return Promise.all(described)
}

type Playing = FaultRun & {
  readonly nodes: readonly Node[]
  readonly server: PostgresServer
  readonly sql: Sql
  readonly restart: (node: Node) => Promise<void>
  readonly startNode: (proxyPort: number) => Promise<RunningApp>
}

async function playFaults(playing: Playing): Promise<Pick<FaultReport, 'takeoverMs' | 'handOverMs'>> {
  const { random, nodes, server, sql, restart } = playing
  const takeoverMs: number[] = []
  const handOverMs: number[] = []
  const measuring: Promise<void>[] = []
  const repairs: Promise<void>[] = []
  const between = ([least, most]: readonly [number, number]) => least + random.next() * (most - least)

  /** Measures until others have all that a node had. */
  async function measure(node: Node, times: number[]): Promise<void> {
    const had = await sql.leasesOf(new URL(node.app.url).origin)
    const names = had.map((one) => one.split(' ')[0])
    const beganMs = performance.now()
    const isDone = async () => {
      const now = await sql.terms()
      return names.every((name) => now.some((one) => one.startsWith(`${name} `) && !had.includes(one)))
    }
    measuring.push(
      until('others have taken over', isDone).then(() => {
        if (had.length > 0) times.push(performance.now() - beganMs)
      }),
    )
  }
  const later = (ms: number, action: () => Promise<void> | void) => repairs.push(Bun.sleep(ms).then(action))

  async function fault(kind: (typeof KINDS)[number]): Promise<void> {
    const up = nodes.filter(({ isUp }) => isUp)
    // One at least is left to take over.
    const node = up.length < 2 ? undefined : random.pick(up)
    if (kind === 'terminate')
      await sql.ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hookswitch%'`)
    else if (kind === 'fast restart' || kind === 'immediate restart') {
      await server.halt(kind === 'fast restart' ? 'fast' : 'immediate')
      await Bun.sleep(between([100, 2_000]))
      await server.resume()
    } else if (node !== undefined) await nodeFault(kind, node)
  }

  async function nodeFault(kind: 'kill' | 'freeze' | 'stop' | 'partition', node: Node): Promise<void> {
    node.isUp = false
    if (kind === 'kill') {
      process.kill(node.app.pid, 'SIGKILL')
      await measure(node, takeoverMs)
      await node.app.stop('SIGKILL')
      later(between([500, 8_000]), () => restart(node))
    } else if (kind === 'stop') {
      await measure(node, handOverMs)
      await node.app.stop('SIGTERM')
      later(between([100, 2_000]), () => restart(node))
    } else if (kind === 'freeze') {
      process.kill(node.app.pid, 'SIGSTOP')
      const ms = between([3_000, 15_000])
      if (ms > 7_000) await measure(node, takeoverMs)
      later(ms, () => {
        process.kill(node.app.pid, 'SIGCONT')
        node.isUp = true
      })
    } else {
      node.proxy.stall()
      later(between([2_000, 12_000]), () => {
        node.proxy.resume()
        node.isUp = true
      })
    }
  }

  for (let done = 0; done < playing.faults; done += 1) {
    const kind = random.pick(playing.kinds ?? KINDS)
    playing.onFault?.(kind)
    await fault(kind)
    await Bun.sleep(between(playing.pauseMs))
  }
  await Promise.all(repairs)
  await Promise.all(measuring)
  return { takeoverMs, handOverMs }
}
