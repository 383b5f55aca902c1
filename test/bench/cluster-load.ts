import { startAsterisk } from '../help/asterisk-load.ts'
import { migratedDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { startReceiver } from '../help/receiver.ts'
import { type ClusterBench, startClusterBench } from './cluster-rig.ts'
import { benchLatency, type Latency, quantile, residentMb, startCalls } from './pbx-to-receiver.ts'
import { processorUs } from './postgres.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atLeast, atMost, figure, type Row } from './table.ts'

const EVENTS_A_CALL = 6

/** A PBX, an account and a receiver for each, so that three nodes have something of everything. */
const ACCOUNTS = 6
/** Offered by all PBXs together. `CLUSTER_CALLS=50 bun run bench cluster-nodes` offers less, for a machine that is slower. */
const OFFERED_CALLS_PER_SECOND = Number(process.env.CLUSTER_CALLS ?? 100)
/** The first seconds are not counted: connections are made, statements are planned and code is compiled in them. */
const WARM_UP_MS = 6_000
const MEASURED_MS = 12_000
const CALL_MS = 1_600

const countOf = async (url: string): Promise<number> => (await (await fetch(new URL('/count', url))).json()).requests

const transactionsOf = async ({ sql }: Pick<ClusterBench, 'sql'>): Promise<number> => {
  const [row] = await sql.ask<{ count: number }>('SELECT sum(xact_commit)::int AS count FROM pg_stat_database')
  return row?.count ?? 0
}

const walBytesOf = async ({ sql }: Pick<ClusterBench, 'sql'>): Promise<number> => {
  const [row] = await sql.ask<{ bytes: number }>("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 AS bytes")
  return row?.bytes ?? 0
}

type Load = {
  readonly offered: number
  readonly delivered: number
  readonly nodesUs: number
  readonly serverUs: number
  /** Each statement outside of a transaction is one. */
  readonly transactions: number
  readonly walBytes: number
}

/**
 * Offers calls to nodes at a steady rate. Returns the cost of a delivery, for all nodes together and for the database.
 */
async function loadOf(nodes: number): Promise<Load & { readonly memoryMb: number }> {
  using receivers = await startReceiverProcess(1, 'count')
  const [url = ''] = receivers.urls
  const pbxs = Array.from({ length: ACCOUNTS }, () => startAsterisk())
  const bench = await startClusterBench({
    nodes,
    pbxUrls: pbxs.map(({ port }) => `ami://any:any@127.0.0.1:${port}`),
    receiverUrls: pbxs.map((_, at) => `${url}/${at}`),
  })
  await bench.untilOwned()
  const pids = bench.nodes.map(({ app }) => app.pid)
  const now = async () => ({
    ms: performance.now(),
    count: await countOf(url),
    nodesUs: pids.reduce((sum, pid) => sum + processorUs(pid), 0),
    serverUs: processorUs(bench.server.pid() ?? 0),
    transactions: await transactionsOf(bench),
    walBytes: await walBytesOf(bench),
  })
  const seconds = (WARM_UP_MS + MEASURED_MS + CALL_MS) / 1_000
  const nothing = { receiver: { received: [] } }
  const { ended } = startCalls(pbxs, nothing, { callsPerSecond: OFFERED_CALLS_PER_SECOND, seconds })
  await Bun.sleep(WARM_UP_MS)
  const before = await now()
  await Bun.sleep(MEASURED_MS)
  const after = await now()
  const memoryMb = Math.max(...pids.map(residentMb))
  await ended
  await bench.stop()
  for (const pbx of pbxs) pbx.stop()
  const delivered = after.count - before.count
  return {
    offered: (OFFERED_CALLS_PER_SECOND * EVENTS_A_CALL * (after.ms - before.ms)) / 1_000,
    delivered,
    nodesUs: (after.nodesUs - before.nodesUs) / delivered,
    serverUs: (after.serverUs - before.serverUs) / delivered,
    transactions: (after.transactions - before.transactions) / delivered,
    walBytes: (after.walBytes - before.walBytes) / delivered,
    memoryMb,
  }
}

/**
 * The cost of a delivery with one, two and three nodes on the same machine, from the PBX's bytes to the receiver, and
 * its cost for the database. The figures count only if every offered call was delivered: otherwise the machine is full.
 */
export async function benchNodes(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const rows: Row[] = []
  let serverUsOfOne: number | undefined
  for (const nodes of [1, 2, 3]) {
    const { offered, delivered, nodesUs, serverUs, transactions, walBytes, memoryMb } = await loadOf(nodes)
    serverUsOfOne ??= serverUs
    const name = `${nodes} node${nodes > 1 ? 's' : ''}`
    const isDelivered = delivered >= offered * LEAST_DELIVERED
    const note = isDelivered ? '' : '; NOT OF USE: the machine was too busy for what was offered'
    rows.push(
      atLeast(
        `${name}, ${OFFERED_CALLS_PER_SECOND} calls/s offered: delivered ÷ offered`,
        LEAST_DELIVERED,
        delivered / offered,
        `${delivered} of ${Math.round(offered)} in ${MEASURED_MS / 1_000} s; a node has ${Math.round(memoryMb)} MB at most`,
      ),
      figure('the same: all nodes for a delivery', nodesUs, ' µs', `of processor time${note}`),
      ...(nodes === 1
        ? [figure('the same: Postgres for a delivery', serverUs, ' µs', `of processor time${note}`)]
        : [
            atMost(
              'the same: Postgres for a delivery ÷ with one node',
              1.2,
              serverUs / serverUsOfOne,
              '',
              `${Math.round(serverUs)} of ${Math.round(serverUsOfOne)} µs of processor time${note}`,
            ),
          ]),
      atMost('the same: transactions for an event', 1.5, transactions, '', `with heartbeats and polls${note}`),
      atMost('the same: write-ahead log for an event', 3.5, walBytes / 1_024, ' KB', `with one delivery${note}`),
    )
  }
  return rows
}
const LEAST_DELIVERED = 0.98

const CALLS_PER_SECOND = 50
const SECONDS = 12

const detail = ({ p50Ms, p99Ms, maxMs }: Pick<Latency, 'p50Ms' | 'p99Ms' | 'maxMs'>) =>
  `p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)}, max ${maxMs.toFixed(0)} ms`

/** One node on Postgres beside one on SQLite: how long an event is on its way. Then two nodes. */
export async function benchPbxToReceiver(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
  const database = await migratedDatabase(server)
  const onSqlite = await benchLatency(CALLS_PER_SECOND, SECONDS)
  const onPostgres = await benchLatency(CALLS_PER_SECOND, SECONDS, { store: ['--database-url', database.url] })
  await server.stop()
  const text = `${detail(onPostgres)}; on SQLite ${detail(onSqlite)}`
  return [
    atMost(`PBX to receiver at ${CALLS_PER_SECOND} calls/s on Postgres, p99`, 25, onPostgres.p99Ms, ' ms', text),
    figure('memory of the node then', onPostgres.memoryMb, ' MB', `on SQLite ${Math.round(onSqlite.memoryMb)} MB`),
    ...(await benchTwoNodes()),
  ]
}

/** Returns which of the PBXs have another owner than their account. */
async function splitPairs(bench: ClusterBench): Promise<boolean[]> {
  const leases = await Promise.all(bench.nodes.map((node) => bench.leasesOf(node)))
  const ownerOf = (lease: string) => leases.findIndex((names) => names.includes(lease))
  // The account 1 is `default`.
  return Array.from({ length: ACCOUNTS }, (_, at) => ownerOf(`pbx:pbx${at}`) !== ownerOf(`account:${at + 2}`))
}

/** Two nodes: how long an event is on its way where its PBX and its account have the same owner, and where not. */
async function benchTwoNodes(): Promise<Row[]> {
  const receivers = Array.from({ length: ACCOUNTS }, () => startReceiver())
  const pbxs = Array.from({ length: ACCOUNTS }, () => startAsterisk())
  const bench = await startClusterBench({
    nodes: 2,
    pbxUrls: pbxs.map(({ port }) => `ami://any:any@127.0.0.1:${port}`),
    receiverUrls: receivers.map(({ url }) => url),
  })
  await bench.untilOwned()
  const before = await splitPairs(bench)
  const rate = { callsPerSecond: CALLS_PER_SECOND, seconds: SECONDS }
  const calls = startCalls(pbxs, { receiver: { received: [] } }, rate)
  await calls.ended
  await Bun.sleep(CALL_MS)
  const isSplit = await splitPairs(bench)
  await bench.stop()
  for (const { stop } of [...pbxs, ...receivers]) await stop()
  if (!Bun.deepEquals(before, isSplit)) throw new Error('leases moved: measure again')
  return [false, true].flatMap((split) => {
    const some = receivers.filter((_, at) => isSplit[at] === split)
    const taken = some.flatMap((receiver) => calls.taken(receiver)).filter(({ sentMs }) => sentMs >= calls.warmMs)
    const tookMs = taken.map((one) => one.tookMs).toSorted((one, other) => one - other)
    const [p50Ms, p99Ms, maxMs] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99), quantile(tookMs, 1)]
    const what = `two nodes: ${split ? 'PBX and account have different owners' : 'the same owner'}, p99`
    // Chance may have given each node the accounts of its own PBXs, or of the other's: then another run has the row.
    return some.length === 0 ? [] : [figure(what, p99Ms, ' ms', detail({ p50Ms, p99Ms, maxMs }))]
  })
}
