import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { EslDecoder } from '../../src/pbx/esl/decoder.ts'
import { type PbxRecording, recordingOf } from '../../src/pbx/recorded/recording.ts'
import { KNOWN } from './known-differences.ts'
import { FIXTURES, readExpectedFile, readRecording } from './recording.ts'

/**
 * Makes recordings of real PBXs into recordings of one PBX with many customers: with new ids, and the customer's name
 * in each channel.
 */

export type Kind = 'asterisk' | 'freeswitch'

/** A customer with its recordings and their expected events. */
type Customer = { readonly name: string; readonly fixtures: readonly string[]; readonly expected: string }

/**
 * Recordings that cannot be used: with several connections or none, with a PBX that stops, about timestamps, or with
 * load.
 */
const UNFIT =
  /reconnect|gap-|^unseen-|^mid-|restart|killed|stopped|bad-auth|login-refused|s-load|timestampevents|resync|ami-redirect|concurrent|sequential/

/** Returns whether other events than those of a recording's `.expected` are known to come. */
const hasOtherWords = (recording: string): boolean =>
  KNOWN[recording]?.differences.some((one) => one.includes('\n')) ?? false

const namesOf = (kind: Kind): string[] =>
  readdirSync(join(FIXTURES, kind))
    .filter((file) => file.endsWith('.expected') && !UNFIT.test(file))
    .map((file) => file.replace('.expected', ''))
    // A folder lists its files in any order: each machine must give a customer the same recordings.
    .toSorted()
    .filter((name) => !hasOtherWords(`${kind}/${name}`))

/** Makes `count` customers and gives each recording to two of them. */
export function customersOf(kind: Kind, count: number): Customer[] {
  const names = namesOf(kind)
  const half = Math.floor(count / 2)
  return Array.from({ length: count }, (_, index) => {
    const fixtures = names.filter((_name, at) => at % half === index % half)
    const name = `Customer${index}.example`
    const expected = fixtures.map((fixture) => readExpectedFile(`${kind}/${fixture}`)).join('\n\n')
    return { name, fixtures, expected: expected.replace(/\b(?:pbx|acme)\.example/g, name) }
  })
}

type Frame = { readonly bytes: Buffer; readonly atMs: number }

/** Between the beginnings of two recordings: so that all are up at the same time, and none begins with another. */
const APART_MS = 37
/** Between two recordings of one customer, which use the same parties and parking slots. */
const OF_ONE_APART_MS = 90_000

type CustomerFrame = Frame & { readonly customer: string }

function framesOfAll(kind: Kind, customers: readonly Customer[]): CustomerFrame[] {
  return customers.flatMap(({ name, fixtures }, index) =>
    fixtures.flatMap((fixture, nth) => {
      const fromMs = index * APART_MS + nth * OF_ONE_APART_MS
      const number = index + 1 + nth * 100
      const frames = kind === 'asterisk' ? amiFrames(fixture, number, name) : eslFrames(fixture, number, name, fromMs)
      return frames.map(({ bytes, atMs }) => ({ customer: name, bytes, atMs: atMs + fromMs }))
    }),
  )
}

/** Returns when the recording of each customer ends, in milliseconds of the recording of all. */
export function endsMs(kind: Kind, customers: readonly Customer[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>()
  for (const { customer, atMs } of framesOfAll(kind, customers))
    ends.set(customer, Math.max(atMs, ends.get(customer) ?? 0))
  return ends
}

/** Returns the recordings of all customers as one, played at once. */
export function recordingOfAll(kind: Kind, customers: readonly Customer[]): PbxRecording {
  const ordered = framesOfAll(kind, customers).toSorted((a, b) => a.atMs - b.atMs)
  const head = Buffer.from(kind === 'asterisk' ? GREETING : ESL_GREETING)
  let offset = head.length
  const timing = ordered.map(({ bytes, atMs }) => {
    const line = `${offset} ${atMs}`
    offset += bytes.length
    return line
  })
  const bytes = Buffer.concat([head, ...ordered.map((frame) => frame.bytes)])
  return recordingOf(kind, bytes, ['0 0', ...timing].join('\n'))
}

/**
 * Returns when the first channel is hung up: each customer has a call up at that moment.
 * @throws if a customer has no call up.
 */
export function firstHangupMs({ bytes, cameMs }: PbxRecording, customers: readonly Customer[]): number {
  const without = new Set(customers.map(({ name }) => name))
  let end = 0
  for (const frame of bytes.toString('latin1').split('\r\n\r\n')) {
    end += frame.length + '\r\n\r\n'.length
    if (/^Event: Hangup\r/m.test(frame)) {
      if (without.size > 0) throw new Error(`a call is over before these have one: ${[...without].join(', ')}`)
      return cameMs(end)
    }
    if (/^Event: DialBegin\r/m.test(frame)) without.delete(/^(?:Dest)?AccountCode: (.*)\r$/m.exec(frame)?.[1] ?? '')
  }
  throw new Error('no channel is hung up')
}

const GREETING = 'Asterisk Call Manager/11.0.0\r\n'
const ESL_GREETING = 'Content-Type: auth/request\n\n'

function amiFrames(fixture: string, number: number, customer: string): Frame[] {
  const decoder = new AmiDecoder()
  let text = ''
  return readRecording(`asterisk/${fixture}`).flatMap(({ bytes, atMs }) => {
    text += Buffer.from(bytes).toString('latin1')
    decoder.push(bytes)
    const frames = text.split('\r\n\r\n')
    text = frames.pop() ?? ''
    return frames
      .map((frame) => frame.replace(/^Asterisk Call Manager.*\r\n/, ''))
      .filter((frame) => frame.startsWith('Event: ') && /^Privilege: /m.test(frame) && !/^ActionID: /m.test(frame))
      .filter((frame) => !/^Event: (FullyBooted|SuccessfulAuth|Reload|Shutdown)\r/.test(frame))
      .map((frame) => ({ bytes: Buffer.from(`${amiFrame(frame, number, customer)}\r\n\r\n`, 'latin1'), atMs }))
  })
}

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')

function amiFrame(frame: string, number: number, customer: string): string {
  return frame
    .replace(/\b(\d{10})\.(\d{1,6})\b/g, (_, epoch, nth) => `${epoch}.${number * 100_000 + Number(nth)}`)
    .replace(/-[0-9a-f]{4}([0-9a-f]{4})(?=[;\r\s]|$)/g, (_, rest) => `-${hex(number, 4)}${rest}`)
    .replace(/\b[0-9a-f]{4}([0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)/g, (_, rest) => `${hex(number, 4)}${rest}`)
    .replace(/^(\w*AccountCode): [^\r\n]*\r?$/gm, (_, key) => `${key}: ${customer}\r`)
}

function eslFrames(fixture: string, number: number, customer: string, fromMs: number): Frame[] {
  const decoder = new EslDecoder()
  let firstUs: number | undefined
  return readRecording(`freeswitch/${fixture}`).flatMap(({ bytes, atMs }) =>
    decoder.push(bytes).flatMap((frame): Frame[] => {
      const { event } = frame
      if (event === undefined || ['HEARTBEAT', 'BACKGROUND_JOB', 'RELOADXML'].includes(event.name)) return []
      const stampUs = Number(event.get('Event-Date-Timestamp'))
      firstUs ??= stampUs - atMs * 1_000
      const stamp = String(Math.round(stampUs - firstUs + fromMs * 1_000 + ESL_BEGAN_US))
      const body = frame.body
        .replace(/\b[0-9a-f]{4}([0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)/g, (_, rest) => `${hex(number, 4)}${rest}`)
        .replace(/\b(?:pbx|acme)\.example/g, customer)
        .replace(/^(Event-Date-Timestamp: )\d+/m, (_, key) => key + stamp)
        .replace(/("Event-Date-Timestamp":\s*")\d+/, (_, key) => key + stamp)
      const head = `Content-Length: ${Buffer.byteLength(body)}\nContent-Type: ${frame.contentType}\n\n`
      return [{ bytes: Buffer.from(head + body), atMs }]
    }),
  )
}

const ESL_BEGAN_US = 1_795_213_000_000_000

/** Returns whose a call of such a recording is by its id of the PBX, into which the customer's number was written. */
export function customerOf(names: readonly string[], pbxId: string): string {
  const asterisk = /^\d{10}\.(\d+)$/.exec(pbxId)?.[1]
  const number =
    asterisk === undefined ? Number.parseInt(pbxId.slice(0, 4), 16) : Math.floor(Number(asterisk) / 100_000)
  return names[(number % 100) - 1] ?? pbxId
}
