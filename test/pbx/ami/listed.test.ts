import { expect, test } from 'bun:test'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { createAmiSignals } from '../../../src/pbx/ami/signals.ts'

// What a list says of a channel is known when it ends.

const phone = (state: string, name: string) =>
  `Channel: PJSIP/101-00000001\r\nChannelState: ${state}\r\nChannelStateDesc: ${name}\r\nCallerIDNum: 101\r\n` +
  'CallerIDName: Anna\r\nConnectedLineNum: 102\r\nConnectedLineName: Ben\r\nLanguage: en\r\nAccountCode: \r\n' +
  'Context: from-internal\r\nExten: \r\nPriority: 1\r\nUniqueid: 1.1\r\nLinkedid: 1.0\r\n'
const framesOf = (text: string) => new AmiDecoder().push(Buffer.from(text))

test.each([
  ['5', 'Ringing', 'no_answer'],
  ['0', 'Down', 'unavailable'],
] as const)('a phone that is listed in state %s (%s) and then says 480: %s', (state, name, result) => {
  const signals = createAmiSignals({ trunks: [], extensions: [], variables: [] })
  const row = `Event: Status\r\nActionID: hookswitch-1\r\n${phone(state, name)}Application: AppDial\r\nSeconds: 3\r\n\r\n`
  signals.listed(framesOf(row), 0)
  const hangup = `Event: Hangup\r\nPrivilege: call,all\r\n${phone('0', 'Down')}Cause: 19\r\nTechCause: 480\r\n\r\n`
  const ends = framesOf(hangup).flatMap((frame) => signals.event(frame, 1_000_000))
  expect(ends.flatMap((one) => (one.kind === 'hangup' ? one.end.result : []))).toEqual([result])
})
