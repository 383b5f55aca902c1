import { describe, expect, test } from 'bun:test'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'
import { seededRandom } from '../../help/seed.ts'

const NOW_US = 1_795_213_000_000_000
const OPTIONS = { trunks: [], extensions: [], variables: ['CustomerId'] }

const frames = (type: string, ...bodies: readonly (string | object)[]): EslFrame[] =>
  bodies.flatMap((body) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const head = `Content-Length: ${Buffer.byteLength(text)}\nContent-Type: ${type}\n\n`
    return new EslDecoder().push(Buffer.from(head + text))
  })

const create = (id: string, fields: object = {}): object => ({
  'Event-Name': 'CHANNEL_CREATE',
  'Unique-ID': id,
  'Call-Direction': 'inbound',
  'Caller-Caller-ID-Number': '15551230001',
  'Caller-Destination-Number': '200',
  ...fields,
})

describe('what no FreeSWITCH should send', () => {
  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])('an event called %s', (name) => {
    const signals = createEslTranslator(OPTIONS)
    for (const frame of frames('text/event-json', { 'Event-Name': name, 'Unique-ID': 'a' }, create('a')))
      signals.event(frame, NOW_US)
    const named = frames('text/event-json', { 'Event-Name': name, 'Unique-ID': 'a', 'Hangup-Cause': name })
    expect(named.flatMap((frame) => signals.event(frame, NOW_US))).toEqual([])
  })

  test.each(['__proto__', 'constructor', 'NO SUCH'])('a hang-up cause %s is other', (cause) => {
    const signals = createEslTranslator(OPTIONS)
    const bodies = [create('a'), { 'Event-Name': 'CHANNEL_HANGUP', 'Unique-ID': 'a', 'Hangup-Cause': cause }]
    const last = frames('text/event-json', ...bodies)
      .flatMap((frame) => signals.event(frame, NOW_US))
      .at(-1)
    expect(last).toMatchObject({ kind: 'hangup', end: { code: null, result: 'other' } })
  })

  test.each(['1e300', '-1e300', 'NaN', 'Infinity', '-5', '0', '', 'x', '1000000000000000', '9000000000000000'])(
    'a stamp of %j is invalid',
    (stamp) => {
      const signals = createEslTranslator(OPTIONS)
      const [frame] = frames('text/event-json', create('a', { 'Event-Date-Timestamp': stamp }))
      const atUs = frame === undefined ? [] : signals.event(frame, NOW_US).map((signal) => signal.atUs)
      expect(atUs).toEqual([NOW_US])
    },
  )

  test('rows that are none, and values that are no text', () => {
    const signals = createEslTranslator(OPTIONS)
    const rows = [null, 1, 'x', [], {}, { uuid: null }, { uuid: 7, name: 8, created_epoch: 1e300, callstate: null }]
    const listed = signals.snapshot(
      [
        ...frames('api/response', { row_count: 7, rows }, { row_count: 1, rows: { length: 3 } }, 'null', '[1]', '"x"'),
        ...frames('api/response', '{"rows":[{"__proto__":"x","uuid":"b","created_epoch":"-1"}]}'),
      ],
      NOW_US,
    )
    const channels = listed.flatMap((signal) => (signal.kind === 'snapshot' ? signal.channels : []))
    expect(channels.map(({ id, startedUs }) => [id, startedUs])).toEqual([
      ['7', null],
      ['b', null],
    ])
  })
})

describe('the beginning of listed calls', () => {
  const row = { uuid: 'a', direction: 'inbound', created_epoch: '1795212990' }
  const startedUs = (...answers: readonly (string | object)[]) =>
    createEslTranslator(OPTIONS)
      .snapshot(frames('api/response', { rows: [row] }, { rows: [] }, ...answers), NOW_US)
      .flatMap((signal) => (signal.kind === 'snapshot' ? signal.channels.map((channel) => channel.startedUs) : []))

  test.each([
    ['its clock is right', '1795213000000000\n', NOW_US - 10_000_000],
    ['its clock is an hour ahead', '1795216600000000', NOW_US - 3_610_000_000],
    ['its clock is 4 s behind', '1795212996000000', NOW_US - 6_000_000],
    ['it does not report it', '-ERR strmicroepoch Command not found!\n', NOW_US - 10_000_000],
    ['its clock is of another year', '1600000000000000', NOW_US - 10_000_000],
    ['it began later than now', '1795212980000000', NOW_US],
  ])('%s', (_, clock, expected) => {
    expect(startedUs(clock)).toEqual([expected])
  })
})

describe('text from callers in a FreeSWITCH event', () => {
  const PARTS = [
    '"',
    '\\',
    '\n',
    '\r\n\r\n',
    '\u0000',
    '","Unique-ID":"b',
    '"Hangup-Cause":"USER_BUSY"',
    '}',
    '\ud83d',
    '%0a',
    'x',
  ]
  const OWN = [
    'Caller-Caller-ID-Name',
    'Caller-Caller-ID-Number',
    'Caller-Destination-Number',
    'variable_sip_h_X-Unique-ID',
  ]
  const OTHERS = [
    'Event-Name',
    'Unique-ID',
    'Hangup-Cause',
    'Call-Direction',
    'Event-Date-Timestamp',
    'variable_user_name',
  ]

  test('stays in its own fields, regardless of its text', () => {
    const random = seededRandom(20_261_120)
    for (let round = 0; round < 5_000; round++) {
      const fields: Record<string, string> = { 'Event-Name': 'CHANNEL_CREATE' }
      const written = OWN.map(
        (key) => [key, Array.from({ length: 1 + random.int(6) }, () => random.pick(PARTS)).join('')] as const,
      )
      const rest = [
        ['Unique-ID', 'a'],
        ['Call-Direction', 'inbound'],
      ] as const
      for (const [key, value] of random.chance(0.5) ? [...written, ...rest] : [...rest, ...written]) fields[key] = value
      const plain = Object.entries(fields).map(
        ([key, value]) => `${key}: ${encodeURIComponent(value.toWellFormed())}\n`,
      )
      for (const [frame] of [frames('text/event-json', fields), frames('text/event-plain', `${plain.join('')}\n`)])
        expect(OTHERS.map((key) => frame?.event?.get(key))).toEqual(['CHANNEL_CREATE', 'a', '', 'inbound', '', ''])
    }
  })
})
