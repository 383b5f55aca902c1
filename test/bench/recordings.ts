import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { batch, openStore } from '../help/store.ts'
import type { startWatched } from '../help/watched.ts'
import { benchLatency } from './pbx-to-receiver.ts'
import { atMost, figure, type Row } from './table.ts'

const CONNECTIONS = 1_000
/** Eight times as fast as WAV is played. */
const BYTES_PER_SECOND = 128_000
/** None of them ends while it is measured. */
const FILE_BYTES = 64_000_000
const CALLS_PER_SECOND = 100
const SECONDS = 6
const TURNS = 3

type Watched = Awaited<ReturnType<typeof startWatched>>
type Load = { readonly connections: number; readonly received: { bytes: number; forMs: number } }

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

/** Starts downloads of a recording from a service that has just started. */
async function startDownloads(folder: string, watched: Watched, { connections, received }: Load) {
  const path = await addRecording(folder)
  const headers = { authorization: `Bearer ${watched.token}` }
  // A file that was just written may still grow.
  while ((await fetch(watched.url() + path, { method: 'HEAD', headers })).status !== 200) await Bun.sleep(100)
  const rates = [connections, BYTES_PER_SECOND].map(String)
  const child = Bun.spawn(
    [process.execPath, resolve(import.meta.dir, 'downloads.ts'), watched.url() + path, watched.token, ...rates],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  )
  const reader = child.stdout.getReader()
  await reader.read()
  const beganMs = performance.now()
  return async () => {
    child.stdin.end()
    const { value } = await reader.read()
    const { bytes, refused } = JSON.parse(new TextDecoder().decode(value))
    await child.exited
    if (refused > 0) throw new Error(`${refused} downloads were refused`)
    received.bytes += bytes
    received.forMs += performance.now() - beganMs
  }
}

/** How much longer an event takes to its receiver while a thousand clients download a recording. In turns, so that both see the same machine. */
export async function benchRecordings(): Promise<Row[]> {
  const received = { bytes: 0, forMs: 0 }
  const measure = async (connections: number) =>
    (
      await benchLatency(CALLS_PER_SECOND, SECONDS, {
        beside: (folder, watched) => startDownloads(folder, watched, { connections, received }),
      })
    ).p99Ms
  const alone: number[] = []
  const beside: number[] = []
  for (let turn = 0; turn < TURNS; turn += 1) {
    alone.push(await measure(0))
    beside.push(await measure(CONNECTIONS))
  }
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  const [one, other] = [median(alone), median(beside)]
  const detail = `${other.toFixed(1)} ms, without ${one.toFixed(1)} ms, medians of ${TURNS}`
  return [
    atMost(`p99 PBX to receiver with ${CONNECTIONS} downloads ÷ without`, 1.05, other / one, '', detail),
    figure(
      'these downloads',
      received.bytes / received.forMs / 1_000,
      ' MB/s',
      `${BYTES_PER_SECOND / 1_000} kB/s each`,
    ),
  ]
}

if (import.meta.main) console.log(JSON.stringify(await benchRecordings()))
