import { buildOnce, emptyFolder, run, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { residentMb } from './pbx-to-receiver.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { startBusyAsterisk } from './stalls-pbx.ts'
import { startProbe } from './stalls-probe.ts'
import { atMost, type Row } from './table.ts'

/** The bound of open calls is 20,000. */
const CALLS = 19_800
const BAR_MS = 100
const WITHIN_MS = 120_000
const ARGS = ['--allow-net', 'loopback', '--log-level', 'error']

/**
 * How long the first connection to a PBX with many open calls, and a reconnect to it, keep the service from answering
 * others; until all calls are live.
 */
export async function benchResync(): Promise<Row[]> {
  await buildOnce()
  using folder = emptyFolder()
  await using receiver = await startReceiverProcess(1)
  const pbx = startBusyAsterisk(CALLS)
  const app = await startServe({ cwd: folder.path, args: ARGS })
  const token = await newToken(app, 'bench@example.com')
  await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.urls[0] ?? '')] })
  using probe = startProbe(app)
  const busy = async () => {
    const { body } = await ask(app, 'GET', '/pbx', { token })
    const [one] = body.result as { since: string; state: string; calls: number }[]
    return one?.state === 'up' && one.calls >= CALLS ? one.since : undefined
  }
  const idle = await probe.during(() => Bun.sleep(1_000))
  const first = await probe.during(async () => {
    const added = await run(['pbx', 'add', pbx.url], { cwd: app.cwd })
    if (added.code !== 0) throw new Error(added.stderr)
    await until(async () => (await busy()) !== undefined)
  })
  const again = await probe.during(async () => {
    const before = await busy()
    pbx.cut()
    await until(async () => ![undefined, before].includes(await busy()))
    // The list comes after the connection, and once more 2 s later.
    await Bun.sleep(5_000)
  })
  const memory = residentMb(app.pid)
  await app.stop('SIGKILL')
  pbx.stop()
  const detail = (tookMs: number) =>
    `took ${(tookMs / 1_000).toFixed(1)} s; beside nothing ${idle.longestMs.toFixed(0)} ms; ${memory.toFixed(0)} MB`
  return [
    atMost(`longest stall at a first connection, ${CALLS} calls`, BAR_MS, first.longestMs, ' ms', detail(first.tookMs)),
    atMost(`longest stall at a reconnect, ${CALLS} calls`, BAR_MS, again.longestMs, ' ms', detail(again.tookMs)),
  ]
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WITHIN_MS
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error('the PBX did not get so far')
    await Bun.sleep(200)
  }
}
