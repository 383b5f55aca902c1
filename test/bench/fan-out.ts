import { readdirSync, readFileSync } from 'node:fs'
import { emptyFolder, startServe } from '../help/app.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { bodyOf } from './delivery.ts'
import { bareRate, startReceiverProcess } from './receiver-process.ts'

/** Rate, processor time and memory from an Asterisk's bytes to all webhooks of an account, with the executable. */

/** Deliveries before the measured ones, so that the hot code is compiled. */
const WARM_UP_DELIVERIES = 20_000
const POLL_MS = 10
const EVENTS_PER_CALL = new Set(acts(0).flatMap(({ emits }) => (emits === '' ? [] : [emits]))).size + 2

type FanOut = {
  readonly perSecond: number
  readonly barePerSecond: number
  /** Processor time of the process for 1,000 deliveries, in milliseconds, and of its threads, by name. */
  readonly processorMs: number
  readonly threadsMs: Readonly<Record<string, number>>
  readonly peakMb: number
}

type FanOutOptions = {
  readonly executable?: string | undefined
  readonly webhooks: number
  readonly deliveries: number
}

/** Returns the processor time of the threads of a process so far, in microseconds, summed by name. */
function threadsUs(pid: number): Map<string, number> {
  const sums = new Map<string, number>()
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const name = Number(task) === pid ? 'main' : readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim()
      const [ns = '0'] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')
      sums.set(name, (sums.get(name) ?? 0) + Number(ns) / 1_000)
    } catch {
      // It has ended meanwhile.
    }
  }
  return sums
}

/** Returns the highest memory that a process has had, in megabytes. */
const peakMb = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024

const sumOf = (times: ReadonlyMap<string, number>): number => [...times.values()].reduce((sum, us) => sum + us, 0)

/** Measures a build: calls as fast as it takes them, each event to some webhooks of one receiver. */
export async function fanOut({ executable, webhooks, deliveries }: FanOutOptions): Promise<FanOut> {
  using folder = emptyFolder()
  using receivers = await startReceiverProcess(1)
  const [url = ''] = receivers.urls
  const pbx = startAsterisk()
  const args = ['--allow-net', 'loopback', '--log-level', 'error']
  const app = await startServe({
    cwd: folder.path,
    args: [...args, '--pbx', `ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk`],
    executable,
  })
  const build = executable === undefined ? {} : { executable }
  const token = await newToken(app, 'bench@example.com', build)
  const list = Array.from({ length: webhooks }, (_, n) => webhook(`${url}/${n}`))
  const { status, body } = await ask(app, 'PUT', '/integration/webhook', { token, body: list })
  if (status !== 200) throw new Error(body.message)
  await pbx.ready
  const requests = async (): Promise<number> => (await (await fetch(new URL('/count', url))).json()).requests
  let call = 0
  const play = async (count: number): Promise<void> => {
    const before = await requests()
    const calls = Math.ceil(count / webhooks / EVENTS_PER_CALL)
    for (const end = call + calls; call < end; ) {
      const batch = Array.from({ length: Math.min(8, end - call) }, () => acts(call++))
      pbx.send(batch.flatMap((pieces) => pieces.map(({ bytes }) => bytes)).join(''))
      while (pbx.unsent() > 0) await Bun.sleep(1)
    }
    while ((await requests()) - before < calls * webhooks * EVENTS_PER_CALL) await Bun.sleep(POLL_MS)
  }
  await play(WARM_UP_DELIVERIES)
  const bareBefore = await bareRate([url], bodyOf(1_024), deliveries / 4)
  const before = threadsUs(app.pid)
  const startedMs = performance.now()
  await play(deliveries)
  const tookMs = performance.now() - startedMs
  const after = threadsUs(app.pid)
  const bareAfter = await bareRate([url], bodyOf(1_024), deliveries / 4)
  const memory = peakMb(app.pid)
  await app.stop()
  pbx.stop()
  const threadsMs = [...after].map(([name, us]) => [name, (us - (before.get(name) ?? 0)) / deliveries] as const)
  return {
    perSecond: (deliveries / tookMs) * 1_000,
    barePerSecond: (bareBefore + bareAfter) / 2,
    processorMs: (sumOf(after) - sumOf(before)) / deliveries,
    threadsMs: Object.fromEntries(threadsMs.filter(([, ms]) => ms >= 0.5)),
    peakMb: memory,
  }
}
