import { readFileSync } from 'node:fs'
import { emptyFolder } from '../help/app.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import type { Receiver } from '../help/receiver.ts'
import { startWatched } from '../help/watched.ts'

/** Latency from an Asterisk's bytes to the receiver's handler, with the executable, at a steady rate of calls. */
export type Latency = { events: number; p50Ms: number; p99Ms: number; maxMs: number; memoryMb: number }

export type LatencyOptions = {
  /** Arguments for the store. */
  readonly store?: readonly string[]
  /** Changes the service before the calls begin. */
  readonly setUp?: ((watched: Awaited<ReturnType<typeof startWatched>>) => Promise<void>) | undefined
}

const TICK_MS = 5
/** The process compiles code during its first seconds. */
const WARM_UP_MS = 2_000
const ARRIVES_WITHIN_MS = 10_000
/** Events that have nothing to wait for. */
const AT_ONCE = new Set(['call_started', 'dial_started', 'dial_answered', 'dial_ended'])

type Pbx = Pick<ReturnType<typeof startAsterisk>, 'send'>
type Receiving = { readonly receiver: Pick<Receiver, 'received'> }

/** An event that arrived: when its bytes were sent, and how long it took from then on. */
export type Taken = { readonly sentMs: number; readonly tookMs: number }

/** Starts calls at a steady rate, on the PBXs in turns, until `rate.seconds` are over or `stop` is called. */
export function startCalls(pbxs: readonly Pbx[], { receiver }: Receiving, rate: Rate) {
  const { callsPerSecond, seconds } = rate
  const sentMs = new Map<string, number>()
  const total = callsPerSecond * seconds
  const beginMs = performance.now() + 500
  let stopped = false
  const actsOf = (call: number) =>
    acts(call).map((act) => ({ ...act, atMs: (call * 1_000) / callsPerSecond + act.afterMs }))
  async function play(): Promise<void> {
    let next = 0
    for (let due: ReturnType<typeof actsOf> = []; (next < total || due.length > 0) && !stopped; ) {
      const nowMs = performance.now() - beginMs
      for (; next < total && (next * 1_000) / callsPerSecond <= nowMs; next += 1) due.push(...actsOf(next))
      due.sort((one, other) => one.atMs - other.atMs)
      const left = due.findIndex(({ atMs }) => atMs > nowMs)
      for (const act of due.splice(0, left < 0 ? due.length : left)) {
        sentMs.set(`${act.call} ${act.emits}`, performance.now())
        pbxs[act.call % pbxs.length]?.send(act.bytes)
      }
      await Bun.sleep(TICK_MS)
    }
  }
  const ended = play()
  return {
    /** Requests count from this moment: the process is warm then. */
    warmMs: beginMs + WARM_UP_MS,
    /** Resolves when all calls were made. */
    ended,
    async stop(): Promise<void> {
      stopped = true
      await ended
    },
    /** Returns the events that have arrived, there or at another receiver, of those that have nothing to wait for. */
    taken: ({ received }: Receiving['receiver'] = receiver): Taken[] =>
      received.flatMap(({ body, atMs }) => {
        const { data } = JSON.parse(body)
        if (!AT_ONCE.has(data.name)) return []
        const atPbxMs = sentMs.get(`${Number(data.call.from.number.slice(4))} ${data.name}`)
        return atPbxMs === undefined ? [] : [{ sentMs: atPbxMs, tookMs: atMs - atPbxMs }]
      }),
  }
}

type Rate = { readonly callsPerSecond: number; readonly seconds: number }

export async function benchLatency(
  callsPerSecond = 200,
  seconds = 10,
  { store = [], setUp = async () => {} }: LatencyOptions = {},
): Promise<Latency> {
  using folder = emptyFolder()
  const pbx = startAsterisk()
  const url = `ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk`
  const watched = await startWatched(folder.path, [url], store)
  await pbx.ready
  await setUp(watched)
  const calls = startCalls([pbx], watched, { callsPerSecond, seconds })
  await calls.ended
  const total = callsPerSecond * seconds
  const deadline = performance.now() + ARRIVES_WITHIN_MS
  while (watched.receiver.received.length < total * 6 && performance.now() < deadline) await Bun.sleep(50)
  const tookMs = calls.taken().flatMap((one) => (one.sentMs < calls.warmMs ? [] : one.tookMs))
  const memoryMb = residentMb(watched.pid())
  await watched.stop()
  pbx.stop()
  if (tookMs.length < (AT_ONCE.size * (total - (callsPerSecond * WARM_UP_MS) / 1_000)) / 2)
    throw new Error(
      `only ${tookMs.length} events of ${watched.receiver.received.length} were recognised: is the caller still the number that was sent?`,
    )
  tookMs.sort((a, b) => a - b)
  return {
    events: tookMs.length,
    p50Ms: quantile(tookMs, 0.5),
    p99Ms: quantile(tookMs, 0.99),
    maxMs: quantile(tookMs, 1),
    memoryMb,
  }
}

/** Returns the value below which a share of sorted values is. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** Returns how much memory a process has, in megabytes. */
export const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024

if (import.meta.main) console.log(JSON.stringify(await benchLatency()))
