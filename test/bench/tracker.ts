import { readFileSync } from 'node:fs'
import type { Signal } from '../../src/calls/signal.ts'
import { newTracker, takeChanges, track } from '../../src/calls/tracker/tracker.ts'
import { newUuid } from '../../src/lib/id.ts'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../src/pbx/ami/events.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { EslDecoder } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import { fixture } from '../help/pbx.ts'
import type { Latency } from './pbx-to-receiver.ts'
import { atLeast, atMost, figure, perSecond, type Row } from './table.ts'

/** The rate of the tracker, and the memory of its calls. */

const OPTIONS = { trunks: [], extensions: [], variables: [] }
const START_US = 1_795_213_000_000_000
const CHUNK = 65_536

/** Customers on one PBX: each round of a recording belongs to another customer. */
const CUSTOMERS = Array.from({ length: 500 }, (_, index) => `customer${index}.example`)
const customerOf = (round: number): string => CUSTOMERS[round % CUSTOMERS.length] ?? ''

type EventRates = { eventsPerSecond: number; callEventsPerSecond: number; bytesPerSecond: number }

/**
 * PBX events decoded, translated and tracked per second on one core: a recording of many simultaneous calls, repeated
 * with new ids, in chunks like a socket's. The clock advances 15 s a round, as at the PBX.
 */
function benchAmi(seconds = 3, isShared = false): EventRates {
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, OPTIONS.variables) })
  const tenants = isShared ? ({ by: 'accountcode', variable: null } as const) : undefined
  const translator = createAmiTranslator({ ...OPTIONS, tenants })
  const renamed = (text: string, round: number) =>
    amiIds(isShared ? text.replace(/AccountCode: (?=\r)/g, `AccountCode: ${customerOf(round)}`) : text, round)
  return rate(seconds, { recording: readFileSync(fixture('s-load.ami')), renamed, isShared }, (chunk, atUs) => {
    const signals: Signal[] = []
    for (const frame of decoder.push(chunk)) signals.push(...translator.event(frame, atUs))
    return signals
  })
}

function benchEsl(seconds = 3, isShared = false): EventRates {
  const decoder = new EslDecoder()
  const tenants = isShared ? ({ by: 'domain', variable: null } as const) : undefined
  const translator = createEslTranslator({ ...OPTIONS, tenants })
  // Names of one length: the frames have theirs.
  const renamed = (text: string, round: number) =>
    eslIds(isShared ? text.replaceAll('pbx.example', `${customerOf(round)}`.slice(-11)) : text, round)
  return rate(seconds, { recording: readFileSync(fixture('concurrent.esl')), renamed, isShared }, (chunk, atUs) => {
    const signals: Signal[] = []
    for (const frame of decoder.push(chunk)) signals.push(...translator.event(frame, atUs))
    return signals
  })
}

/** Uniqueids (`1795213000.12`) and the ids of bridges. */
const amiIds = (text: string, round: number): string =>
  text
    .replace(/\b1795\d{6}(?=\.\d)/g, (epoch) => String(Number(epoch) + round * 1_000))
    .replace(/\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)/g, (head) =>
      ((Number.parseInt(head, 16) + round) >>> 0).toString(16).padStart(8, '0'),
    )
const eslIds = (text: string, round: number): string =>
  text.replace(/\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)/g, (head) =>
    ((Number.parseInt(head, 16) + round) >>> 0).toString(16).padStart(8, '0'),
  )

function rate(
  seconds: number,
  {
    recording,
    renamed,
    isShared,
  }: { recording: Buffer; renamed: (text: string, round: number) => string; isShared: boolean },
  read: (chunk: Buffer, atUs: number) => Signal[],
): EventRates {
  const text = recording.toString('latin1')
  const perRound = text.match(/^(Event-Name|Event): /gm)?.length ?? 0
  const accounts = new Set(CUSTOMERS.flatMap((name) => [name, name.slice(-11)]))
  const accountOf = (name: string) => (accounts.has(name.toLowerCase()) ? name.toLowerCase() : undefined)
  const state = {
    ...newTracker('bench', isShared ? null : 'default', newUuid),
    tenants: isShared ? { accountOf, isOnEveryChannel: false } : null,
  }
  const spent = { ms: 0, events: 0, bytes: 0, emitted: 0 }
  for (let round = 0; spent.ms < seconds * 1_000; round++) {
    const bytes = Buffer.from(renamed(text, round), 'latin1')
    const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, at) =>
      bytes.subarray(at * CHUNK, (at + 1) * CHUNK),
    )
    const startMs = performance.now()
    chunks.forEach((chunk, index) => {
      const atUs = START_US + round * 15_000_000 + Math.round((index / chunks.length) * 15_000_000)
      for (const signal of read(chunk, atUs)) spent.emitted += track(state, signal).events.length
      spent.emitted += track(state, { kind: 'tick', atUs, arrivedUs: atUs }).events.length
      takeChanges(state)
    })
    spent.ms += performance.now() - startMs
    spent.events += perRound
    spent.bytes += bytes.length
  }
  const rateOf = (count: number): number => Math.round((count / spent.ms) * 1_000)
  return {
    eventsPerSecond: rateOf(spent.events),
    callEventsPerSecond: rateOf(spent.emitted),
    bytesPerSecond: rateOf(spent.bytes),
  }
}

type Weight = { calls: number; bytesPerCall: number; megabytes: number; eventsPerSecond: number }

/**
 * Measures `calls` simultaneous calls, each between a caller and the phone that answered: their memory, and how fast
 * further calls begin and end among them.
 */
function benchManyCalls(calls = 10_000): Weight {
  const state = newTracker('bench', 'default', newUuid)
  Bun.gc(true)
  const before = process.memoryUsage()
  let emitted = 0
  const startMs = performance.now()
  const feed = (signal: Signal): void => {
    emitted += track(state, signal).events.length
    takeChanges(state)
  }
  const at = (call: number) => ({ atUs: START_US + call * 1_000, arrivedUs: START_US + call * 1_000 })
  for (let call = 0; call < calls; call++) for (const signal of callSignals(call)) feed({ ...signal, ...at(call) })
  const spentMs = performance.now() - startMs
  Bun.gc(true)
  const after = process.memoryUsage()
  const bytes = after.heapUsed - before.heapUsed
  return {
    calls: state.calls.size,
    bytesPerCall: Math.round(bytes / calls),
    megabytes: Math.round(after.rss / 1e6),
    eventsPerSecond: Math.round((emitted / spentMs) * 1_000),
  }
}

function callSignals(call: number) {
  const [a, b, bridge] = [`a${call}`, `b${call}`, `bridge ${call}`]
  const caller = { kind: 'external', number: `1555${call}`, name: null } as const
  const phone = { kind: 'extension', number: `${100 + (call % 900)}`, name: null } as const
  const place = { bridge, conference: false, holding: false }
  return [
    {
      kind: 'channel',
      id: a,
      linkedId: a,
      endpoint: caller,
      dialledNumber: '15550100101',
      originated: false,
      shown: null,
    },
    { kind: 'channel', id: b, linkedId: a, endpoint: phone, dialledNumber: null, originated: false, shown: null },
    { kind: 'dial_begin', source: a, dest: b, endpoint: phone, shown: null },
    { kind: 'ringing', id: b },
    { kind: 'dial_end', source: a, dest: b, result: 'answered', forwardedTo: null },
    { kind: 'bridged', id: a, ...place },
    { kind: 'bridged', id: b, ...place },
    { kind: 'hold', id: b, onHold: call % 10 === 0 },
  ] as const
}

/**
 * The rows of the table. Memory and durations of calls are measured in separate processes, since the other measurements
 * leave garbage.
 */
export async function benchTracker(): Promise<Row[]> {
  const ami = benchAmi()
  const esl = benchEsl()
  const [sharedAmi, sharedEsl] = [benchAmi(3, true), benchEsl(3, true)]
  const many: Weight = await Bun.$`bun ${import.meta.path} many`.json()
  const latency: Latency = await Bun.$`bun ${new URL('./pbx-to-receiver.ts', import.meta.url).pathname}`.json()
  const describe = (rates: EventRates): string => `${perSecond(rates.callEventsPerSecond)} call events`
  return [
    atLeast('AMI events decoded and tracked per second ÷ 100,000', 1, ami.eventsPerSecond / 100_000, describe(ami)),
    figure('ESL events decoded and tracked per second', esl.eventsPerSecond, '/s', describe(esl)),
    figure(
      'AMI events ÷ those of one customer, with 500',
      sharedAmi.eventsPerSecond / ami.eventsPerSecond,
      '',
      describe(sharedAmi),
    ),
    figure(
      'ESL events ÷ those of one customer, with 500',
      sharedEsl.eventsPerSecond / esl.eventsPerSecond,
      '',
      describe(sharedEsl),
    ),
    atMost('memory with 10,000 calls at a time', 150, many.megabytes, ' MB', `${many.bytesPerCall} bytes a call`),
    atMost('PBX to receiver at 200 calls/s, p99', 20, latency.p99Ms, ' ms', `${latency.events} events`),
    atMost(
      'PBX to receiver at 200 calls/s, p99 ÷ p50',
      5,
      latency.p99Ms / latency.p50Ms,
      '',
      `p50 ${latency.p50Ms.toFixed(1)} ms`,
    ),
  ]
}

if (import.meta.main) console.log(JSON.stringify(benchManyCalls()))
