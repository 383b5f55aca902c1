import { POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'
import { type BenchNode, type BusyCluster, startBusyCluster } from './cluster-rig.ts'
import { atMost, figure, type Row } from './table.ts'

/** Rare delays show only in more rounds: `CLUSTER_ROUNDS=30 bun run bench cluster`. */
const ROUNDS = Number(process.env.CLUSTER_ROUNDS ?? 6)
/** Bytes in the sockets of a killed node may arrive for this long after its death. */
const LAST_WORDS_MS = 1_000
const SETTLING_S = 25
const OUTAGE_MS = 5_000

const summaryOf = (times: readonly number[], unit = 's') => {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p99: at(0.99), text: `p50 ${at(0.5).toFixed(2)}, max ${at(1).toFixed(2)} ${unit}, ${times.length} times` }
}

/** Returns a node that owns something, in turns, and the receivers that notice when it is gone. */
async function victimOf(cluster: BusyCluster, round: number): Promise<{ node: BenchNode; affected: number[] }> {
  for (let at = round; ; at += 1) {
    const node = cluster.nodes[at % cluster.nodes.length]
    if (node === undefined) throw new Error('there is no node')
    const leases = await cluster.leasesOf(node)
    const numbers = (kind: string) => leases.flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : []))
    // The account 1 is `default`, which has no receiver.
    const accounts = numbers('account:').map((id) => Number(id) - 2)
    const affected = new Set([...accounts, ...numbers('pbx:pbx').map(Number)].filter((id) => id >= 0))
    if (affected.size > 0) return { node, affected: [...affected] }
  }
}

/** Returns how many seconds after a moment the last of some receivers got something, what came at once aside. */
async function backAfter(cluster: BusyCluster, affected: readonly number[], sinceMs: number, blindMs: number) {
  const before = cluster.receivers.map(({ received }) => received.length)
  const firstOf = (at: number) =>
    cluster.receivers[at]?.received.slice(before[at]).find(({ atMs }) => atMs > sinceMs + blindMs)?.atMs
  await until('all receivers get something again', () => affected.every((at) => firstOf(at) !== undefined))
  return (Math.max(...affected.map((at) => firstOf(at) ?? 0)) - sinceMs) / 1_000
}

async function takeovers(cluster: BusyCluster, how: 'SIGKILL' | 'SIGSTOP'): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await cluster.untilOwned()
    const { node, affected } = await victimOf(cluster, round)
    const sinceMs = performance.now()
    process.kill(node.app.pid, how)
    times.push(await backAfter(cluster, affected, sinceMs, LAST_WORDS_MS))
    if (how === 'SIGSTOP') process.kill(node.app.pid, 'SIGCONT')
    else {
      await node.app.stop('SIGKILL')
      node.app = await cluster.start()
    }
  }
  return times
}

type HandOver = { readonly pbxsS: number; readonly allS: number; readonly silenceS: number }

async function handOver(cluster: BusyCluster, round: number): Promise<HandOver> {
  await cluster.untilOwned()
  const { node, affected } = await victimOf(cluster, round)
  const had = await cluster.sql.leasesOf(new URL(node.app.url).origin)
  const sinceMs = performance.now()
  const ended = node.app.stop('SIGTERM')
  const secondsUntil = async (leases: readonly string[]) => {
    await until('others have taken over', async () => {
      const now = await cluster.sql.terms()
      return leases.every((lease) =>
        now.some((other) => other !== lease && other.startsWith(`${lease.split(' ')[0]} `)),
      )
    })
    return (performance.now() - sinceMs) / 1_000
  }
  const [pbxsS, allS] = await Promise.all([
    secondsUntil(had.filter((lease) => lease.startsWith('pbx:'))),
    secondsUntil(had),
  ])
  await ended
  await Bun.sleep(2_000)
  const silences = affected.map((at) => {
    const times = (cluster.receivers[at]?.received ?? []).map(({ atMs }) => atMs).filter((atMs) => atMs > sinceMs)
    return Math.max(...times.map((atMs, place) => atMs - (times[place - 1] ?? sinceMs)))
  })
  node.app = await cluster.start()
  return { pbxsS, allS, silenceS: Math.max(...silences) / 1_000 }
}

/** Stops one node after the other, as a rolling upgrade does. */
export async function benchHandOver(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const cluster = await startBusyCluster({
    nodes: 3,
    accounts: 3,
    callsPerSecond: 5,
    seconds: 60 + ROUNDS * SETTLING_S,
    answerAfterMs: 200,
  })
  const all: HandOver[] = []
  for (let round = 0; round < ROUNDS; round += 1) all.push(await handOver(cluster, round))
  const { events, lost, repeated } = await cluster.finish()
  await cluster.stop()
  const pbxs = summaryOf(all.map(({ pbxsS }) => pbxsS))
  const leases = summaryOf(all.map(({ allS }) => allS))
  const silence = summaryOf(all.map(({ silenceS }) => silenceS))
  return [
    atMost('hand-over at SIGTERM: PBXs, p99', 1, pbxs.p99, ' s', pbxs.text),
    atMost('the same: all that it had, p99', 1, leases.p99, ' s', `${leases.text}; answers take 0.2 s`),
    figure('the same: longest silence at a receiver, p99', silence.p99, ' s', silence.text),
    atMost('the same: lost', 0, lost, '', `of ${events} events`),
    atMost('the same: sent twice', 0, repeated, ''),
  ]
}

/** Restarts the database. */
export async function benchReturn(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const seconds = 60 + ROUNDS * SETTLING_S
  const cluster = await startBusyCluster({ nodes: 3, accounts: 3, callsPerSecond: 5, seconds })
  const times: number[] = []
  let moved = 0
  for (let round = 0; round < Math.ceil(ROUNDS / 2); round += 1) {
    await cluster.untilOwned()
    const before = await cluster.sql.terms()
    await cluster.server.halt(round % 2 === 0 ? 'fast' : 'immediate')
    await Bun.sleep(OUTAGE_MS)
    await cluster.server.resume()
    times.push(await backAfter(cluster, [...cluster.receivers.keys()], performance.now(), 0))
    await Bun.sleep(SETTLING_MS)
    const after = await cluster.sql.terms()
    const gone = before.filter((lease) => !after.includes(lease))
    if (gone.length > 0)
      console.error(
        gone,
        after,
        cluster.nodes.map(({ app }) => app.output().slice(-3_000)),
      )
    moved += gone.length
  }
  const { events, lost, repeated } = await cluster.finish()
  await cluster.stop()
  const { p99, text } = summaryOf(times)
  return [
    atMost('deliveries after a restart of the database, p99', 3, p99, ' s', `${text}, away for ${OUTAGE_MS / 1_000} s`),
    atMost('the same: leases that changed their owner', 0, moved, ''),
    atMost('the same: lost', 0, lost, '', `of ${events} events; sent twice: ${repeated}`),
  ]
}
const SETTLING_MS = 6_000

/** Kills nodes, and freezes nodes. */
export async function benchTakeover(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  const seconds = 60 + ROUNDS * 3 * SETTLING_S
  const cluster = await startBusyCluster({ nodes: 3, accounts: 3, callsPerSecond: 5, seconds })
  const rows: Row[] = []
  for (const how of ['SIGKILL', 'SIGSTOP'] as const) {
    const { p99, text } = summaryOf(await takeovers(cluster, how))
    rows.push(atMost(`takeover after ${how}, fault to next request, p99`, 6.5, p99, ' s', text))
  }
  const { events, lost, repeated } = await cluster.finish()
  await cluster.stop()
  rows.push(atMost('lost in all of these', 0, lost, '', `of ${events} events; sent twice: ${repeated}`))
  return rows
}
