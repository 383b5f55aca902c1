import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { migratedDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'
import { startClusterBench } from './cluster-rig.ts'
import { benchLatency, residentMb } from './pbx-to-receiver.ts'
import { processorUs } from './postgres.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atMost, figure, type Row } from './table.ts'

const ACCOUNTS = 6
const EVENTS_A_CALL = 6
/** Events between PBX and receiver: enough that nobody has to wait for more. */
const UNDER_WAY = 3_000
const WARM_UP_MS = 4_000
const MEASURED_MS = 8_000

const countOf = async (url: string): Promise<number> => (await (await fetch(new URL('/count', url))).json()).requests

/** Calls as fast as they are delivered, from a PBX for each account. */
function startCalls(pbxs: readonly ReturnType<typeof startAsterisk>[], delivered: () => Promise<number>) {
  let calls = 0
  let running = true
  const more = async () => {
    while (running) {
      const atOnce = Math.floor((UNDER_WAY - (calls * EVENTS_A_CALL - (await delivered()))) / EVENTS_A_CALL)
      for (let n = 0; n < atOnce; n += 1) {
        const pbx = pbxs[calls % pbxs.length]
        const call = acts(calls)
        calls += 1
        pbx?.send(call.map(({ bytes }) => bytes).join(''))
      }
      await Bun.sleep(2)
    }
  }
  const done = more()
  return {
    async stop() {
      running = false
      await done
    },
  }
}

type Load = { readonly rate: number; readonly nodeUs: number; readonly serverUs: number; readonly memoryMb: number }

async function loadOf(nodes: number): Promise<Load> {
  using receivers = await startReceiverProcess(1, 'count')
  const [url = ''] = receivers.urls
  const pbxs = Array.from({ length: ACCOUNTS }, () => startAsterisk())
  const bench = await startClusterBench({
    nodes,
    pbxUrls: pbxs.map(({ port }) => `ami://any:any@127.0.0.1:${port}`),
    receiverUrls: pbxs.map((_, at) => `${url}/${at}`),
  })
  await bench.untilOwned()
  const calls = startCalls(pbxs, () => countOf(url))
  await until('events come', async () => (await countOf(url)) > UNDER_WAY)
  await Bun.sleep(WARM_UP_MS)
  const pids = bench.nodes.map(({ app }) => app.pid)
  const now = async () => ({
    ms: performance.now(),
    count: await countOf(url),
    nodeUs: pids.reduce((sum, pid) => sum + processorUs(pid), 0),
    serverUs: processorUs(bench.server.pid() ?? 0),
  })
  const before = await now()
  await Bun.sleep(MEASURED_MS)
  const after = await now()
  const memoryMb = Math.max(...pids.map(residentMb))
  await calls.stop()
  await bench.stop()
  for (const pbx of pbxs) pbx.stop()
  const count = after.count - before.count
  return {
    rate: (count / (after.ms - before.ms)) * 1_000,
    nodeUs: (after.nodeUs - before.nodeUs) / count,
    serverUs: (after.serverUs - before.serverUs) / count,
    memoryMb,
  }
}

/** One, two and three nodes on the same machine: what they carry, and what a delivery costs them and the database. */
export async function benchNodes(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const rows: Row[] = []
  for (const nodes of [1, 2, 3]) {
    const { rate, nodeUs, serverUs, memoryMb } = await loadOf(nodes)
    const costs = `node ${Math.round(nodeUs)} µs, Postgres ${Math.round(serverUs)} µs of processor time for each`
    const what = `${nodes} node${nodes > 1 ? 's' : ''}, from PBX to receiver, delivered per second`
    rows.push(figure(what, rate, '/s', `${costs}; ${Math.round(memoryMb)} MB`))
  }
  return rows
}

const CALLS_PER_SECOND = 50
const SECONDS = 12

/** One node on Postgres beside one on SQLite: how long an event is on its way. */
export async function benchPbxToReceiver(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
  const database = await migratedDatabase(server)
  const onSqlite = await benchLatency(CALLS_PER_SECOND, SECONDS)
  const onPostgres = await benchLatency(CALLS_PER_SECOND, SECONDS, { store: ['--database-url', database.url] })
  await server.stop()
  const detail = ({ p50Ms, p99Ms, maxMs }: typeof onSqlite) =>
    `p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)}, max ${maxMs.toFixed(0)} ms`
  const text = `${detail(onPostgres)}; on SQLite ${detail(onSqlite)}`
  return [
    atMost(`PBX to receiver at ${CALLS_PER_SECOND} calls/s on Postgres, p99`, 25, onPostgres.p99Ms, ' ms', text),
    figure('memory of the node then', onPostgres.memoryMb, ' MB', `on SQLite ${Math.round(onSqlite.memoryMb)} MB`),
  ]
}
