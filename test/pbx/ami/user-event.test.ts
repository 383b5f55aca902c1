import { describe, expect, test } from 'bun:test'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import type { SNAPSHOT } from '../../../src/pbx/ami/event-shapes.ts'
import { createAmiTranslator } from '../../../src/pbx/ami/translator/translator.ts'
import { readUserEvent } from '../../../src/pbx/ami/user-event.ts'
import { hostileText } from '../../help/hostile-text.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const CHANNEL: Readonly<Record<(typeof SNAPSHOT)[number], string>> = {
  Channel: 'PJSIP/trunk-00000001',
  ChannelState: '6',
  ChannelStateDesc: 'Up',
  CallerIDNum: '15551230001',
  CallerIDName: '<unknown>',
  ConnectedLineNum: '<unknown>',
  ConnectedLineName: '<unknown>',
  Language: 'en',
  AccountCode: '',
  Context: 'from-trunk',
  Exten: '15550100106',
  Priority: '3',
  Uniqueid: '1795.1',
  Linkedid: '1795.1',
}

type Given = Partial<typeof CHANNEL>

/** Returns a UserEvent as Asterisk prints it; `null`: a program sent it, not a channel. */
function userEvent(said: readonly string[], given: Given | null = {}, before: readonly string[] = []): string {
  const channel =
    given === null ? [] : Object.entries({ ...CHANNEL, ...given }).map(([key, value]) => `${key}: ${value}`)
  const opening = ['Event: UserEvent', 'Privilege: user,all', 'Timestamp: 1795.5']
  return `${[...opening, ...before, ...channel, 'UserEvent: Survey', ...said].map((line) => `${line}\r\n`).join('')}\r\n`
}

const framesOf = (text: string) => new AmiDecoder().push(Buffer.from(`Asterisk Call Manager/7.0.3\r\n${text}`))
const read = (text: string) => framesOf(text).flatMap((frame) => (frame.tainted ? [] : (readUserEvent(frame) ?? [])))

describe('a UserEvent', () => {
  test('has the channel that Asterisk prints, and the fields of the dialplan', () => {
    expect(read(userEvent(['digit: 5', 'note: a: b']))).toEqual([
      { channel: '1795.1', custom: { name: 'Survey', fields: { digit: '5', note: 'a: b' } } },
    ])
  })
  test('of a program has no channel', () => {
    expect(read(userEvent(['digit: 5'], null))).toEqual([
      { channel: null, custom: { name: 'Survey', fields: { digit: '5' } } },
    ])
  })
  test('is read without the language, as Asterisk 13 prints it, and behind channel variables', () => {
    const text = userEvent(['digit: 5'])
    expect(read(text.replace('Language: en\r\n', ''))[0]?.channel).toBe('1795.1')
    expect(
      read(text.replace('UserEvent: S', 'ChanVariable: a=b\r\nChanVariable: c=d\r\nUserEvent: S'))[0]?.channel,
    ).toBe('1795.1')
  })
  test('takes all that follows its name as fields, whatever their names; of two the last one counts', () => {
    const said = ['Uniqueid: 1795.9', 'Linkedid: 1795.9', 'UserEvent: Other', 'Event: Hangup', 'digit: 1', 'digit: 2']
    expect(read(userEvent(said))).toEqual([
      {
        channel: '1795.1',
        custom: {
          name: 'Survey',
          fields: { Uniqueid: '1795.9', Linkedid: '1795.9', UserEvent: 'Other', Event: 'Hangup', digit: '2' },
        },
      },
    ])
  })
  test('has the first 50 fields, cut at 4,096 bytes on the edge of a character', () => {
    const many = Array.from({ length: 60 }, (_, at) => `f${at}: ${at}`)
    expect(Object.keys(read(userEvent(many))[0]?.custom.fields ?? {})).toEqual(
      many.slice(0, 50).map((one) => one.split(':')[0] ?? ''),
    )
    const long = read(userEvent([`long: ${'é'.repeat(3_000)}`, `odd: x${'é'.repeat(3_000)}`]))[0]?.custom.fields ?? {}
    expect([long.long, long.odd]).toEqual(['é'.repeat(2_048), `x${'é'.repeat(2_047)}`])
  })

  const forged: readonly [what: string, text: string][] = [
    ['its own name', userEvent(['digit: 5'], { CallerIDNum: '1\r\nUserEvent: Survey\r\nx: y' })],
    ['another channel', userEvent(['digit: 5'], { CallerIDNum: '1\r\nUniqueid: 1795.9' })],
    [
      'another channel in its place',
      userEvent(['digit: 5'], { Exten: '1\r\nPriority: 1\r\nUniqueid: 1795.9\r\nLinkedid: 1795.9' }),
    ],
    ['the end of the event', userEvent(['digit: 5'], { CallerIDNum: '1\r\n\r\nEvent: UserEvent' })],
    ['an opening', userEvent(['digit: 5'], {}, ['Privilege: user,all'])],
    ['a header before the channel', userEvent(['digit: 5'], {}, ['Uniqueid: 1795.9'])],
  ]
  test.each(forged)('into which a caller wrote %s is dropped', (_, text) => {
    expect(read(text)).toEqual([])
  })

  test('with a line that is no header is dropped', () => {
    expect(read(userEvent(['digit: 5', 'no header']))).toEqual([])
  })
})

test('1,000 hostile numbers and names never choose another channel, nor change what is known of one', () => {
  const victim = { ...CHANNEL, Channel: 'PJSIP/102-00000002', Uniqueid: '1795.9', Linkedid: '1795.9' }
  const newchannel = (channel: typeof CHANNEL) =>
    `${[
      'Event: Newchannel',
      'Privilege: call,all',
      ...Object.entries(channel).map(([key, value]) => `${key}: ${value}`),
    ]
      .map((line) => `${line}\r\n`)
      .join('')}\r\n`
  for (const seed of seedsOf(57, 1_000))
    playCase(seed, (random) => {
      const translator = createAmiTranslator({ trunks: [], extensions: [], variables: [], custom: ['Survey'] })
      const decoder = new AmiDecoder()
      const hostile = () =>
        `${hostileText(random)}\r\n${random.pick(['Uniqueid: 1795.9', 'UserEvent: Survey', 'Linkedid: 1795.9', 'Event: UserEvent', ''])}${random.pick(['', '\r\n\r\n'])}${hostileText(random)}`
      const text = userEvent([`number: ${hostile()}`, `name: ${hostileText(random)}`], {
        ...(random.chance(0.5) ? { CallerIDNum: hostile() } : {}),
        ...(random.chance(0.3) ? { Exten: hostile() } : {}),
      })
      const frames = decoder.push(
        Buffer.from(`Asterisk Call Manager/7.0.3\r\n${newchannel(CHANNEL)}${newchannel(victim)}${text}`),
      )
      const signals = frames.slice(2).flatMap((frame) => translator.event(frame, 1))
      for (const signal of signals) {
        expect(['custom', 'custom_without_call']).toContain(signal.kind)
        if (signal.kind === 'custom') expect(signal.id).toBe('1795.1')
      }
    })
})
