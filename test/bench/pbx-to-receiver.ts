import { readFileSync } from 'node:fs'
import { emptyFolder } from '../help/app.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { startWatched } from '../help/watched.ts'

/** From an Asterisk's bytes to the receiver's handler, through the compiled file, at a steady rate of calls. */
export type Latency = { events: number; p50Ms: number; p99Ms: number; maxMs: number; memoryMb: number }

export type LatencyOptions = {
  /** Arguments for the store. */
  readonly store?: readonly string[]
  /** Starts what runs beside the calls, and returns how to stop it. The PBX then has recordings in `monitor` of the folder. */
  readonly beside?: (folder: string, watched: Awaited<ReturnType<typeof startWatched>>) => Promise<() => Promise<void>>
}

const TICK_MS = 5
/** The rate is steady; what the process compiles in its first seconds is not. */
const WARM_UP_MS = 2_000
/** Events that have nothing to wait for. */
const AT_ONCE = new Set(['call_started', 'dial_started', 'dial_answered', 'dial_ended'])

export async function benchLatency(
  callsPerSecond = 200,
  seconds = 10,
  { store = [], beside }: LatencyOptions = {},
): Promise<Latency> {
  using folder = emptyFolder()
  const pbx = startAsterisk()
  const recordings = beside === undefined ? '' : `&recordings=${folder.path}/monitor`
  const url = `ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk${recordings}`
  const watched = await startWatched(folder.path, [url], store)
  await pbx.ready
  const stopBeside = await beside?.(folder.path, watched)
  const sentMs = new Map<string, number>()
  const total = callsPerSecond * seconds
  const beginMs = performance.now() + 500
  const due = [...Array(total).keys()]
    .flatMap((call) => acts(call).map((act) => ({ ...act, atMs: (call * 1_000) / callsPerSecond + act.afterMs })))
    .toSorted((a, b) => a.atMs - b.atMs)
  for (let next = 0; next < due.length; ) {
    const nowMs = performance.now() - beginMs
    for (let act = due[next]; act !== undefined && act.atMs <= nowMs; act = due[++next]) {
      sentMs.set(`${act.call} ${act.emits}`, performance.now())
      pbx.send(act.bytes)
    }
    await Bun.sleep(TICK_MS)
  }
  const deadline = performance.now() + 10_000
  while (watched.receiver.received.length < total * 6 && performance.now() < deadline) await Bun.sleep(50)
  const tookMs = watched.receiver.received.flatMap(({ body, atMs }) => {
    const { data } = JSON.parse(body)
    const sent = AT_ONCE.has(data.name)
      ? sentMs.get(`${Number(data.call.from.number.slice(4))} ${data.name}`)
      : undefined
    return sent === undefined || sent < beginMs + WARM_UP_MS ? [] : atMs - sent
  })
  await stopBeside?.()
  const memoryMb = residentMb(watched.pid())
  await watched.stop()
  pbx.stop()
  if (tookMs.length < (AT_ONCE.size * (total - (callsPerSecond * WARM_UP_MS) / 1_000)) / 2)
    throw new Error(
      `only ${tookMs.length} events of ${watched.receiver.received.length} were recognised: is the caller still the number that was sent?`,
    )
  tookMs.sort((a, b) => a - b)
  const at = (share: number): number =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? Number.NaN
  return { events: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), memoryMb }
}

/** Returns how much memory a process has, in megabytes. */
export const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024

if (import.meta.main) console.log(JSON.stringify(await benchLatency()))
