import { expect, test } from 'bun:test'
import type { ChannelSignal, SnapshotChannel } from '../../../../src/calls/signal.ts'
import { player } from '../../../help/play.ts'

// A channel that the PBX counts to the call of another one is rung in that call, and never calls, whatever was not
// seen of its caller.

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000
const PHONE = { kind: 'extension', number: '103', name: 'Bob' } as const
const END = { code: 16, result: 'cancelled', withdrawn: false, mayTransfer: false, forwardedTo: null } as const
const RUNG: ChannelSignal = {
  kind: 'channel',
  id: 'phone',
  linkedId: 'caller',
  endpoint: PHONE,
  dialledNumber: 's',
  originated: false,
  shown: null,
}
const CALLER: SnapshotChannel = {
  id: 'caller',
  linkedId: 'caller',
  endpoint: { kind: 'external', number: '15551230001', name: null },
  dialledNumber: '15550100103',
  callee: false,
  source: null,
  up: false,
  ringing: false,
  bridge: null,
  startedUs: START_US - SECOND,
}

function played(...steps: readonly (readonly [seconds: number, signal: ChannelSignal | readonly SnapshotChannel[]])[]) {
  const { play, rest, events } = player()
  for (const [seconds, signal] of steps) {
    const atUs = START_US + seconds * SECOND
    const at = { atUs, arrivedUs: atUs }
    play(['kind' in signal ? { ...at, ...signal } : { ...at, kind: 'snapshot', channels: signal }])
  }
  rest(20 * SECOND)
  return events.map(({ body: { time, data } }) => {
    const { from, to, did, direction, partial } = data.call
    const seconds = (Date.parse(time) * 1_000 - START_US) / SECOND
    return `${seconds} ${data.name} ${direction} ${from.number} ${to.number} ${did} ${partial ? 'partial' : 'whole'}`
  })
}

test('the phone that an unseen caller rings is called', () => {
  const dial = { kind: 'dial_begin', source: 'caller', dest: 'phone', endpoint: PHONE, shown: null } as const
  const events = played(
    [0, RUNG],
    [0, dial],
    [0, { kind: 'ringing', id: 'phone' }],
    [2, { kind: 'hangup', id: 'phone', end: END }],
  )
  expect(events).toEqual([
    '0 call_started inbound null 103 null partial',
    '0 dial_started inbound null 103 null partial',
    '2 dial_ended inbound null 103 null partial',
    '2 call_ended inbound null 103 null partial',
    '2 call_missed inbound null 103 null partial',
    '3.25 call_saved inbound null 103 null partial',
  ])
})

test('a call of which only the rung channel was seen waits for the list that shows its caller', () => {
  const events = played([0, RUNG], [1, [CALLER]], [3, { kind: 'hangup', id: 'phone', end: END }], [3, []], [6, []])
  expect(events[0]).toBe('-1 call_started inbound 15551230001 15550100103 15550100103 partial')
})

test('it begins without its caller when no list shows one in time', () => {
  const events = played([0, RUNG], [7, [CALLER]], [8, { kind: 'hangup', id: 'phone', end: END }], [8, []], [11, []])
  expect(events[0]).toBe('0 call_started inbound null 103 null partial')
  expect(events.at(-1)).toContain('call_saved inbound 15551230001 15550100103')
})

test('a caller whose own channel is reported after the rung one is seen', () => {
  const { id, linkedId, endpoint, dialledNumber } = CALLER
  const caller = { kind: 'channel', id, linkedId, endpoint, dialledNumber, originated: false, shown: null } as const
  const events = played([0, RUNG], [0, caller], [2, { kind: 'hangup', id: 'phone', end: END }])
  expect(events[0]).toContain('call_started inbound 15551230001 15550100103 15550100103')
})
