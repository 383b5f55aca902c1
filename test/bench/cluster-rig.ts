import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { buildOnce, emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { addUser, callsOf, lastingSql, putList } from '../help/cluster-parts.ts'
import { migratedDatabase, startPostgres } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'

/** Commits are on disk when the server reports them, as on any server that keeps its commits. */
const DURABLE = { fsync: 'on', full_page_writes: 'on' }
const ARGS = ['--allow-net', 'loopback', '--log-level', process.env.BENCH_LOG_LEVEL ?? 'error']
/** How long leases must have stayed where they are: then every node is a full member, and has its share. */
const STABLE_MS = 6_000

export type BenchNode = { app: RunningApp }
export type ClusterBench = Awaited<ReturnType<typeof startClusterBench>>

/** Nodes of the compiled file on one database, with an account for each PBX and a receiver for each account. */
export async function startClusterBench(given: {
  readonly nodes: number
  readonly pbxUrls: readonly string[]
  readonly receiverUrls: readonly string[]
}) {
  await buildOnce()
  const cleaning = new AsyncDisposableStack()
  const folder = emptyFolder()
  cleaning.defer(() => folder[Symbol.dispose]())
  const server = await startPostgres(DURABLE)
  cleaning.defer(() => server.stop())
  const database = await migratedDatabase(server)
  const sql = lastingSql(database.url)
  cleaning.defer(sql.stop)
  const accounts = given.receiverUrls.map((_, at) => `account${at}`)
  for (const account of accounts) await addUser(folder.path, database.url, account)
  const pbxs = given.pbxUrls.flatMap((url, at) => [
    '--pbx',
    `${url}?name=pbx${at}&account=${accounts[at]}&trunks=trunk`,
  ])
  const store = [...ARGS, '--database-url', database.url]
  const start = () => startServe({ cwd: folder.path, args: [...store, ...pbxs] })
  // While there is no PBX: an event that comes before the list has no receiver.
  const first = await startServe({ cwd: folder.path, args: store })
  for (const [at, account] of accounts.entries()) await putList(first, account, [given.receiverUrls[at] ?? ''])
  await first.stop()
  const nodes: BenchNode[] = []
  for (let at = 0; at < given.nodes; at += 1) {
    const node = { app: await start() }
    cleaning.defer(async () => void (await node.app.stop('SIGKILL')))
    nodes.push(node)
  }
  return {
    server,
    sql,
    nodes,
    start,
    /** Waits until every lease has an owner and has had it for some seconds, and every node has something. */
    async untilOwned(): Promise<void> {
      let before: readonly string[] = []
      let sinceMs = performance.now()
      await until('all nodes have their shares', async () => {
        const terms = (await sql.terms()).toSorted()
        const isSame = terms.length === before.length && terms.every((term, at) => term === before[at])
        if (!isSame) sinceMs = performance.now()
        before = terms
        await Bun.sleep(50)
        return (await sql.freeLeases()) === 0 && performance.now() - sinceMs > STABLE_MS
      })
    },
    /** Returns the names of the leases of a node. */
    async leasesOf(node: BenchNode): Promise<string[]> {
      return (await sql.leasesOf(new URL(node.app.url).origin)).map((lease) => lease.split(' ')[0] ?? '')
    },
    stop: () => cleaning.disposeAsync(),
  }
}

/** Such nodes with PBXs that have calls all the time, and receivers that note when they got what. */
export async function startBusyCluster(options: {
  readonly nodes: number
  readonly accounts: number
  readonly callsPerSecond: number
  readonly seconds: number
  readonly answerAfterMs?: number
}) {
  const { nodes, accounts, callsPerSecond, seconds, answerAfterMs = 0 } = options
  const receivers = Array.from({ length: accounts }, () =>
    startReceiver(async () => {
      await Bun.sleep(answerAfterMs)
      return new Response('ok')
    }),
  )
  const replays = receivers.map((_, at) =>
    startReplay({ files: [callsOf(callsPerSecond, seconds, { firstCall: at * 1_000_000 })] }),
  )
  const bench = await startClusterBench({
    nodes,
    pbxUrls: replays.map(({ port }) => `ami://any:any@127.0.0.1:${port}`),
    receiverUrls: receivers.map(({ url }, at) => `${url}/${at}`),
  })
  async function explain(lost: readonly string[]): Promise<void> {
    const some = [...lost.slice(0, 3), ...lost.slice(-3)]
    console.error(
      some,
      await bench.sql.ask(
        `SELECT e.id, e.uuid, e.call_id, e.sequence, to_timestamp(e.at / 1e6)::text AS at, d.* FROM events e
         LEFT JOIN ended_deliveries d ON d.id / 128 = e.id WHERE e.uuid IN (${some.map((uuid) => `'${uuid}'`).join()})`,
      ),
    )
  }
  return {
    ...bench,
    receivers,
    replays,
    /**
     * Ends the calls and waits until all is delivered. Returns the counts of events, lost events and repeated requests.
     */
    async finish(): Promise<{ events: number; lost: number; repeated: number }> {
      for (const replay of replays) await replay.stop()
      await until('all is delivered', async () => (await bench.sql.pending()) === 0)
      const events = await bench.sql.events()
      const got = receivers.map(({ received }) => new Set(received.map(({ id }) => id)))
      const lost = events.filter(({ account, uuid }) => got[Number(account.replace('account', ''))]?.has(uuid) !== true)
      if (lost.length > 0) await explain(lost.map(({ uuid }) => uuid))
      const requests = receivers.reduce((sum, { received }) => sum + received.length, 0)
      const distinct = got.reduce((sum, ids) => sum + ids.size, 0)
      return { events: events.length, lost: lost.length, repeated: requests - distinct }
    },
    async stop(): Promise<void> {
      await bench.stop()
      for (const replay of replays) await replay.stop()
      for (const receiver of receivers) await receiver.stop()
    },
  }
}

export type BusyCluster = Awaited<ReturnType<typeof startBusyCluster>>
