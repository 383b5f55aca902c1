import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder, type AmiFrame } from '../../../src/pbx/ami/decoder.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'
import { seededRandom } from '../../help/seed.ts'

const FIXTURES = join(import.meta.dir, '../../fixtures/asterisk')
const recording = (name: string): Buffer => readFileSync(join(FIXTURES, `${name}.ami`))

const GREETING = 'Asterisk Call Manager/11.0.0\r\n'
const crlf = (text: string): string => text.replaceAll('\n', '\r\n')
const EVENT = amiEvent('Newchannel', snapshotOf('1.1')).replaceAll('\r', '')

function decode(input: string | Uint8Array, chunkBytes = Number.POSITIVE_INFINITY): AmiFrame[] {
  const decoder = new AmiDecoder()
  const bytes = Buffer.from(input)
  const frames: AmiFrame[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes)
    frames.push(...decoder.push(bytes.subarray(at, at + chunkBytes)))
  expect(decoder.fault).toBeUndefined()
  return frames
}

const KEYS = ['ActionID', 'Uniqueid', 'Linkedid', 'CallerIDName', 'Cause-txt', 'Value', 'Message']
const plain = (frames: readonly AmiFrame[]) =>
  frames.map((frame) => [frame.offset, frame.tainted, frame.type, frame.name, ...KEYS.map((key) => frame.get(key))])

describe('AmiDecoder', () => {
  test.each(['a-inbound-answered', 't2-reconnect-resync', 'aa-login-refused'])('%s, cut at every byte', (name) => {
    const bytes = recording(name)
    const whole = plain(decode(bytes))
    expect(whole.length).toBeGreaterThan(0)
    expect(plain(decode(bytes, 1))).toEqual(whole)
    for (let cut = 1; cut < bytes.length; cut += bytes.length > 20_000 ? 97 : 1) {
      const decoder = new AmiDecoder()
      const frames = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))]
      if (frames.length !== whole.length) expect(`cut at ${cut}`).toBe('the same frames')
    }
  })

  test('no recorded frame is tainted, unless its caller forged it, and each begins at its offset', () => {
    const isForged = (name: string): boolean => name.startsWith('unseen-caller')
    for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith('.ami') && !isForged(name))) {
      const bytes = readFileSync(join(FIXTURES, file))
      for (const frame of decode(bytes, 1_000)) {
        expect([file, frame.offset, frame.tainted]).toEqual([file, frame.offset, false])
        const head = bytes.toString('latin1', frame.offset, frame.offset + 9)
        expect(['Event', 'Response']).toContain(head.split(':')[0] ?? '')
      }
    }
  })

  /** As the sources of these versions print it: without the language, and with the Linkedid behind the bridge. */
  test.each([
    ['13.5 to 13.18', 'Uniqueid: 1.1\nType: SIP\nDNID: 101\nEffectiveConnectedLineNum: <unknown>', '\nLinkedid: 1.1'],
    ['13.20 to 13.38', 'Uniqueid: 1.1\nLinkedid: 1.1\nType: SIP\nDNID: 101\nEffectiveConnectedLineNum: <unknown>', ''],
  ])('a row of the list of channels of Asterisk %s is whole', (_, id, linkedId) => {
    const row = `Event: Status\nPrivilege: Call\nChannel: SIP/101-00000001\nChannelState: 6\nChannelStateDesc: Up
CallerIDNum: 101\nCallerIDName: <unknown>\nConnectedLineNum: <unknown>\nConnectedLineName: <unknown>\nAccountcode: 
Context: from-internal\nExten: 102\nPriority: 1\n${id}\nEffectiveConnectedLineName: <unknown>\nTimeToHangup: 0\nBridgeID: b${linkedId}
Application: Dial\nData: SIP/102\nNativeformats: (ulaw)\nReadformat: ulaw\nReadtrans: \nWriteformat: ulaw\nWritetrans: 
Callgroup: 0\nPickupgroup: 0\nSeconds: 4\nActionID: 7\n\n`
    const [frame] = decode(GREETING + crlf(row))
    expect([frame?.name, frame?.tainted, frame?.get('Linkedid')]).toEqual(['Status', false, '1.1'])
  })

  test('lines may end with LF alone', () => {
    const input = recording('t2-reconnect-resync').toString('latin1')
    const withoutOffset = (frames: AmiFrame[]) => plain(frames).map((row) => row.slice(1))
    const expected = withoutOffset(decode(Buffer.from(input, 'latin1')))
    const lf = Buffer.from(input.replaceAll('\r\n', '\n'), 'latin1')
    expect(withoutOffset(decode(lf))).toEqual(expected)
    expect(withoutOffset(decode(lf, 1))).toEqual(expected)
  })

  test('headers: case, absence, a colon in a value, no space after the first colon, repetition', () => {
    const [frame] = decode(
      `${GREETING}${crlf('Event: X\nPrivilege: Call\nUniqueID: 1.1\nExten:\nCallerIDName: Zoë: "Ünal", 東京 <x>\nChannel:a:b\nChanVariable: A=1\nChanVariable: B=2\n\n')}`,
    )
    expect(frame?.get('uniqueid')).toBe('1.1')
    expect([frame?.has('Exten'), frame?.get('Exten'), frame?.has('Nope'), frame?.get('Nope')]).toEqual([
      true,
      '',
      false,
      '',
    ])
    expect(frame?.get('CallerIDName')).toBe('Zoë: "Ünal", 東京 <x>')
    expect(frame?.get('Channel')).toBe('a:b')
    expect(frame?.all('ChanVariable')).toEqual(['A=1', 'B=2'])
    expect(frame?.tainted).toBe(false)
  })

  test.each([
    ['Event: VarSet\nPrivilege: dialplan,all\nValue: a\\nb\\\\n\\"\\x', 'Value', 'a\nb\\n"\\x'],
    ['Event: X\nPrivilege: a\nDestCallerIDName: \\"Al\\"', 'DestCallerIDName', '"Al"'],
    ['Event: X\nPrivilege: a\nConnectedLineName: a\\tb', 'ConnectedLineName', 'a\tb'],
    ['Event: X\nPrivilege: a\nChanVariable: A=\\r\\n', 'ChanVariable', 'A=\r\n'],
    ['Event: X\nPrivilege: a\nCallerIDNum: 1\\n2', 'CallerIDNum', '1\\n2'],
    ['Event: X\nPrivilege: a\nValue: 1\\n2', 'Value', '1\\n2'],
  ])('escapes are undone once, where Asterisk escapes: %j', (text, key, value) => {
    expect(decode(`${GREETING}${crlf(`${text}\n\n`)}`)[0]?.get(key)).toBe(value)
  })

  test('bytes that are not UTF-8 become U+FFFD, and nothing else is lost', () => {
    const bytes = Buffer.from(`${GREETING}${crlf(EVENT.replace('Num: 101\n', 'Num: a\xff\xc3(\n'))}`, 'latin1')
    const [frame] = decode(bytes, 3)
    expect(frame?.get('CallerIDNum')).toBe('a\ufffd\ufffd(')
    expect([frame?.get('Linkedid'), frame?.tainted]).toEqual(['1.1', false])
  })

  test.each([
    ['a whole event', '101', [['Newchannel', false]]],
    ['a repeated header', '1\nLinkedid: 6.6', [['Newchannel', true]]],
    ['a repeated header in another case', '1\nlinkedID: 6.6', [['Newchannel', true]]],
    ['a line without a colon', '1\nhello', [['Newchannel', true]]],
    [
      'an empty line',
      '1\n',
      [
        ['Newchannel', true],
        ['', true],
      ],
    ],
    [
      'a forged event',
      '1\n\nEvent: Hangup\nPrivilege: call,all\nUniqueid: 1.1',
      [
        ['Newchannel', true],
        ['Hangup', true],
      ],
    ],
    [
      'a forged event that is whole',
      '1\n\nEvent: Cdr\nPrivilege: a\n\nX: y',
      [
        ['Newchannel', true],
        ['Cdr', true],
        ['', true],
      ],
    ],
  ] as const)('a number that holds %s', (_, number, expected) => {
    const input = `${GREETING}${crlf(EVENT + EVENT.replace('Num: 101\n', `Num: ${number}\n`) + EVENT)}`
    const seen = decode(input).map((frame) => [frame.name, frame.tainted])
    expect(seen).toEqual([['Newchannel', false], ...expected.map((row) => [...row]), ['Newchannel', false]])
  })

  test.each(['\n', '\r', '\nLinkedid: 6.6', '\n\nEvent: Hangup\n\n'])(
    'a bare %j in a value taints, and ends nothing',
    (text) => {
      const frames = decode(`${GREETING}${crlf(EVENT).replace('Num: 101\r', `Num: 1${text}2\r`)}`, 7)
      expect(frames.map((frame) => [frame.name, frame.tainted, frame.get('Linkedid')])).toEqual([
        ['Newchannel', true, '1.1'],
      ])
    },
  )

  test('an event with neither Privilege nor ActionID is tainted, an item of a list is not', () => {
    const frames = decode(
      `${GREETING}${crlf('Event: A\nX: 1\n\nEvent: B\nActionID: 1\n\nResponse: Success\nActionID: 2\n\n')}`,
    )
    expect(frames.map((frame) => [frame.name, frame.tainted])).toEqual([
      ['A', true],
      ['B', false],
      ['Success', false],
    ])
  })

  test('events are passed over by name, or by a header', () => {
    const decoder = new AmiDecoder({
      skip: (name, peek) => name === 'VarSet' && peek('Variable') !== 'MIXMONITOR_FILENAME',
    })
    const frames = decoder.push(recording('m-recorded'))
    const variables = frames.filter((frame) => frame.name === 'VarSet').map((frame) => frame.get('Variable'))
    expect(variables).toEqual(['MIXMONITOR_FILENAME'])
    expect(decoder.skipped).toBeGreaterThan(20)
  })

  test.each([
    [
      'a frame of 10 MB',
      Buffer.concat([Buffer.from(`${GREETING}Event: X\r\n`), Buffer.from('A: b\r\n'.repeat(1_800_000))]),
    ],
    ['a line of 20 MB', `${GREETING}Event: X\r\nPrivilege: a\r\nA: ${'x'.repeat(20_000_000)}\r\n\r\n`],
    ['10,000 headers', `${GREETING}Event: X\r\n${'A: b\r\n'.repeat(10_000)}\r\n`],
    ['no line at all', 'x'.repeat(70_000)],
  ])('%s ends the stream, in bounded memory', (_, input) => {
    const decoder = new AmiDecoder()
    const bytes = Buffer.from(input)
    for (let at = 0; at < bytes.length; at += 65_536) decoder.push(bytes.subarray(at, at + 65_536))
    expect(decoder.fault).toBeString()
    expect(decoder.push(Buffer.from(crlf(EVENT)))).toEqual([])
  })

  test.each([
    ['100 KB', 100_000],
    ['10 MB', 10_000_000],
  ])('a line of %s is left out and counted; its frame and the stream go on', (_, length) => {
    const long = `Value: ${'x'.repeat(length)}`
    const event = `Event: VarSet\nPrivilege: dialplan,all\nUniqueid: 1.1\n${long}\nLinkedid: 1.1\n\n`
    for (const text of [crlf(event + EVENT), event + EVENT]) {
      const bytes = Buffer.from(`${text === event + EVENT ? GREETING.replace('\r', '') : GREETING}${text}`)
      const decoder = new AmiDecoder()
      const frames: AmiFrame[] = []
      for (let at = 0; at < bytes.length; at += 65_536) frames.push(...decoder.push(bytes.subarray(at, at + 65_536)))
      expect([decoder.fault, decoder.longLines]).toEqual([undefined, 1])
      expect(frames.map((frame) => [frame.name, frame.get('Uniqueid'), frame.get('Linkedid')])).toEqual([
        ['VarSet', '1.1', '1.1'],
        ['Newchannel', '1.1', '1.1'],
      ])
      expect(frames[0]?.has('Value')).toBe(false)
      expect(frames[0]?.isNext('Uniqueid', 'Linkedid')).toBe(true)
      expect(frames[1]?.offset).toBe(bytes.indexOf('Event: Newchannel'))
    }
  })

  test('megabytes at once are many frames, not a long one', () => {
    expect(decode(recording('s-load')).length).toBe(3_025)
  })

  test('garbage never throws', () => {
    const random = seededRandom(7)
    const base = recording('n3-click-to-call-no-answer')
    for (let round = 0; round < 300; round++) {
      const bytes = Buffer.from(base)
      for (let hit = 0; hit < 20; hit++) bytes[random.int(bytes.length)] = random.int(256)
      const decoder = new AmiDecoder()
      for (let at = 0; at < bytes.length; at += 200)
        for (const frame of decoder.push(bytes.subarray(at, at + 200))) for (const key of KEYS) frame.get(key)
    }
  })
})
