import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder, type AmiFrame } from '../../../src/pbx/ami/decoder.ts'
import { hasShape } from '../../../src/pbx/ami/event-shapes.ts'
import { isWanted } from '../../../src/pbx/ami/events.ts'
import { createAmiTranslator } from '../../../src/pbx/ami/translator/translator.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'
import { player } from '../../help/play.ts'
import type { Random } from '../../help/random.ts'
import { readRecording } from '../../help/recording.ts'
import { scaled, seededRandom } from '../../help/seed.ts'

// A caller's number may hold CR LF, and with it headers and whole events of his own: 79 bytes of them. Nothing that he writes is believed,
// and no event of another call is changed or lost.
const FORGED = scaled(30_000)
const SEED = 20_261_120

const FIXTURES = join(import.meta.dir, '../../fixtures/asterisk')
const GREETING = 'Asterisk Call Manager/11.0.0\r\n'
const OPTIONS = { trunks: ['trunk'], extensions: ['1??', '*'], variables: ['CustomerId'] }
const MAX_BYTES = 79

/** Headers whose values come from the wire: numbers, extensions, and the dialplan's texts about them. */
const WRITABLE =
  /(CallerIDNum|ConnectedLineNum|Exten|^Extension|^AppData|^DialString|^Forward|^Source|^Destination|^CallerID|^LastData|^DNID|^ApplicationData|^Data)$/

/** A recording as frames of lines. */
type Piece = { readonly text: string; readonly places: readonly number[] }

function piecesOf(name: string): Piece[] {
  const text = readFileSync(join(FIXTURES, name), 'latin1')
  return text
    .slice(text.indexOf('\r\n') + 2)
    .split('\r\n\r\n')
    .filter((frame) => frame.trim() !== '')
    .map((frame) => {
      const places: number[] = []
      let at = 0
      for (const line of frame.split('\r\n')) {
        const colon = line.indexOf(': ')
        if (colon > 0 && WRITABLE.test(line.slice(0, colon)) && !line.startsWith('Event')) places.push(at + line.length)
        at += line.length + 2
      }
      return { text: `${frame}\r\n\r\n`, places }
    })
}

/** Headers that an attacker would add, with ids of other calls and answers that the caller never sees. */
const HEADERS = [
  'Timestamp: x',
  'Timestamp: 1000000000.000000',
  'Timestamp: 4000000000.000000',
  'Forward: 900',
  'ChanVariable: CustomerId=7',
  'CustomerId: 7',
  'RecordingFile: /etc/passwd',
  'Cause: 17',
  'DialStatus: ANSWER',
  'Linkedid: 9.9',
  'Uniqueid: 9.9',
  'DestUniqueid: 9.9',
  'ActionID: 1',
  'EventList: Complete',
  'Priority: 1',
  'CallerIDName: x',
  'ChannelStateDesc: Up',
  'Seconds: 1',
  'x',
  '',
] as const
const EVENT_NAMES = ['Hangup', 'Newstate', 'DialEnd', 'BridgeLeave', 'Cdr', 'Shutdown', 'VarSet', 'Status'] as const

function payload(random: Random, ids: readonly string[]): string {
  const lines: string[] = [random.chance(0.5) ? '1' : '']
  if (random.chance(0.5)) lines.push('', `Event: ${random.pick(EVENT_NAMES)}`, 'Privilege: a')
  for (let count = 1 + random.int(4); count > 0; count--) {
    const line = random.pick(HEADERS)
    lines.push(line.endsWith('9.9') ? line.replace('9.9', random.pick(ids)) : line)
  }
  if (random.chance(0.3)) lines.push('')
  const text = lines.join(random.chance(0.95) ? '\r\n' : random.pick(['\r', '\n'])).slice(0, MAX_BYTES)
  return /[\r\n]/.test(text) ? text : `${text}\r\n`
}

const skip = (name: string, peek: (key: string) => string): boolean => !isWanted(name, peek, OPTIONS.variables)

/** Whether a frame has an effect: the session, or the connection itself, reads it. */
const matters = ({ tainted, type, name }: AmiFrame): boolean => !tainted && type === 'event' && hasShape(name)

/**
 * Returns the frames that have an effect, without the host frame if its header names are unchanged: its values are the
 * caller's own.
 */
function bytesOf(input: Buffer, frames: readonly AmiFrame[], host = ''): string[] {
  return frames.flatMap((frame) => {
    const text = input.toString('latin1', frame.offset, input.indexOf('\r\n\r\n', frame.offset))
    return matters(frame) && keysOf(text) !== keysOf(host) ? text : []
  })
}
const keysOf = (frame: string): string => frame.trimEnd().replace(/:.*/g, '')

/** Too large, and recordings of callers who forged their numbers. */
const LEFT_OUT = /^(s-load|unseen-caller)/
const NAMES = readdirSync(FIXTURES).filter((name) => name.endsWith('.ami') && !LEFT_OUT.test(name))
const RECORDINGS = NAMES.map((name) => piecesOf(name))
const IDS = NAMES.flatMap((name) =>
  [...readFileSync(join(FIXTURES, name), 'latin1').matchAll(/^Uniqueid: (\S+)$/gm)].map((match) => match[1] ?? ''),
)

describe('text from callers', () => {
  test('every recorded event has the shape of its kind', () => {
    for (const name of NAMES) {
      const frames = new AmiDecoder().push(readFileSync(join(FIXTURES, name)))
      expect([name, frames.filter((frame) => frame.tainted).length]).toEqual([name, 0])
    }
  })

  test(`is never believed, and costs only the event that it is in: ${FORGED} forgeries`, () => {
    const random = seededRandom(SEED)
    for (let round = 0; round < FORGED; round++) {
      const pieces = random.pick(RECORDINGS)
      const writable = pieces.flatMap(({ places }, index) => (places.length > 0 ? [index] : []))
      if (writable.length === 0) continue
      const index = random.pick(writable)
      const host = pieces[index]
      if (host === undefined) continue
      let forged = host.text
      // The same number is in several headers, or in one of them.
      for (const place of host.places.toReversed())
        if (random.chance(0.5) || forged === host.text)
          forged = forged.slice(0, place) + payload(random, IDS) + forged.slice(place)
      const around = (middle: string): Buffer =>
        Buffer.from(
          GREETING +
            pieces
              .slice(Math.max(0, index - 2), index)
              .map(({ text }) => text)
              .join('') +
            middle +
            pieces
              .slice(index + 1, index + 3)
              .map(({ text }) => text)
              .join(''),
          'latin1',
        )
      const input = around(forged)
      const decoder = new AmiDecoder({ skip })
      // A forged text may arrive split over two reads.
      const cut = random.chance(0.5) ? random.int(input.length) : input.length
      const frames = [...decoder.push(input.subarray(0, cut)), ...decoder.push(input.subarray(cut))]
      const without = around('')
      const expected = bytesOf(without, new AmiDecoder({ skip }).push(without), host.text)
      const got = bytesOf(input, frames, host.text)
      if (got.join('\n\n') !== expected.join('\n\n'))
        throw new Error(`round ${round}: ${JSON.stringify(forged)}\ngot ${got.length}:\n${got.join('\n\n')}`)
    }
  }, 3_600_000)

  test.each([
    ['h-ring-group', 'i-queue'],
    ['k-blind-transfer', 'l2-attended-transfer-refer'],
    ['m-recorded', 'f-outbound-answered'],
    ['c-inbound-no-answer', 'n-click-to-call'],
  ])('in a call of %s changes nothing of the calls of %s at the same time', (attacker, other) => {
    const random = seededRandom(SEED)
    const chunks = [
      ...piecesAt(attacker).map((piece) => ({ ...piece, attacks: true })),
      ...piecesAt(other).map((piece) => ({ ...piece, attacks: false })),
    ].toSorted((a, b) => a.atMs - b.atMs)
    const calm = eventsOf(
      chunks.map(({ text, atMs }) => ({ text, atMs })),
      other,
    )
    expect(calm.length).toBeGreaterThan(3)
    for (let round = 0; round < 60; round++) {
      const stormy = chunks.map(({ text, atMs, attacks, places }) => {
        const place = places[random.int(Math.max(1, places.length))]
        if (!attacks || place === undefined || random.chance(0.5)) return { text, atMs }
        return { text: text.slice(0, place) + payload(random, IDS) + text.slice(place), atMs }
      })
      expect(eventsOf(stormy, other)).toEqual(calm)
    }
  })

  test.each([
    ['Timestamp: x', 'CallerIDNum', '1\r\nTimestamp: x'],
    ['two stamps of other days', 'CallerIDNum', '1\r\nTimestamp: 4000000000.000000'],
    ['a variable', 'Exten', '1\r\nChanVariable: CustomerId=7'],
    ['a cause', 'ConnectedLineNum', '1\r\nCause: 17'],
    ['anything', 'CallerIDNum', '1\r\nFoo: bar'],
  ])('%s is a taint in %s', (_, key, value) => {
    const [frame] = decode(amiEvent('Hangup', snapshotOf('1.1', { [key]: value }), { 'Cause-txt': 'any' }))
    expect([frame?.name, frame?.tainted]).toEqual(['Hangup', true])
  })

  test.each([
    ['Newexten', { Extension: '1', Application: 'Dial', AppData: 'PJSIP/1\r\nChanVariable: CustomerId=7' }],
    ['Newexten', { Extension: '1\r\nCustomerId: 7', Application: 'Dial', AppData: 'PJSIP/1' }],
    ['DialEnd', { Forward: '1\r\nCause: 17', DialStatus: 'CANCEL' }],
    ['DialBegin', { DialString: '1@trunk\r\nForward: 7' }],
  ])('%s with headers behind a line that a caller can end is tainted', (name, fields) => {
    const snapshots = { ...snapshotOf('1.1'), ...(name.startsWith('Dial') ? snapshotOf('1.2', {}, 'Dest') : {}) }
    const [frame] = decode(amiEvent(name, snapshots, fields))
    expect([frame?.name, frame?.tainted]).toEqual([name, true])
  })

  test.each(['Source', 'Destination', 'CallerID', 'LastData'])('a path in the %s of a Cdr is a taint', (key) => {
    const fields = cdrOf({ [key]: '1\r\nRecordingFile: /etc/passwd' })
    expect(decode(amiEvent('Cdr', fields)).map((frame) => frame.tainted)).toEqual([true])
    expect(decode(amiEvent('Cdr', cdrOf({}))).map((frame) => frame.tainted)).toEqual([false])
  })

  test('a whole event within an event that nobody reads is not believed either, wherever the bytes are cut', () => {
    const written = '1\r\n\r\nEvent: Hangup\r\nPrivilege: a\r\nUniqueid: 1795213779.80\r\nLinkedid: x\r\n'
    const host = amiEvent('NewCallerid', snapshotOf('1.1', { CallerIDNum: written }))
    const input = Buffer.from(GREETING + host)
    for (let cut = 1; cut < input.length; cut++) {
      const decoder = new AmiDecoder({ skip })
      const frames = [...decoder.push(input.subarray(0, cut)), ...decoder.push(input.subarray(cut))]
      expect([cut, frames.filter(matters).map((frame) => frame.name)]).toEqual([cut, []])
    }
  })

  // Between the event that it cut short and the next whole event nothing that a caller writes ends the doubt.
  test.each([
    ['the end of Asterisk', 'a: b\r\n\r\nEvent: Shutdown\r\nPrivilege: a'],
    ['the end of Asterisk after a response', 'Response: a\r\n\r\nEvent: Shutdown\r\nPrivilege: a'],
    ['the end of Asterisk after an event', 'Event: a\r\nLinkedid: a\r\n\r\nEvent: Shutdown\r\nPrivilege: a'],
    ['what a dialplan says', 'a: b\r\n\r\nEvent: UserEvent\r\nPrivilege: a\r\nUserEvent: survey\r\nscore: 1'],
    ['a phone', 'a: b\r\n\r\nEvent: DeviceStateChange\r\nPrivilege: a\r\nDevice: SIP/1'],
  ])('a forged event without a channel is not believed either: %s', (_, written) => {
    const all = (text: string): AmiFrame[] => new AmiDecoder().push(Buffer.from(GREETING + text))
    expect(written.length).toBeLessThan(75)
    for (const key of ['CallerIDNum', 'ConnectedLineNum', 'Exten']) {
      const host = amiEvent('Newstate', snapshotOf('1.1', { [key]: `1\r\n\r\n${written}` }))
      expect(all(host).length).toBeGreaterThan(2)
      expect(all(host).map((frame) => frame.tainted)).not.toContain(false)
      // The next whole event is believed, and so is what follows it.
      const after = amiEvent('Newstate', snapshotOf('2.2')) + amiEvent('Reload', { Module: 'a' })
      const taints = all(host + after).map((frame) => frame.tainted)
      expect(taints.slice(-2)).toEqual([false, false])
    }
  })

  test('a variable of no channel is no forgery', () => {
    const frames = decode(amiEvent('VarSet', { Channel: 'none', Uniqueid: 'none', Variable: 'CustomerId', Value: '7' }))
    expect(frames.map((frame) => frame.tainted)).toEqual([false])
  })
})

const decode = (text: string): AmiFrame[] => new AmiDecoder({ skip }).push(Buffer.from(GREETING + text))

const cdrOf = (fields: Readonly<Record<string, string>>) => ({
  AccountCode: '',
  Source: '101',
  Destination: '102',
  DestinationContext: 'any',
  CallerID: '"a" <101>',
  Channel: 'PJSIP/101-1',
  DestinationChannel: '',
  LastApplication: 'Dial',
  LastData: 'PJSIP/102',
  StartTime: '',
  AnswerTime: '',
  EndTime: '',
  Duration: 1,
  BillableSeconds: 1,
  Disposition: 'ANSWERED',
  AMAFlags: 'DOCUMENTATION',
  UniqueID: '1.1',
  UserField: '',
  ...fields,
})

type Timed = { readonly text: string; readonly atMs: number }

/** A recording's frames with their times. */
function piecesAt(name: string): (Timed & { places: readonly number[] })[] {
  const chunks = readRecording(`asterisk/${name}`)
  const ends = chunks.map((_, index) => ({
    end: chunks.slice(0, index + 1).reduce((sum, one) => sum + one.bytes.length, 0),
    atMs: chunks[index]?.atMs ?? 0,
  }))
  let at = readFileSync(join(FIXTURES, `${name}.ami`), 'latin1').indexOf('\r\n') + 2
  return piecesOf(`${name}.ami`).map((piece) => {
    at += piece.text.length
    return { ...piece, atMs: ends.find(({ end }) => end >= at)?.atMs ?? ends.at(-1)?.atMs ?? 0 }
  })
}

const START_US = 1_795_213_000_000_000

/** The events of the calls that a recording has, without the ids that are counted for all. */
function eventsOf(frames: readonly Timed[], of: string): string[] {
  const played = player()
  const decoder = new AmiDecoder({ skip })
  const signals = createAmiTranslator(OPTIONS)
  decoder.push(Buffer.from(GREETING))
  played.play([{ kind: 'connected', first: true, boot: null, atUs: START_US, arrivedUs: START_US }])
  for (const { text, atMs } of frames) {
    const arrivedUs = START_US + Math.round(atMs * 1_000)
    for (const frame of decoder.push(Buffer.from(text, 'latin1')))
      if (!frame.has('ActionID')) played.play(signals.event(frame, arrivedUs))
  }
  played.rest(10_000_000)
  const own = new Set(
    [...readFileSync(join(FIXTURES, `${of}.ami`), 'latin1').matchAll(/^Linkedid: (\S+)\r?$/gm)].map(
      (match) => match[1],
    ),
  )
  return played.events
    .filter(({ body }) => own.has(body.data.call.pbx_id))
    .map(({ body }) => JSON.stringify(body).replace(/"[\d+-]+-\d+(\+\d+)*"/g, '"id"'))
}
