import { expect, test } from 'bun:test'
import {
  liveCallText,
  readLiveCall,
  type StoredCall,
  takeOverLiveCalls,
} from '../../../../src/calls/tracker/resync/takeover.ts'
import { takeChanges } from '../../../../src/calls/tracker/tracker.ts'
import { player } from '../../../help/play.ts'

const START_US = 1_795_213_000_000_000
const AT = { atUs: START_US, arrivedUs: START_US }
const CALLER = { kind: 'external', number: '15551230001', name: null } as const
const PHONE = { kind: 'extension', number: '101', name: null } as const

/** Returns a call whose phone rings. */
function ringingCall(): StoredCall {
  const { play, state } = player()
  const channel = { kind: 'channel', linkedId: 'a', originated: false, shown: null } as const
  play([
    { ...AT, ...channel, id: 'a', endpoint: CALLER, dialledNumber: '15550100101' },
    { ...AT, ...channel, id: 'b', endpoint: PHONE, dialledNumber: null },
    { ...AT, kind: 'dial_begin', source: 'a', dest: 'b', endpoint: PHONE, shown: null },
    { ...AT, kind: 'ringing', id: 'b' },
    { ...AT, kind: 'hold', id: 'a', onHold: true },
  ])
  const [call] = takeChanges(state).changed
  if (call === undefined) throw new Error('there is no call')
  return call
}

/** The names that fields had once, as they may be in a store. */
const EARLIER: readonly (readonly [string, string])[] = [
  ['emitted', 'told'],
  ['directionKnown', 'settled'],
  ['settlingSinceUs', 'holdUs'],
  ['dialledNumber', 'dialled'],
  ['inConference', 'room'],
  ['inHoldingBridge', 'waiting'],
  ['conference', 'meets'],
  ['onHold', 'held'],
  ['forConference', 'forRoom'],
]
const asEarlier = (json: string): string =>
  EARLIER.reduce((text, [now, then]) => text.replaceAll(`"${now}":`, `"${then}":`), json)

test.each([
  ['this version', liveCallText],
  ['a version that left no field out', (call: StoredCall) => JSON.stringify(call)],
  ['a version whose fields had other names', (call: StoredCall) => asEarlier(JSON.stringify(call))],
])('a live call that %s stored goes on where it was', (_, textOf) => {
  const call = ringingCall()
  const { play, rest, state, events } = player()
  takeOverLiveCalls(state, [readLiveCall(textOf(call))])
  expect([...state.calls.values()]).toStrictEqual([call.call])
  expect([...state.channels.values()]).toStrictEqual([...call.channels])
  expect([...state.onHold]).toEqual(['a'])
  play([
    { ...AT, kind: 'connected', first: true, boot: null },
    { ...AT, kind: 'snapshot', channels: [] },
  ])
  rest(5_000_000)
  expect(events.map(({ name }) => name)).toEqual(['dial_ended', 'call_ended', 'call_missed', 'call_saved'])
})

test('what version 0.2.0 stored of a queue’s dial, of phones rung in turn and of what it had not seen is read', () => {
  const { call, channels } = ringingCall()
  const { unseen: _, ...known } = call
  const earlier = channels.map(({ dial, ...channel }) => {
    if (dial === null) return { ...channel, dial, inTurn: ['101'] }
    const { notByQueue: _, ...rest } = dial
    return { ...channel, dial: { ...rest, byQueue: false } }
  })
  const read = readLiveCall(JSON.stringify({ call: { ...known, partial: true }, channels: earlier }))
  expect(read.call).toStrictEqual({ ...call, unseen: true })
  expect(read.channels).toStrictEqual(
    channels.map(({ dial, ...channel }) => ({
      ...channel,
      dial: dial === null ? null : { ...dial, notByQueue: true },
    })),
  )
})

test("events after a takeover are later than the earlier process's events, although its clock was an hour ahead", () => {
  const BEHIND_US = START_US - 3_600_000_000
  const { play, rest, state, events } = player()
  const call = ringingCall()
  takeOverLiveCalls(state, [readLiveCall(liveCallText(call))])
  play([
    { atUs: BEHIND_US, arrivedUs: START_US, kind: 'connected', first: true, boot: null },
    { atUs: BEHIND_US, arrivedUs: START_US, kind: 'snapshot', channels: [] },
  ])
  rest(5_000_000)
  const id = call.call.last?.id ?? ''
  for (const event of events) {
    expect(event.atUs).toBeGreaterThanOrEqual(START_US)
    expect(event.id > id).toBe(true)
  }
})

test('the stored text leaves out what a new call, stage, channel and dial have', () => {
  const call = ringingCall()
  const text = liveCallText(call)
  expect(text).not.toContain('"recorded":')
  expect(text).not.toContain('"conference":')
  expect(text).not.toContain('"settlingSinceUs":')
  expect(text).not.toContain('"forwardedTo":')
  expect(text.length).toBeLessThan(0.6 * JSON.stringify(call).length)
})

test('the stored text ends with what does not change while a call goes on', () => {
  const call = ringingCall()
  const later = structuredClone(call)
  for (const stage of later.call.stages) Object.assign(stage, { answered: true, answeredUs: START_US })
  for (const channel of later.channels) Object.assign(channel, { bridge: 'b', spoke: true, upUs: START_US })
  Object.assign(later.call, { sequence: 9, answeredUs: START_US })
  const [text, after] = [liveCallText(call), liveCallText(later)]
  const end = text.slice(text.indexOf('"facts":'))
  expect(after.endsWith(end)).toBe(true)
  expect(end.length).toBeGreaterThan(0.4 * text.length)
})
