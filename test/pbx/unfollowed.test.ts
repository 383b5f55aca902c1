import { expect, test } from 'bun:test'
import type { Signal, Translator } from '../../src/calls/calls.ts'
import { newTracker } from '../../src/calls/tracker/tracker.ts'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { EslDecoder } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import { amiEvent, snapshotOf } from '../help/ami-event.ts'
import { countingIds, player } from '../help/play.ts'

// Calls beyond the limit cost a PBX's connection nothing but their ids, and nothing the calls that are followed.

const NOW_US = 1_795_213_000_000_000
const FOLLOWED = 'followed'
/** More than a translator keeps channels. */
const MANY = 50_001

/** A PBX of one kind, whose events become signals at once. */
type Pbx = {
  /** Callers call in. */
  begin(...ids: readonly string[]): readonly Signal[]
  /** A phone is dialled by a channel. */
  dial(id: string, source: string): readonly Signal[]
  /** A caller is at another extension of the dialplan now. */
  move(id: string): readonly Signal[]
  hangup(id: string): readonly Signal[]
  list(...ids: readonly string[]): readonly Signal[]
}

/** Returns the function that translates bytes; it decodes many events at a time. */
const reader =
  <Frame>(decoder: { push(bytes: Buffer): readonly Frame[] }, translator: Translator<Frame>) =>
  (text: string): readonly Signal[] =>
    decoder.push(Buffer.from(text)).flatMap((frame) => translator.event(frame, NOW_US))

const CALLER = { CallerIDNum: '15551230001', Channel: 'PJSIP/carrier-1', Exten: '15550100101', Context: 'from-trunk' }
const NO_OP = { Extension: '100', Application: 'NoOp', AppData: '' }
const HANGUP = { Cause: 16, 'Cause-txt': 'Normal Clearing' }

function asterisk(isFull: () => boolean): Pbx {
  const options = { trunks: ['carrier'], extensions: [], variables: [], isFull }
  const translator = createAmiTranslator(options)
  const read = reader(new AmiDecoder(), translator)
  const phone = { Channel: 'PJSIP/101-1', ChannelState: 0, ChannelStateDesc: 'Down', Exten: '' }
  const up = { ChannelState: 6, ChannelStateDesc: 'Up' }
  return {
    begin: (...ids) => read(ids.map((id) => amiEvent('Newchannel', snapshotOf(id, CALLER))).join('')),
    dial: (id, source) =>
      read(
        amiEvent('Newchannel', snapshotOf(id, { ...phone, Linkedid: source })) +
          amiEvent('DialBegin', snapshotOf(source, CALLER), snapshotOf(id, { ...phone, Linkedid: source }, 'Dest'), {
            DialString: '101',
          }),
      ),
    move: (id) => read(amiEvent('Newexten', snapshotOf(id, { ...CALLER, Exten: '100' }), NO_OP)),
    hangup: (id) => read(amiEvent('Hangup', snapshotOf(id, { ...CALLER, ...up }), HANGUP)),
    list(...ids) {
      const rows = ids.map((id) => amiEvent('Status', { ActionID: 'hookswitch-1', ...snapshotOf(id, CALLER) }))
      return translator.snapshot(new AmiDecoder().push(Buffer.from(rows.join(''))), NOW_US)
    },
  }
}

const LEG = { 'Channel-Name': 'sofia/external/15551230001@192.0.2.7', 'Caller-Caller-ID-Number': '15551230001' }
const PHONE = {
  'Channel-Name': 'sofia/internal/101@pbx',
  variable_dialed_user: '101',
  'Caller-Destination-Number': '101',
}

function freeswitch(isFull: () => boolean): Pbx {
  const translator = createEslTranslator({ trunks: [], extensions: [], variables: [], isFull })
  const read = reader(new EslDecoder(), translator)
  const event = (name: string, id: string, fields: object): string => {
    const body = JSON.stringify({ 'Event-Name': name, 'Unique-ID': id, ...fields })
    return `Content-Length: ${Buffer.byteLength(body)}\nContent-Type: text/event-json\n\n${body}`
  }
  const inbound = { 'Call-Direction': 'inbound', 'Caller-Destination-Number': '15550100101', ...LEG }
  return {
    begin: (...ids) => read(ids.map((id) => event('CHANNEL_CREATE', id, inbound)).join('')),
    dial(id, source) {
      const other = { 'Other-Type': 'originator', 'Other-Leg-Unique-ID': source }
      return read(event('CHANNEL_CREATE', id, { 'Call-Direction': 'outbound', ...PHONE, ...other }))
    },
    move: (id) => read(event('CALL_UPDATE', id, { ...inbound, 'Caller-Destination-Number': '100' })),
    hangup: (id) => read(event('CHANNEL_HANGUP', id, { ...inbound, 'Hangup-Cause': 'NORMAL_CLEARING' })),
    list(...ids) {
      const rows = ids.map((uuid) => ({ uuid, direction: 'inbound', name: LEG['Channel-Name'], callstate: 'RINGING' }))
      const body = JSON.stringify({ row_count: rows.length, rows })
      const frame = { offset: 0, contentType: 'api/response', get: () => '', body, event: undefined }
      return translator.snapshot([frame], NOW_US)
    },
  }
}

const KINDS = { Asterisk: asterisk, FreeSWITCH: freeswitch }
const kindsOf = (signals: readonly Signal[]): string[] => signals.map(({ kind }) => kind)

test.each(Object.entries(KINDS))(
  '%s: a flood of calls beyond the limit pushes out no channel that is followed',
  (_name, pbxOf) => {
    let full = false
    const pbx = pbxOf(() => full)
    pbx.begin(FOLLOWED)
    full = true
    pbx.begin(...Array.from({ length: MANY }, (_, n) => `c${n}`))
    expect(kindsOf(pbx.move(FOLLOWED))).toContain('extension_changed')
    expect(kindsOf(pbx.dial('phone', FOLLOWED))).toContain('dial_begin')
    expect(kindsOf(pbx.hangup(FOLLOWED))).toContain('hangup')
  },
)

test.each(Object.entries(KINDS))('%s: of a call beyond the limit only its beginning is a signal', (_name, pbxOf) => {
  const pbx = pbxOf(() => true)
  expect(pbx.begin('one')).toMatchObject([{ kind: 'not_followed', id: 'one' }])
  const later = [pbx.dial('phone', 'one'), pbx.move('one'), pbx.hangup('phone'), pbx.hangup('one')]
  expect(later.flat()).toEqual([])
})

test.each(Object.entries(KINDS))('%s: such a call is followed once a list shows it', (_name, pbxOf) => {
  let full = true
  const { play, state } = player({ state: { ...newTracker('pbx', 'default', countingIds()), maxCalls: 1 } })
  const pbx = pbxOf(() => full)
  play(pbx.begin('one'))
  expect([state.notFollowed, [...state.unfollowed], state.calls.size]).toEqual([1, ['one'], 0])
  full = false
  play(pbx.list('one'))
  expect(state.calls.size).toBe(1)
  expect(kindsOf(pbx.dial('phone', 'one'))).toContain('dial_begin')
  expect(kindsOf(pbx.hangup('one'))).toContain('hangup')
})

test('FreeSWITCH: a dialled leg that is reported before its caller is not followed either', () => {
  const pbx = freeswitch(() => true)
  expect([...pbx.dial('phone', 'one'), ...pbx.begin('one'), ...pbx.move('phone')]).toMatchObject([
    { kind: 'not_followed', id: 'one' },
  ])
  // Nothing waits any longer: an event of another leg has its signals at once.
  expect(kindsOf(pbx.hangup('phone'))).toEqual([])
})
