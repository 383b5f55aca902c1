import { expect, test } from 'bun:test'
import type { SnapshotChannel } from '../../../../src/calls/signal.ts'
import { AmiDecoder } from '../../../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../../../src/pbx/ami/translator/translator.ts'

// What a list shows of channels of which events came before it: how they were before those events.

type Shown = { state: string; exten?: string; id?: string; linkedId?: string; name?: string }

/** The headers of a channel in an event or row: by default of the phone 101, which is rung for the caller 1.0. */
const channel = (
  { state, exten = '', id = '1.1', linkedId = '1.0', name = 'PJSIP/101-00000002' }: Shown,
  prefix = '',
) =>
  [
    `Channel: ${name}`,
    `ChannelState: ${state}`,
    'ChannelStateDesc: -',
    'CallerIDNum: 101',
    'CallerIDName: Anna',
    'ConnectedLineNum: 102',
    'ConnectedLineName: Ben',
    'Language: en',
    'AccountCode: ',
    'Context: internal',
    `Exten: ${exten}`,
    'Priority: 1',
    `Uniqueid: ${id}`,
    `Linkedid: ${linkedId}`,
  ]
    .map((line) => prefix + line)
    .join('\r\n')

const CALLER = { id: '1.0', name: 'PJSIP/trunk-00000001', exten: '101' }
const event = (name: string, ...parts: string[]) =>
  `Event: ${name}\r\nPrivilege: call,all\r\n${parts.join('\r\n')}\r\n\r\n`
const row = (of: Shown, application: string, data: string, bridge: string) =>
  `Event: Status\r\n${channel(of)}\r\nType: PJSIP\r\nDNID: ${of.exten ?? ''}\r\nEffectiveConnectedLineNum: 102\r\n` +
  `EffectiveConnectedLineName: Ben\r\nTimeToHangup: 0\r\nBridgeID: ${bridge}\r\nApplication: ${application}\r\nData: ${data}\r\n` +
  'Nativeformats: (ulaw)\r\nSeconds: 3\r\nActionID: hookswitch-1\r\n\r\n'

/** The list after the events: the caller talks with 103, to whom he was transferred. */
const TRANSFERRED = row({ ...CALLER, state: '6', exten: '103' }, 'Dial', 'PJSIP/103', 'second')
const TALKING =
  row({ ...CALLER, state: '6' }, 'Dial', 'PJSIP/101', 'first') + row({ state: '6' }, 'AppDial', '-', 'first')
const QUEUED = row({ ...CALLER, state: '6' }, 'Queue', 'sales', 'first') + row({ state: '6' }, 'AppQueue', '-', 'first')

const bridged = (name: string, of: Shown, bridge: string) => event(name, `BridgeUniqueid: ${bridge}`, channel(of))
const answered =
  event('Newstate', channel({ state: '6' })) +
  bridged('BridgeEnter', { state: '6' }, 'first') +
  bridged('BridgeEnter', { ...CALLER, state: '6' }, 'first')
const transfer = event(
  'BlindTransfer',
  'Result: Success',
  channel({ state: '6' }, 'Transferer'),
  channel({ ...CALLER, state: '6' }, 'Transferee'),
  'BridgeUniqueid: first',
  'Extension: 103',
)
const declined = event(
  'DialEnd',
  channel({ ...CALLER, state: '4' }),
  channel({ state: '5', exten: '101' }, 'Dest'),
  'Forward: ',
  'DialStatus: BUSY',
)
const newexten = event(
  'Newexten',
  channel({ ...CALLER, state: '6', exten: '300' }),
  'Extension: 300',
  'Application: Queue',
  'AppData: sales',
)

const PHONE = { id: '1.1', callee: true, source: '1.0' }
const NOBODY = { bridge: null, up: false }
const FIRST = { bridge: 'first', up: true }

test.each<[string, string, string, Partial<SnapshotChannel>[]]>([
  [
    'a phone that was reported up rang before',
    answered,
    TALKING,
    [
      { id: '1.0', up: true, bridge: null },
      { ...PHONE, ...NOBODY, ringing: true },
    ],
  ],
  [
    'a caller that was reported up called before',
    event('Newstate', channel({ ...CALLER, state: '6' })),
    TALKING,
    [
      { id: '1.0', up: false, ringing: false },
      { ...PHONE, ...FIRST },
    ],
  ],
  [
    'who entered a bridge was in none before',
    answered.slice(answered.indexOf('Event: BridgeEnter')),
    TALKING,
    [
      { id: '1.0', up: true, bridge: null },
      { ...PHONE, up: true, bridge: null },
    ],
  ],
  [
    'who left a bridge was in it, and the list need not have the channel any more',
    bridged('BridgeLeave', { state: '6' }, 'first') + event('Hangup', channel({ state: '6' }), 'Cause: 16'),
    TRANSFERRED,
    [
      { id: '1.0', place: '103', bridge: 'second' },
      { id: '1.1', callee: true, ...FIRST },
    ],
  ],
  [
    'a hang-up before the bridge is left shows the bridge too',
    event('HangupRequest', channel({ state: '6' })) + bridged('BridgeLeave', { state: '6' }, 'first'),
    TALKING,
    [
      { id: '1.0', ...FIRST },
      { ...PHONE, ...FIRST },
    ],
  ],
  [
    'parties of a transfer talked with each other',
    transfer,
    TRANSFERRED,
    [
      { id: '1.0', place: '101', ...FIRST },
      { id: '1.1', callee: true, ...FIRST },
    ],
  ],
  [
    'a phone that was rung and has ended: who dialled it is in the event',
    declined,
    '',
    [
      { id: '1.0', callee: false, ...NOBODY },
      { ...PHONE, ringing: true, ...NOBODY },
    ],
  ],
  [
    'a phone that was created by then is not listed: events have all of it',
    event('Newchannel', channel({ state: '0' })) + event('Newstate', channel({ state: '6' })),
    TALKING,
    [{ id: '1.0', ...FIRST }],
  ],
  [
    'a caller that took up a parked call was not dialled',
    bridged('BridgeLeave', { state: '6', exten: '701' }, 'first'),
    '',
    [{ id: '1.1', callee: false, dialledNumber: '701', ...FIRST }],
  ],
  [
    'who left a queue was in it',
    event('QueueCallerLeave', channel({ ...CALLER, state: '6' }), 'Queue: sales'),
    TRANSFERRED,
    [{ id: '1.0', activity: { kind: 'queue', queue: 'sales' } }],
  ],
  [
    'a caller that was moved on rang the phones at the extension that they show',
    event(
      'Newexten',
      channel({ ...CALLER, state: '4', exten: '300' }),
      'Extension: 300',
      'Application: Dial',
      'AppData: -',
    ) + declined,
    '',
    [
      { id: '1.0', place: '101' },
      { ...PHONE, ringing: true },
    ],
  ],
  [
    'who picks up a call was not dialled, though the dial says so',
    event(
      'DialEnd',
      channel({ ...CALLER, state: '4' }),
      channel({ state: '6', exten: '*8', linkedId: '1.1' }, 'Dest'),
      'Forward: ',
      'DialStatus: ANSWER',
    ),
    '',
    [
      { id: '1.0', callee: false },
      { id: '1.1', callee: false, source: null, dialledNumber: '*8' },
    ],
  ],
  [
    'who handed over its place in a queue was in that queue',
    event(
      'AttendedTransfer',
      'Result: Success',
      channel({ state: '6' }, 'OrigTransferer'),
      'OrigBridgeUniqueid: first',
      channel({ state: '6', id: '1.2', linkedId: '1.2', exten: '300' }, 'SecondTransferer'),
      channel({ ...CALLER, state: '6' }, 'Transferee'),
      'DestType: App',
      'DestApp: Queue',
    ),
    row({ ...CALLER, state: '6', exten: '300' }, 'Queue', 'sales', ''),
    [
      { id: '1.0', place: '101', ...FIRST },
      { id: '1.1', callee: true, ...FIRST },
      { id: '1.2', callee: false, activity: { kind: 'queue', queue: 'sales' } },
    ],
  ],
  [
    'the end of a recording, which may come after that of its channel, shows no channel',
    event('MixMonitorStop', channel({ state: '6', id: '1.9', linkedId: '1.9' })),
    TALKING,
    [
      { id: '1.0', ...FIRST },
      { ...PHONE, ...FIRST },
    ],
  ],
  [
    'a feature code that transfers by one channel does not show its bridge',
    event(
      'AttendedTransfer',
      'Result: Fail',
      channel({ state: '6' }, 'OrigTransferer'),
      'OrigBridgeUniqueid: second',
      channel({ state: '6' }, 'SecondTransferer'),
      'SecondBridgeUniqueid: third',
    ),
    TALKING,
    [
      { id: '1.0', ...FIRST },
      { ...PHONE, ...FIRST },
    ],
  ],
  [
    'who went on to a queue was not in it',
    newexten +
      event('QueueCallerJoin', channel({ ...CALLER, state: '6', exten: '300' }), 'Queue: sales', 'Position: 1'),
    QUEUED,
    [
      { id: '1.0', place: '300' },
      { id: '1.1', callee: true },
    ],
  ],
])('%s', (_, earlier, listed, channels) => {
  const signals = createAmiTranslator({ trunks: ['trunk'], extensions: [], variables: [] })
  const frames = new AmiDecoder().push(Buffer.from(earlier))
  const created = new Set(frames.flatMap((one) => (one.name === 'Newchannel' ? [one.get('Uniqueid')] : [])))
  const rows = new AmiDecoder().push(Buffer.from(listed))
  const about = { created, earlier: frames, earlierUs: 1_000_000 }
  const [list] = signals.snapshot(rows, 3_000_000, about)
  expect(list).toMatchObject({ kind: 'snapshot', atUs: 1_000_000, arrivedUs: 1_000_000 })
  const found = list?.kind === 'snapshot' ? list.channels : []
  expect(found).toMatchObject(channels)
})

test('a caller who went on in the dialplan runs no application of the list', () => {
  const signals = createAmiTranslator({ trunks: ['trunk'], extensions: [], variables: [] })
  const about = { earlier: new AmiDecoder().push(Buffer.from(newexten)) }
  const [list] = signals.snapshot(new AmiDecoder().push(Buffer.from(QUEUED)), 3_000_000, about)
  const found = list?.kind === 'snapshot' ? list.channels : []
  expect(found.find(({ id }) => id === '1.0')?.activity).toBeUndefined()
})

test('a caller that was moved while it talked still shows the Dial of before: its next dial is no group', () => {
  const signals = createAmiTranslator({ trunks: ['trunk'], extensions: [], variables: [] })
  const moved = { ...CALLER, state: '6', exten: '300' }
  const shows = event('Newexten', channel(moved), 'Extension: 300', 'Application: Dial', 'AppData: PJSIP/101&PJSIP/102')
  const left = bridged('BridgeLeave', moved, 'first')
  const begins = event('VarSet', channel(moved), 'Variable: DIALSTATUS', 'Value: ')
  const dials = event(
    'DialBegin',
    channel(moved),
    channel({ state: '0', id: '1.3', name: 'PJSIP/103-00000004' }, 'Dest'),
    'DialString: 103',
  )
  const earlier = new AmiDecoder().push(Buffer.from(shows + left + begins + dials))
  signals.snapshot(new AmiDecoder().push(Buffer.from(TALKING)), 3_000_000, { earlier })
  const kinds = earlier.flatMap((one) => signals.event(one, 1_000_000)).map(({ kind }) => kind)
  expect(kinds).toContain('dial_begin')
  expect(kinds).not.toContain('group')
})

test.each([
  ['15550100101', '15550100101'],
  ['400', null],
  ['s', null],
])('what a caller from a trunk dialled, who has ended and was last at %s: %s', (exten, dialledNumber) => {
  const signals = createAmiTranslator({ trunks: ['trunk'], extensions: [], variables: [] })
  const ended = event('Hangup', channel({ ...CALLER, state: '6', exten }), 'Cause: 16')
  const [list] = signals.snapshot([], 3_000_000, { earlier: new AmiDecoder().push(Buffer.from(ended)) })
  expect(list?.kind === 'snapshot' ? list.channels : []).toMatchObject([{ id: '1.0', dialledNumber }])
})

test('a channel that has ended began when its id says, by the clock of the PBX', () => {
  const signals = createAmiTranslator({ trunks: ['trunk'], extensions: [], variables: [] })
  const of = { ...CALLER, id: '1795945640.1', linkedId: '1795945640.1', state: '6' }
  const ended = `Event: Hangup\r\nPrivilege: call,all\r\nTimestamp: 1795945643.5\r\n${channel(of)}\r\nCause: 16\r\n\r\n`
  const about = { earlier: new AmiDecoder().push(Buffer.from(ended)), earlierUs: 9_000_000 }
  const [list] = signals.snapshot([], 10_000_000, about)
  expect(list?.kind === 'snapshot' ? list.channels : []).toMatchObject([{ startedUs: 7_000_000 }])
})
