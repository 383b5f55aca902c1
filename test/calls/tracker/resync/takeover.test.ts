import { expect, test } from 'bun:test'
import { readLiveCall, takeOverLiveCalls } from '../../../../src/calls/tracker/resync/takeover.ts'
import { takeChanges } from '../../../../src/calls/tracker/tracker.ts'
import { player } from '../../../help/play.ts'

const START_US = 1_795_213_000_000_000
const AT = { atUs: START_US, arrivedUs: START_US }
const CALLER = { kind: 'external', number: '15551230001', name: null } as const
const PHONE = { kind: 'extension', number: '101', name: null } as const

/** Returns a stored call whose phone rings. */
function storedCall(): string {
  const { play, state } = player()
  const channel = { kind: 'channel', linkedId: 'a', originated: false, shown: null } as const
  play([
    { ...AT, ...channel, id: 'a', endpoint: CALLER, dialledNumber: '15550100101' },
    { ...AT, ...channel, id: 'b', endpoint: PHONE, dialledNumber: null },
    { ...AT, kind: 'dial_begin', source: 'a', dest: 'b', endpoint: PHONE, shown: null },
    { ...AT, kind: 'ringing', id: 'b' },
    { ...AT, kind: 'hold', id: 'a', onHold: true },
  ])
  return JSON.stringify(takeChanges(state).changed[0])
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
  ['this version', (json: string) => json],
  ['a version whose fields had other names', asEarlier],
])('a live call that %s stored goes on where it was', (_, change) => {
  const json = storedCall()
  expect(readLiveCall(change(json))).toEqual(JSON.parse(json))
  const { play, rest, state, events } = player()
  takeOverLiveCalls(state, [readLiveCall(change(json))])
  expect([...state.onHold]).toEqual(['a'])
  play([
    { ...AT, kind: 'connected', first: true, boot: null },
    { ...AT, kind: 'snapshot', channels: [] },
  ])
  rest(5_000_000)
  expect(events.map(({ name }) => name)).toEqual(['dial_ended', 'call_ended', 'call_missed', 'call_saved'])
})

test("events after a takeover are later than the earlier process's events, although its clock was an hour ahead", () => {
  const BEHIND_US = START_US - 3_600_000_000
  const { play, rest, state, events } = player()
  takeOverLiveCalls(state, [readLiveCall(storedCall())])
  play([
    { atUs: BEHIND_US, arrivedUs: START_US, kind: 'connected', first: true, boot: null },
    { atUs: BEHIND_US, arrivedUs: START_US, kind: 'snapshot', channels: [] },
  ])
  rest(5_000_000)
  const { id } = JSON.parse(storedCall()).call.last
  for (const event of events) {
    expect(event.atUs).toBeGreaterThanOrEqual(START_US)
    expect(event.id > id).toBe(true)
  }
})
