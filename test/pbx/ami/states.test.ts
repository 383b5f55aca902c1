import { expect, test } from 'bun:test'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../../src/pbx/ami/events.ts'
import { createAmiStates } from '../../../src/pbx/ami/states.ts'
import type { StateSignal } from '../../../src/states/signal.ts'
import { ami } from '../../help/pbx.ts'

// Events as an Asterisk 22.10.1 and 18 sent them, read by the decoder with the filter of a connection.

const MEMBER = 'Queue: support\nMemberName: Agent 101\nMembership: static\nPenalty: 0\nCallsTaken: 0\nLastCall: 0'
const member = (name: string, fields: string, at = 'PJSIP/101') =>
  `Event: ${name}\nPrivilege: agent,all\n${MEMBER}\nInterface: ${at}\nStateInterface: PJSIP/101\n${fields}`
const contact = (status: string, more = '') =>
  `Event: ContactStatus\nPrivilege: system,all\nURI: sip:101@127.0.9.101:5360\nContactStatus: ${status}\nAOR: 101\nEndpointName: 101${more}`
const device = (name: string, state: string) =>
  `Event: DeviceStateChange\nPrivilege: call,all\nDevice: ${name}\nState: ${state}`
const registry = (kind: string, status: string, more = '') =>
  `Event: Registry\nPrivilege: system,all\nChannelType: ${kind}\nUsername: sip:acct@carrier.example\nDomain: sip:carrier.example\nStatus: ${status}${more}`
const peer = (kind: string, status: string) =>
  `Event: PeerStatus\nPrivilege: system,all\nChannelType: ${kind}\nPeer: ${kind}/101\nPeerStatus: ${status}`
/** The MD5 of the URI: Asterisk names the contact by it too. */
const KEY = '07544c50df6b64ec9a274a2c5c00f744'

/** A short form of a signal: its fields without the time. */
const textOf = (signal: StateSignal): string =>
  Object.entries(signal)
    .filter(([key]) => key !== 'atUs')
    .map(([, value]) => String(value))
    .join(' ')

const CASES: readonly [sentence: string, frame: string, signals: string[]][] = [
  ['a phone that registers', contact('NonQualified'), [`contact PJSIP/101 ${KEY} unchecked`]],
  ['one that answers', contact('Reachable'), [`contact PJSIP/101 ${KEY} reachable`]],
  ['one that is silent', contact('Unreachable'), [`contact PJSIP/101 ${KEY} unreachable`]],
  ['one that leaves', contact('Removed'), [`contact_gone PJSIP/101 ${KEY}`]],
  ['a phone of chan_sip', peer('SIP', 'Registered'), ['contact SIP/101 peer unchecked']],
  ['one that answers late', peer('SIP', 'Lagged'), ['contact SIP/101 peer reachable']],
  ['one that leaves', peer('SIP', 'Unregistered'), ['contact_gone SIP/101 peer']],
  ['the status of a PJSIP peer says less than its contacts', peer('PJSIP', 'Reachable'), []],
  ['a phone that rings', device('PJSIP/101', 'RINGING'), ['device PJSIP/101 ringing']],
  ['one that talks and rings', device('PJSIP/101', 'RINGINUSE'), ['device PJSIP/101 in_use']],
  ['one that is not there', device('PJSIP/101', 'UNAVAILABLE'), ['device PJSIP/101 absent']],
  ['the state of a queue is no device', device('Queue:support_avail', 'INUSE'), []],
  ['nor is do-not-disturb', device('Custom:DND101', 'INUSE'), []],
  ['nor is a number', device('Local/101@from-queue', 'INUSE'), []],
  ['a registration', registry('PJSIP', 'Registered'), ['registration acct@carrier.example registered null']],
  ['one that is refused', registry('PJSIP', 'Rejected'), ['registration acct@carrier.example rejected Rejected']],
  [
    'one of chan_sip, with its cause',
    registry('SIP', 'Rejected', '\nCause: Forbidden').replace('sip:acct@carrier.example', 'acct').replace('sip:', ''),
    ['registration acct@carrier.example rejected Forbidden'],
  ],
  ['a request that is under way', registry('SIP', 'Request Sent'), []],
  [
    'an agent who is free',
    member('QueueMemberStatus', 'InCall: 0\nStatus: 1\nPaused: 0\nPausedReason: '),
    ['member support PJSIP/101 PJSIP/101 101 available null'],
  ],
  [
    'one whose phone rings',
    member('QueueMemberStatus', 'InCall: 0\nStatus: 6\nPaused: 0\nPausedReason: '),
    ['member support PJSIP/101 PJSIP/101 101 busy null'],
  ],
  [
    'one behind a Local channel, in a call of the queue',
    member('QueueMemberStatus', 'InCall: 1\nStatus: 1\nPaused: 0\nPausedReason: ', 'Local/201@from-queue/n'),
    ['member support Local/201@from-queue/n PJSIP/101 201 busy null'],
  ],
  [
    'one who takes a break',
    member('QueueMemberPause', 'InCall: 0\nStatus: 1\nPaused: 1\nPausedReason: lunch'),
    ['member support PJSIP/101 PJSIP/101 101 paused lunch'],
  ],
  [
    'one whose phone is gone',
    member('QueueMemberStatus', 'InCall: 0\nStatus: 5\nPaused: 0\nPausedReason: '),
    ['member support PJSIP/101 PJSIP/101 101 unreachable null'],
  ],
  [
    'one who leaves',
    member('QueueMemberRemoved', 'InCall: 0\nStatus: 1\nPaused: 0'),
    ['member_gone support PJSIP/101'],
  ],
]

/** Returns the frames of a text that a connection reads. */
function framesOf(text: string) {
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
  return decoder.push(Buffer.from(`Asterisk Call Manager/9.0.0\r\n${text}`))
}

test.each(CASES)('%s', (_, frame, signals) => {
  const frames = framesOf(ami(frame))
  const states = createAmiStates()
  expect(frames.every(({ tainted }) => !tainted)).toBe(true)
  expect(frames.flatMap((one) => states.signals(one, 1)).map(textOf)).toEqual(signals)
})

test('a registration has the name of the list that names it', () => {
  const states = createAmiStates()
  const row =
    'Event: OutboundRegistrationDetail\nActionID: 1\nObjectName: carrier-reg\nClientUri: sip:acct@carrier.example\nServerUri: sip:carrier.example\nEndpoint: carrier\nStatus: Registered'
  const [listed, told] = framesOf(ami(row) + ami(registry('PJSIP', 'Rejected')))
  if (listed === undefined || told === undefined) throw new Error('two frames')
  expect(states.signals(listed, 1).map(textOf)).toEqual(['registration carrier registered null'])
  expect(states.signals(told, 1).map(textOf)).toEqual(['registration carrier rejected Rejected'])
})

test('rows of the list of devices are all read, also those of queues: otherwise it would be incomplete', () => {
  const rows = ['Queue:support_avail', 'PJSIP/101'].map((name) =>
    ami(device(name, 'NOT_INUSE').replace('Privilege: call,all', 'ActionID: 1')),
  )
  expect(framesOf(rows.join(''))).toHaveLength(2)
})
