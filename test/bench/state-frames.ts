import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { createLog } from '../../src/lib/log.ts'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../src/pbx/ami/events.ts'
import { createAmiStates } from '../../src/pbx/ami/states.ts'
import { startStateIngest } from '../../src/states/ingest/state-ingest.ts'
import type { EndpointEntry, StateSignal } from '../../src/states/signal.ts'
import type { CallBatch } from '../../src/store/operations/calls.ts'
import { memberFrame, phoneFrames, queueOf } from './stormy-pbx.ts'

/** The first row has no bar of its own: all others are compared with it. */
export const SIZES = [100, 1_000, 10_000, 50_000] as const
/** The bytes that one read of a socket brings. */
const CHUNK_BYTES = 64 * 1024
/** Rounds over all phones begin within this time; the last one ends after three times as much. */
const MEASURE_MS = 3_000
const START_US = 1_795_213_000_000_000

/**
 * Measures how many frames per second become states, from the bytes of an Asterisk to the writes for the store, while
 * the states of all phones wait to be stable. The store answers at once, and the clock stands still.
 */
export async function stateFramesPerSecond(phones: number): Promise<number> {
  const names = Array.from({ length: phones }, (_, at) => `${100_000 + at}`)
  const entries = names.map(
    (key): EndpointEntry => ({ endpoint: `PJSIP/${key}`, kind: 'phone', key, name: null, tenant: null }),
  )
  let endpoints: readonly EndpointEntry[] | undefined = entries
  const ingest = await startStateIngest({
    account: 'default',
    accountOf: () => 'default',
    accountOfQueue: () => 'default',
    calls: {
      subjectStateList: async () => [],
      batchStore: async ({ parts }: CallBatch) =>
        parts.flatMap(({ events }) => events.map(() => ({ id: null, webhookIds: [] }))),
    },
    ownership: OWNS_EVERYTHING,
    pbx: 'bench',
    accountIdOf: () => 1,
    endpoints() {
      const taken = endpoints
      endpoints = undefined
      return taken
    },
    onStored() {},
    log: createLog('silent'),
    nowUs: () => START_US,
    steadyUs: () => START_US,
  })
  const present = () => [...ingest.presentOf(() => true)]
  ingest.feed([
    { kind: 'connected', atUs: START_US },
    { kind: 'listed', atUs: START_US },
  ])
  ingest.feed(entries.flatMap(({ endpoint }) => appeared(endpoint)))
  ingest.feed(names.map((name, at) => memberOf(name, at, phones)))
  await reached(() => present().filter(({ kind }) => kind === 'agent').length === phones)

  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
  const states = createAmiStates()
  let skipped = 0
  const read = (chunk: Uint8Array): number => {
    const frames = decoder.push(chunk)
    for (const frame of frames) ingest.feed(states.signals(frame, START_US))
    const count = frames.length + decoder.skipped - skipped
    skipped = decoder.skipped
    return count
  }
  read(Buffer.from('Asterisk Call Manager/9.0.0\r\n'))
  const rounds = ['Unreachable', 'Reachable'] as const
  let frames = 0
  let elapsedMs = 0
  for (let round = 0; elapsedMs < MEASURE_MS; round += 1) {
    const status = rounds[round % 2] ?? 'Reachable'
    const bytes = Buffer.concat(
      names.map((name, at) => Buffer.from(phoneFrames(name, status) + memberFrame(name, queueOf(at, phones), status))),
    )
    const startMs = performance.now()
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
      frames += read(bytes.subarray(from, from + CHUNK_BYTES))
      // As between two reads of a socket.
      await new Promise((resolve) => void setImmediate(resolve))
      if (elapsedMs + performance.now() - startMs > 3 * MEASURE_MS) break
    }
    // What has been fed is processed when a last signal, of a queue of its own, is.
    const mark = `end ${round}`
    ingest.feed([{ kind: 'queue', queue: mark, atUs: START_US }])
    await reached(() => present().some(({ kind, state }) => kind === 'queue' && state.queue === mark))
    elapsedMs += performance.now() - startMs
  }
  await ingest.stop()
  return (frames / elapsedMs) * 1_000
}

const appeared = (endpoint: string): StateSignal[] => [
  { kind: 'contact', endpoint, contact: 'first', state: 'reachable', atUs: START_US },
]

const memberOf = (name: string, at: number, phones: number): StateSignal => ({
  kind: 'member',
  queue: queueOf(at, phones),
  member: `PJSIP/${name}`,
  endpoint: `PJSIP/${name}`,
  extension: name,
  state: 'available',
  reason: null,
  atUs: START_US,
})

async function reached(isReached: () => boolean): Promise<void> {
  while (!isReached()) await Bun.sleep(1)
}
