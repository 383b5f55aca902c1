import { mkdirSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import { createFolderSource } from '../../src/recordings/sources/folder-source.ts'
import { emptyFolder } from '../help/app.ts'
import { startAsterisk } from '../help/asterisk-load.ts'
import { savedRecording } from '../help/recordings.ts'
import { batch, openStore } from '../help/store.ts'
import { startWatched } from '../help/watched.ts'
import { quantile, residentMb, startCalls, type Taken } from './pbx-to-receiver.ts'
import { processorUs } from './postgres.ts'
import { atMost, figure, print, type Row } from './table.ts'

const CONNECTIONS = 1_000
/** Eight times as fast as WAV is played. */
const BYTES_PER_SECOND = 128_000
/** Three minutes of WAV: a download takes 22 s, so 44 end in a second, and as many begin. */
const FILE_BYTES = 2_880_000
const CALLS_PER_SECOND = 100
const WINDOW_MS = 2_500
/** Once downloads began or were cut off. */
const STEADY_AFTER_MS = 500
const QUIET_MS = 3_000
/** Another load on the machine lasts for seconds: many short turns, and their median, hide it. */
const TURNS = Number(process.env.DOWNLOAD_TURNS ?? 24)
/** How often all begin in one moment. */
const MOMENTS = 7
/** Not counted: code is compiled in it. */
const WARM_UP_TURNS = 1
/** It is stopped before. */
const MAX_SECONDS = 3_600

type Watched = Awaited<ReturnType<typeof startWatched>>
/** `control`: the same downloads from another process. */
const KINDS = ['alone', 'control', 'service'] as const
type Kind = (typeof KINDS)[number]
type Window = { readonly fromMs: number; readonly toMs: number; readonly busy: number; readonly memoryMb: number }

/** Adds a recording of the PBX `bench` to the store of a running service, beside it. */
async function addRecording(folder: string, file: string): Promise<string> {
  writeFileSync(join(folder, 'monitor', file), Buffer.alloc(FILE_BYTES, 'sound'))
  const source = await createFolderSource(join(folder, 'monitor')).open([file])
  if (source.kind !== 'file') throw new Error(source.reason)
  const { stamp, close } = source.file
  await close()
  const store = openStore(join(folder, 'data/hookswitch.db'))
  const call = { id: 'recorded', savedUs: nowUs(), direction: 'inbound' as const, fromNumber: null, toNumber: null }
  const recording = savedRecording('r', {
    callId: call.id,
    pbx: 'bench',
    path: file,
    sinceUs: nowUs(),
    sizeBytes: FILE_BYTES,
    stamp,
  })
  await store.calls.batchStore(batch({ saved: [{ ...call, record: '{}' }] }, { recordings: [recording] }))
  await store.stop()
  return '/call/recorded/recording/r'
}

/** Starts a process whose answers are lines. */
function startScript(name: string, args: readonly string[]) {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, name), ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const reader = child.stdout.getReader()
  return {
    pid: child.pid,
    async line(): Promise<string> {
      const { value } = await reader.read()
      return new TextDecoder().decode(value)
    },
    async ask(line: string): Promise<string> {
      child.stdin.write(`${line}\n`)
      await child.stdin.flush()
      return this.line()
    },
    async stop(): Promise<void> {
      child.kill()
      await child.exited
    },
  }
}

/** Starts clients that download while something is measured, at the lowest priority: users have them elsewhere. */
function startClients(url: string, token: string) {
  const clients = startScript('downloads.ts', [url, token, String(CONNECTIONS), String(BYTES_PER_SECOND)])
  setPriority(clients.pid, constants.priority.PRIORITY_LOW)
  const received = { bytes: 0, ended: 0, forMs: 0 }
  return {
    received,
    stop: clients.stop,
    /** Measures while all begin in one moment. */
    async atOnce(window: () => Promise<Window>): Promise<Window> {
      const [measured] = await Promise.all([window(), clients.ask('at once')])
      await clients.ask('off')
      return measured
    },
    async during(window: () => Promise<Window>): Promise<Window> {
      const beganMs = performance.now()
      await clients.ask('on')
      const measured = await window()
      const { bytes, ended, refused } = JSON.parse(await clients.ask('off'))
      if (refused > 0) throw new Error(`${refused} downloads were refused`)
      received.bytes += bytes
      received.ended += ended
      received.forMs += performance.now() - beganMs
      return measured
    },
  }
}

/** Lets windows of all kinds alternate beside calls that go on: each kind is first, second and last in turn. */
async function measureTurns(urls: Readonly<Record<'control' | 'service', string>>, { token, pid }: Watched) {
  const clients = { control: startClients(urls.control, token), service: startClients(urls.service, token) }
  async function steady(): Promise<Window> {
    await Bun.sleep(STEADY_AFTER_MS)
    return window()
  }
  async function window(): Promise<Window> {
    const [fromMs, fromUs] = [performance.now(), processorUs(pid())]
    await Bun.sleep(WINDOW_MS)
    const [toMs, toUs] = [performance.now(), processorUs(pid())]
    return { fromMs, toMs, busy: (toUs - fromUs) / 1_000 / (toMs - fromMs), memoryMb: residentMb(pid()) }
  }
  const turns: Record<Kind, Window>[] = []
  for (let turn = -WARM_UP_TURNS; turn < TURNS; turn += 1) {
    const windows: Partial<Record<Kind, Window>> = {}
    for (let at = 0; at < KINDS.length; at += 1) {
      const kind = KINDS[(turn + WARM_UP_TURNS + at) % KINDS.length] ?? 'alone'
      windows[kind] = kind === 'alone' ? await steady() : await clients[kind].during(steady)
    }
    const { alone, control, service } = windows
    if (turn >= 0 && alone && control && service) turns.push({ alone, control, service })
  }
  const moments: Record<'control' | 'service', Window>[] = []
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    const service = await clients.service.atOnce(window)
    await Bun.sleep(STEADY_AFTER_MS)
    moments.push({ service, control: await clients.control.atOnce(window) })
    await Bun.sleep(STEADY_AFTER_MS)
  }
  await Promise.all([clients.control.stop(), clients.service.stop()])
  return { turns, moments, received: { control: clients.control.received, service: clients.service.received } }
}

/** Waits until no further event arrives for QUIET_MS. */
async function allArrived({ receiver }: Watched): Promise<void> {
  for (let before = -1; receiver.received.length > before; await Bun.sleep(QUIET_MS)) before = receiver.received.length
}

const takenWithin = (taken: readonly Taken[], { fromMs, toMs }: Window): number[] =>
  taken.flatMap(({ sentMs, tookMs }) => (sentMs >= fromMs && sentMs < toMs ? tookMs : []))

function p99Of(taken: readonly Taken[], window: Window): number {
  const within = takenWithin(taken, window)
  if (within.length < (CALLS_PER_SECOND * WINDOW_MS) / 1_000)
    throw new Error(`only ${within.length} events in a window: this machine is too busy`)
  return quantile(ascending(within), 0.99)
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)
const median = (values: readonly number[]) => quantile(ascending(values), 0.5)

/** Returns the median of some values, and its confidence interval, which supposes nothing about them. */
function medianOf(values: readonly number[]) {
  const sorted = ascending(values)
  const below = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)) - 1)
  const [low, high] = [sorted[below] ?? Number.NaN, sorted[sorted.length - 1 - below] ?? Number.NaN]
  return { value: median(values), between: `95 %: ${low.toFixed(2)} to ${high.toFixed(2)}` }
}

/** How much longer an event takes to its receiver while a thousand clients download recordings. */
export async function benchRecordings(): Promise<Row[]> {
  using folder = emptyFolder()
  mkdirSync(join(folder.path, 'monitor'))
  const pbx = startAsterisk()
  const url = `ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk&recordings=${folder.path}/monitor`
  const watched: Watched = await startWatched(folder.path, [url])
  await pbx.ready
  const service = watched.url() + (await addRecording(folder.path, 'sound.wav'))
  const server = startScript('download-server.ts', [join(folder.path, 'monitor/sound.wav')])
  const control = `http://127.0.0.1:${Number(await server.line())}/`
  const calls = startCalls([pbx], watched, { callsPerSecond: CALLS_PER_SECOND, seconds: MAX_SECONDS })
  await Bun.sleep(calls.warmMs - performance.now())
  const measured = await measureTurns({ control, service }, watched)
  await calls.stop()
  await allArrived(watched)
  const taken = calls.taken()
  await Promise.all([watched.stop(), server.stop()])
  pbx.stop()
  return rowsOf(taken, measured)
}

function rowsOf(
  taken: readonly Taken[],
  { turns, moments, received }: Awaited<ReturnType<typeof measureTurns>>,
): Row[] {
  const p99s = turns.map(({ alone, control, service }) => ({
    alone: p99Of(taken, alone),
    control: p99Of(taken, control),
    service: p99Of(taken, service),
  }))
  const ratio = (of: Kind, by: Kind) => medianOf(p99s.map((one) => one[of] / one[by]))
  const middle = (kind: Kind) => `${median(p99s.map((one) => one[kind])).toFixed(1)} ms`
  const busy = (kind: Kind) => 100 * median(turns.map((one) => one[kind].busy))
  // The difference between two windows of the same kind: the noise of the machine.
  const alike = p99s.slice(1).map(({ alone }, index) => alone / (p99s[index]?.alone ?? Number.NaN))
  const noise = median(alike.map((one) => Math.max(one, 1 / one) - 1))
  const [fair, all, machine] = [ratio('service', 'control'), ratio('service', 'alone'), ratio('control', 'alone')]
  const slowest = (kind: 'control' | 'service') =>
    median(moments.map((one) => Math.max(...takenWithin(taken, one[kind]))))
  const row = (other: string) => `p99 PBX to receiver with ${CONNECTIONS} downloads ÷ ${other}`
  const { bytes, ended, forMs } = received.service
  const perSecond = (one: typeof received.service) => one.bytes / one.forMs / 1_000
  return [
    atMost(
      row('with them from another process'),
      1.05,
      fair.value,
      '',
      `${fair.between}; ${TURNS} turns, ${middle('service')} and ${middle('control')}`,
    ),
    figure(
      row('without'),
      all.value,
      '',
      `${all.between}; ${middle('alone')} without, where two differ by ${Math.round(noise * 100)} %`,
    ),
    figure(
      'the same where another process sends them',
      machine.value,
      '',
      `${machine.between}; what clients and kernel cost`,
    ),
    figure(
      'processor time of the service for them',
      busy('service') - busy('control'),
      ' % of a core',
      `${busy('control').toFixed(0)} % without`,
    ),
    figure(
      'these downloads',
      bytes / forMs / 1_000,
      ' MB/s',
      `${BYTES_PER_SECOND / 1_000} kB/s each, ${Math.round((ended / forMs) * 1_000)} end and begin a second; from the other process ${perSecond(received.control).toFixed(0)} MB/s`,
    ),
    figure(
      `the slowest event while all ${CONNECTIONS} begin in one moment`,
      slowest('service'),
      ' ms',
      `median of ${MOMENTS} times; ${slowest('control').toFixed(0)} ms where another process sends them`,
    ),
    figure(
      'memory with them',
      median(turns.map(({ service }) => service.memoryMb)),
      ' MB',
      `${Math.round(median(turns.map(({ alone }) => alone.memoryMb)))} MB without`,
    ),
  ]
}

if (import.meta.main) print(await benchRecordings())
