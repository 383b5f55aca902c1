import { expect, test } from 'bun:test'
import { AmiDecoder } from '../../../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../../../src/pbx/ami/translator/translator.ts'

// The row of a channel in a list.

const phone = (state: string, name: string) =>
  `Channel: PJSIP/101-00000001\r\nChannelState: ${state}\r\nChannelStateDesc: ${name}\r\nCallerIDNum: 101\r\n` +
  'CallerIDName: Anna\r\nConnectedLineNum: 102\r\nConnectedLineName: Ben\r\nLanguage: en\r\nAccountCode: \r\n' +
  'Context: from-internal\r\nExten: \r\nPriority: 1\r\nUniqueid: 1.1\r\nLinkedid: 1.0\r\n'
const framesOf = (text: string) => new AmiDecoder().push(Buffer.from(text))

test.each([
  ['5', 'Ringing', 'no_answer'],
  ['0', 'Down', 'unavailable'],
] as const)('a phone that is listed in state %s (%s) and then answers 480: %s', (state, name, result) => {
  const signals = createAmiTranslator({ trunks: [], extensions: [], variables: [] })
  const listed = `Event: Status\r\nActionID: hookswitch-1\r\n${phone(state, name)}Application: AppDial\r\nSeconds: 3\r\n\r\n`
  signals.snapshot(framesOf(listed), 0)
  const hangup = `Event: Hangup\r\nPrivilege: call,all\r\n${phone('0', 'Down')}Cause: 19\r\nTechCause: 480\r\n\r\n`
  const ends = framesOf(hangup).flatMap((frame) => signals.event(frame, 1_000_000))
  expect(ends.flatMap((one) => (one.kind === 'hangup' ? one.end.result : []))).toEqual([result])
})

/** The row of a channel of call 1.0 that talks in a bridge. */
const row = (name: string, id: string, number: string, exten: string, application: string, data: string) =>
  `Event: Status\r\nPrivilege: Call\r\nChannel: ${name}\r\nChannelState: 6\r\nChannelStateDesc: Up\r\nCallerIDNum: ${number}\r\n` +
  'CallerIDName: <unknown>\r\nConnectedLineNum: <unknown>\r\nConnectedLineName: <unknown>\r\nLanguage: en\r\nAccountCode: \r\n' +
  `Context: from-internal\r\nExten: ${exten}\r\nPriority: 1\r\nUniqueid: ${id}\r\nLinkedid: 1.0\r\nType: PJSIP\r\nDNID: ${exten}\r\n` +
  'EffectiveConnectedLineNum: <unknown>\r\nEffectiveConnectedLineName: <unknown>\r\nTimeToHangup: 0\r\nBridgeID: b\r\n' +
  `Application: ${application}\r\nData: ${data}\r\nNativeformats: (ulaw)\r\nSeconds: 3\r\nActionID: hookswitch-1\r\n\r\n`

test.each([
  ['PJSIP/15557654321@carrier,30,tT', '15557654321'],
  ['PJSIP/101&PJSIP/15557654321@carrier,30', '15557654321'],
  ['PJSIP/carrier/sip:15557654321@pbx.example', '15557654321'],
  ['PJSIP/15557654321@other', '915557654321'],
  ['PJSIP/15557654321@carrier&PJSIP/15557654322@carrier', '915557654321'],
  ['PJSIP/101', '915557654321'],
])('who was reached by Dial(%s), having dialled 915557654321: %s', (data, number) => {
  const signals = createAmiTranslator({ trunks: ['carrier'], extensions: [], variables: [] })
  const caller = row('PJSIP/101-00000001', '1.0', '101', '915557654321', 'Dial', data)
  const called = row('PJSIP/carrier-00000002', '1.1', '915557654321', '', 'AppDial', '(Outgoing Line)')
  const [listed] = signals.snapshot(framesOf(called + caller), 0)
  const channels = listed?.kind === 'snapshot' ? listed.channels : []
  expect(channels.find(({ id }) => id === '1.1')?.endpoint).toEqual({ kind: 'external', number, name: null })
})

test('the half that meets an agent who waits on the line is in the call of its other half, not in his wait', () => {
  const signals = createAmiTranslator({ trunks: [], extensions: [], variables: [] })
  const inCall = (of: string, listed: string) => listed.replace('Linkedid: 1.0', `Linkedid: ${of}`)
  const rows = [
    row('PJSIP/104-00000001', '1.0', '104', '*22', 'AgentLogin', '104'),
    inCall('2.0', row('PJSIP/101-00000002', '2.0', '101', '700', 'Dial', 'Local/104@agents')),
    inCall('2.0', row('Local/104@agents-00000003;1', '2.1', '104', '700', 'AppDial', '(Outgoing Line)')),
    row('Local/104@agents-00000003;2', '2.2', '101', '104', 'AgentRequest', '104'),
  ]
  const [listed] = signals.snapshot(framesOf(rows.join('')), 0)
  const channels = listed?.kind === 'snapshot' ? listed.channels : []
  expect(channels.map(({ id, linkedId }) => [id, linkedId])).toEqual([
    ['1.0', '1.0'],
    ['2.0', '2.0'],
    ['2.1', '2.0'],
    ['2.2', '2.0'],
    ['1.0 in b', null],
  ])
})
