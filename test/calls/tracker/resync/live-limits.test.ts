import { expect, test } from 'bun:test'
import type { Signal } from '../../../../src/calls/signal.ts'
import { newTracker } from '../../../../src/calls/tracker/tracker.ts'
import { countingIds, player } from '../../../help/play.ts'

// A PBX that never ends a call, or makes channels without calls, cannot take more than its share of the memory.

const START_US = 1_795_213_000_000_000
const MILLISECOND = 1_000
const CALLER = { kind: 'external', number: '15551230001', name: null } as const

function* callsWithoutEnd(count: number): Generator<Signal> {
  for (let n = 0; n < count; n += 1) {
    const atUs = START_US + n * MILLISECOND
    const endpoint = { kind: 'external', number: `1555${n}`, name: null } as const
    const is = { dialledNumber: '100', originated: false, shown: null }
    yield { kind: 'channel', id: `c${n}`, linkedId: `c${n}`, endpoint, ...is, atUs, arrivedUs: atUs }
    const phone = { kind: 'extension', number: '101', name: null } as const
    yield { kind: 'dial_begin', source: `c${n}`, dest: `d${n}`, endpoint: phone, shown: null, atUs, arrivedUs: atUs }
    yield { kind: 'ringing', id: `d${n}`, atUs, arrivedUs: atUs }
  }
}

test('calls beyond the limit are not followed and counted, and those before them go on', () => {
  const { play, events, state } = player({ state: { ...newTracker('pbx', 'default', countingIds()), maxCalls: 500 } })
  for (const signal of callsWithoutEnd(600)) play([signal])
  expect([state.calls.size, state.notFollowed, state.unfollowed.size]).toEqual([500, 100, 100])
  expect(state.channels.size).toBe(1_000)
  const names = events.map(({ name }) => String(name))
  expect([names.filter((name) => name === 'call_started').length, names.includes('call_ended')]).toEqual([500, false])
  // The end of one makes room for one.
  const atUs = START_US + 3_600_000 * MILLISECOND
  const end = { code: 16, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null } as const
  for (const id of ['d0', 'c0', 'c599', 'd599']) play([{ kind: 'hangup', id, end, atUs, arrivedUs: atUs }])
  const laterUs = atUs + 10_000 * MILLISECOND
  play([{ kind: 'tick', atUs: laterUs, arrivedUs: laterUs }])
  expect(state.calls.size).toBe(499)
  const row = { linkedId: null, endpoint: CALLER, dialledNumber: '100', callee: false, source: null, up: true }
  const channels = ['x', 'y', 'z'].map((id) => {
    return { ...row, id, linkedId: id, ringing: false, bridge: null, startedUs: null }
  })
  const known = [...state.channels.keys()]
  play([{ kind: 'snapshot', channels, uncertain: known, atUs: laterUs, arrivedUs: laterUs }])
  expect([state.calls.size, state.notFollowed]).toEqual([500, 102])
})

test('channels of no call are dropped beyond 100,000', () => {
  const most = 100_000
  const { play, state } = player()
  for (let n = 0; n < most + 5_000; n += 1) {
    const atUs = START_US + n
    const endpoint = { kind: 'extension', number: '101', name: null } as const
    const is = { dialledNumber: null, originated: false, shown: null }
    play([{ kind: 'channel', id: `c${n}`, linkedId: null, endpoint, ...is, atUs, arrivedUs: atUs }])
  }
  expect(state.calls.size).toBe(0)
  expect(state.channels.size).toBeLessThanOrEqual(most + 1_000)
})
