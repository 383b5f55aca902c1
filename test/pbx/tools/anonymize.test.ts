import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { EslDecoder } from '../../../src/pbx/esl/decoder.ts'
import { createAnonymizer } from '../../../src/pbx/tools/anonymize.ts'
import { fixture } from '../../help/pbx.ts'

/** The whole recording, masked frame by frame as `pbx record --mask` does. */
function masked(name: string): { before: Buffer; after: Buffer } {
  const before = readFileSync(fixture(name))
  const mask = createAnonymizer('key')
  const frames = name.endsWith('.ami') ? new AmiDecoder().push(before) : new EslDecoder().push(before)
  const cuts = [0, ...frames.map((frame) => frame.offset), before.length]
  const pieces = cuts.slice(1).map((end, at) => mask(before.toString('latin1', cuts[at], end)))
  return { before, after: Buffer.from(pieces.join(''), 'latin1') }
}

describe('a masked recording', () => {
  test.each([
    ['k4-blind-transfer-outbound.ami', /15557654321|15551230001|15550100100|Alice Outside/],
    ['m-recorded.ami', /15551230001|15550100105|Alice Outside/],
  ])('%s: the same frames, the same ids, no number or name', (name, people) => {
    const { before, after } = masked(name)
    expect(before.toString('latin1')).toMatch(people)
    expect(after.toString('latin1')).not.toMatch(people)
    const ids = (bytes: Buffer) =>
      new AmiDecoder()
        .push(bytes)
        .map((frame) => [
          frame.offset,
          frame.tainted,
          frame.name,
          frame.get('Uniqueid'),
          frame.get('Linkedid'),
          frame.get('Cause'),
        ])
    expect(ids(after)).toEqual(ids(before))
  })

  test.each([
    ['inbound-utf8.esl', /7499000100\d|%D0%98%D0%B2%D0%B0%D0%BD/],
    ['inbound-utf8-json.esl', /7499000100\d|Ð˜Ð²Ð°Ð½/],
    ['blind-transfer.esl', /7916123456\d|7495000100\d/],
  ])('%s: the same frames, the same ids, no number or name', (name, people) => {
    const { before, after } = masked(name)
    expect(after.toString('latin1')).not.toMatch(people)
    const ids = (bytes: Buffer) =>
      new EslDecoder()
        .push(bytes)
        .map(({ offset, event }) => [offset, event?.name, event?.get('Unique-ID'), event?.get('Event-Date-Timestamp')])
    expect(ids(after)).toEqual(ids(before))
    const names = (bytes: Buffer) =>
      new EslDecoder().push(bytes).map(({ event }) => event?.get('Caller-Caller-ID-Name') ?? '')
    expect(names(after).map((text) => Buffer.byteLength(text))).toEqual(
      names(before).map((text) => Buffer.byteLength(text)),
    )
  })

  test('the same becomes the same, and ends alike when it ended alike', () => {
    const mask = createAnonymizer('key')
    const numberOf = (digits: string): string => mask(`CallerIDNum: ${digits}\r\n`).slice(13, -2)
    expect(numberOf('15557654321')).toBe(numberOf('15557654321'))
    expect(numberOf('915557654321').slice(1)).toBe(numberOf('15557654321'))
    expect(numberOf('15557654321')).not.toBe('15557654321')
    expect(numberOf('101')).toBe('101')
    expect(createAnonymizer('other')('CallerIDNum: 15557654321\r\n')).not.toContain(numberOf('15557654321'))
  })
})

test.each([
  ['the name of a member of a queue', 'MemberName: Alice Miller', /Alice|Miller/],
  ['an e-mail address', 'Variable: MAIL\nValue: alice.miller@example.com', /alice|miller|example\.com/],
  ['an e-mail address in a URL', 'Value: x=alice%40example.com', /alice|example\.com/],
  ['a name that a URL has too', 'CallerIDName: Alice Miller\nValue: n=Alice%20Miller', /Alice|Miller/],
  ['a name that only a URL has', 'CallerIDName: Alice%20Miller\nValue: Alice Miller', /Alice|Miller/],
  [
    'a name in UTF-8 that a URL has too',
    Buffer.from('CallerIDName: Zoë\nValue: Zo%C3%AB').toString('latin1'),
    /Zo(\xc3|%C3)/,
  ],
  ['a number with separators', 'CallerIDNum: +1 (555) 123-0001', /555|123|0001/],
  ['a number in groups', 'Value: 8 495 000-10-01', /495|000-10/],
])('%s is masked, and the frame stays as long', (_, frame, people) => {
  expect(frame).toMatch(people)
  const after = createAnonymizer('key')(`Event: X\n${frame}\n`)
  expect(after).not.toMatch(people)
  expect(after).toHaveLength(`Event: X\n${frame}\n`.length)
})

test('a number with separators becomes the same as without', () => {
  const mask = createAnonymizer('key')
  const written = mask('CallerIDNum: +1 (555) 123-0001\n').replace(/\D/g, '')
  expect(mask('CallerIDNum: 15551230001\n').replace(/\D/g, '')).toBe(written)
})

test.each([
  'MemberName: PJSIP/101',
  'Uniqueid: 1795213779.804',
  'Value: 2026-11-20 21:42:00',
  'Address: 192.168.10.20',
  'ContactUri: sip:alice@pbx.example',
  'Value: 0f8fad5b-1234-4321-9876-12345678901a',
])('%s stays', (line) => expect(createAnonymizer('key')(`${line}\n`)).toBe(`${line}\n`))

const name = (text: string): string => Buffer.from(text).toString('latin1')

test.each([
  ['underscores', 'Zacharias_Quux'],
  ['dots, in small letters', 'zacharias.quux'],
  ['capitals', 'ZACHARIAS-QUUX'],
  ['quotes', String.raw`\"Zacharias\" \'Quux\'`],
  ['percent', 'Zacharias%20Quux'],
  ['a percent-encoded underscore', 'Zacharias%5FQuux'],
  ['an encoded word in base64', '=?UTF-8?B?WmFjaGFyaWFzIFF1dXg=?='],
  ['an encoded word in Q', '=?utf-8?Q?Zacharias_Quux?='],
  ['nothing in between', 'ZachariasQuux'],
  ['the family name alone', 'x=Quux'],
  ['the first name alone', '/var/spool/zacharias-15.wav'],
  ['the other order', 'Quux, Zacharias'],
])('a name that a PBX writes with %s is masked', (_, spelled) => {
  const mask = createAnonymizer('key')
  mask('CallerIDName: Zacharias Quux\n')
  const frame = `Event: VarSet\nVariable: X\nValue: ${spelled}\n`
  const after = mask(frame)
  expect(after).toHaveLength(frame.length)
  expect(after).toStartWith('Event: VarSet\nVariable: X\nValue: ')
  expect(after).not.toMatch(/zacharias|quux|WmFjaGFyaWFz/i)
})

test('a name beyond ASCII is masked in each of its encodings, and alike', () => {
  const mask = createAnonymizer('key')
  mask(`Caller-Caller-ID-Name: ${name('Jürgen Größe')}\n`)
  const spellings = [name('Jürgen_Größe'), 'J%C3%BCrgen_Gr%C3%B6%C3%9Fe', '=?UTF-8?Q?J=C3=BCrgen_Gr=C3=B6=C3=9Fe?=']
  const after = spellings.map((text) => mask(`Value: ${text}\n`).slice(7, -1))
  expect(after.map((text) => text.length)).toEqual(spellings.map((text) => text.length))
  const [raw = '', percent = '', word = ''] = after
  expect(raw).not.toMatch(/rgen|Gr/)
  expect(decodeURIComponent(percent)).toBe(Buffer.from(raw, 'latin1').toString())
  expect(word.slice(10, -2).replaceAll('=', '%')).toBe(percent)
})

test('words of the protocol stay, where a name has them too', () => {
  const mask = createAnonymizer('key')
  mask('CallerIDName: Ringing Phone\nChannelStateDesc: Ringing\n')
  const line = 'ChannelStateDesc: Ringing\nCallerIDNum: 101\n'
  expect(mask(line)).toBe(line)
})

test('a name that is learned late is hidden in what was masked before, where replacements stay', () => {
  const mask = createAnonymizer('key')
  const first = mask('Variable: X\nValue: zacharias_quux\nCallerIDName: Ann Miller\n')
  const second = mask('CallerIDName: Zacharias Quux\n')
  expect(first).toContain('zacharias_quux')
  expect(mask.isNamed(first)).toBe(true)
  const again = mask.again(first)
  expect(again).not.toMatch(/zacharias|quux/i)
  expect(again.split('\n')[2]).toBe(first.split('\n')[2] ?? '')
  expect(mask.again(second)).toBe(second)
  expect([again, second].map(mask.isNamed)).toEqual([false, false])
})

test.each([
  ['base64', Buffer.from('Zacharias Quux').toString('base64')],
  ['hexadecimal digits', Buffer.from('Zacharias Quux').toString('hex')],
  ['percent signs that are encoded again', 'Z%2561charias%2520Quux'],
  ['escapes of JSON', String.raw`\u005aacharias \u0051uux`],
  ['entities', '&#90;acharias &#x51;uux'],
  ['spaces between its letters', 'Z a c h a r i a s Q u u x'],
  ['an ending', 'ZachariasQuuxs'],
])('a name that cannot be hidden is found: with %s', (_, spelled) => {
  const mask = createAnonymizer('key')
  mask('CallerIDName: Zacharias Quux\n')
  const again = mask.again(mask(`Event: VarSet\nValue: ${spelled}\n`))
  expect(mask.isNamed(again)).toBe(true)
  expect(mask.isNamed('Event: VarSet\nValue: nobody\n')).toBe(false)
})
