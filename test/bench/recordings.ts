import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { emptyFolder } from '../help/app.ts'
import { startAsterisk } from '../help/asterisk-load.ts'
import { batch, openStore } from '../help/store.ts'
import { startWatched } from '../help/watched.ts'
import { quantile, startCalls, type Taken } from './pbx-to-receiver.ts'
import { atMost, figure, type Row } from './table.ts'

const CONNECTIONS = 1_000
/** Eight times as fast as WAV is played. */
const BYTES_PER_SECOND = 128_000
/** None of them ends while it is measured. */
const FILE_BYTES = 64_000_000
const CALLS_PER_SECOND = 100
const WINDOW_MS = 4_000
/** Once connections were opened or closed. */
const STEADY_AFTER_MS = 500
const QUIET_MS = 3_000
/** A machine that is busy with something else is so for seconds: many short turns, and their median, do not see it. */
const PAIRS = 11
/** It is stopped before. */
const MAX_SECONDS = 3_600

type Watched = Awaited<ReturnType<typeof startWatched>>
type Window = { readonly fromMs: number; readonly toMs: number }

/** Adds a recording of the PBX `bench` to the store of a running service, beside it. */
async function addRecording(folder: string): Promise<string> {
  mkdirSync(join(folder, 'monitor'))
  writeFileSync(join(folder, 'monitor/large.wav'), Buffer.alloc(FILE_BYTES, 'sound'))
  const store = openStore(join(folder, 'data/hookswitch.db'))
  const call = { id: 'recorded', savedUs: nowUs(), direction: 'inbound' as const, fromNumber: null, toNumber: null }
  const recording: RecordingRecord = {
    ...{ callId: call.id, id: 'r', accountId: 1, pbx: 'bench', path: 'large.wav', state: 'failed', sinceUs: nowUs() },
    ...{ sequence: 1, error: null, sizeBytes: null, stamp: null, sha256: null, mediaType: null, copy: null },
  }
  await store.calls.batchStore(batch({ saved: [{ ...call, record: '{}' }] }, { recordings: [recording] }))
  await store.stop()
  return '/call/recorded/recording/r'
}

/** Starts downloads of a recording in a process of their own. Returns how to stop them, which returns their bytes. */
async function startDownloads(url: string, token: string): Promise<() => Promise<number>> {
  const rates = [CONNECTIONS, BYTES_PER_SECOND].map(String)
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, 'downloads.ts'), url, token, ...rates], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const reader = child.stdout.getReader()
  await reader.read()
  return async () => {
    child.stdin.end()
    const { value } = await reader.read()
    const { bytes, refused } = JSON.parse(new TextDecoder().decode(value))
    await child.exited
    if (refused > 0) throw new Error(`${refused} downloads were refused`)
    return bytes
  }
}

async function quietWindow(): Promise<Window> {
  await Bun.sleep(STEADY_AFTER_MS)
  const fromMs = performance.now()
  await Bun.sleep(WINDOW_MS)
  return { fromMs, toMs: performance.now() }
}

/** Lets windows with and without downloads alternate beside calls that go on: the first of a pair is each in turn. */
async function measurePairs(url: string, token: string) {
  const pairs: { alone: Window; beside: Window }[] = []
  const received = { bytes: 0, forMs: 0 }
  const withDownloads = async () => {
    const beganMs = performance.now()
    const stop = await startDownloads(url, token)
    const window = await quietWindow()
    received.bytes += await stop()
    received.forMs += performance.now() - beganMs
    return window
  }
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const before = pair % 2 === 0 ? await quietWindow() : undefined
    const beside = await withDownloads()
    pairs.push({ alone: before ?? (await quietWindow()), beside })
  }
  return { pairs, received }
}

/** Waits until nothing arrives any more. */
async function allArrived({ receiver }: Watched): Promise<void> {
  for (let before = -1; receiver.received.length > before; await Bun.sleep(QUIET_MS)) before = receiver.received.length
}

function p99Of(taken: readonly Taken[], { fromMs, toMs }: Window): number {
  const within = taken.flatMap(({ sentMs, tookMs }) => (sentMs >= fromMs && sentMs < toMs ? tookMs : []))
  if (within.length < (CALLS_PER_SECOND * WINDOW_MS) / 1_000)
    throw new Error(`only ${within.length} events in a window: this machine is too busy`)
  return quantile(
    within.toSorted((a, b) => a - b),
    0.99,
  )
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)
const median = (values: readonly number[]) => quantile(ascending(values), 0.5)

/** How much longer an event takes to its receiver while a thousand clients download a recording. */
export async function benchRecordings(): Promise<Row[]> {
  using folder = emptyFolder()
  const pbx = startAsterisk()
  const url = `ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk&recordings=${folder.path}/monitor`
  const watched: Watched = await startWatched(folder.path, [url])
  await pbx.ready
  const recording = watched.url() + (await addRecording(folder.path))
  const headers = { authorization: `Bearer ${watched.token}` }
  // A file that was just written may still grow.
  while ((await fetch(recording, { method: 'HEAD', headers })).status !== 200) await Bun.sleep(100)
  const calls = startCalls([pbx], watched, { callsPerSecond: CALLS_PER_SECOND, seconds: MAX_SECONDS })
  await Bun.sleep(calls.warmMs - performance.now())
  const { pairs, received } = await measurePairs(recording, watched.token)
  await calls.stop()
  await allArrived(watched)
  const taken = calls.taken()
  await watched.stop()
  pbx.stop()

  const figures = pairs.map((pair) => ({ alone: p99Of(taken, pair.alone), beside: p99Of(taken, pair.beside) }))
  const ratios = ascending(figures.map(({ alone, beside }) => beside / alone))
  // How far two windows of the same kind are apart: what the machine adds by itself.
  const alike = figures.slice(1).map(({ alone }, index) => alone / (figures[index]?.alone ?? Number.NaN))
  const noise = median(alike.map((ratio) => Math.max(ratio, 1 / ratio) - 1))
  const [alone, beside] = [median(figures.map((one) => one.alone)), median(figures.map((one) => one.beside))]
  const half = `half of the pairs ${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}`
  const detail =
    `median of ${PAIRS} pairs, ${half}; ${beside.toFixed(1)} ms and ${alone.toFixed(1)} ms; ` +
    `two windows without differ by ${Math.round(noise * 100)} %`
  return [
    atMost(`p99 PBX to receiver with ${CONNECTIONS} downloads ÷ without`, 1.05, median(ratios), '', detail),
    figure(
      'these downloads',
      received.bytes / received.forMs / 1_000,
      ' MB/s',
      `${BYTES_PER_SECOND / 1_000} kB/s each`,
    ),
  ]
}

if (import.meta.main) console.log(JSON.stringify(await benchRecordings()))
