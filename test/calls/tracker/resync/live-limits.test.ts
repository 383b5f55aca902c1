import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../../src/calls/event.ts'
import type { Signal } from '../../../../src/calls/signal.ts'
import { MAX_LIVE_CALLS } from '../../../../src/calls/tracker/resync/live-limits.ts'
import { player } from '../../../help/play.ts'

// A PBX that never ends a call, or makes channels without calls, cannot take more than its share of the memory.

const START_US = 1_795_213_000_000_000
const MILLISECOND = 1_000

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

test('the oldest calls end as unknown, each once, and the newest stay', () => {
  const { play, rest, events, state } = player()
  const count = MAX_LIVE_CALLS + 5_000
  let most = 0
  for (const signal of callsWithoutEnd(count)) {
    play([signal])
    most = Math.max(most, state.calls.size)
  }
  rest(10_000 * MILLISECOND)
  // Calls that end are kept until they are saved: here the new calls of 3 s.
  expect(most).toBeLessThan(MAX_LIVE_CALLS + 5_000)
  expect(state.calls.size).toBeLessThanOrEqual(MAX_LIVE_CALLS)
  const ended = events.filter(({ name }) => name === 'call_ended')
  expect(ended.length).toBe(count - state.calls.size)
  expect(state.endedEarly).toBe(ended.length)
  const callOf = ({ body }: CallEvent) => body.data.call
  for (const event of ended)
    expect(callOf(event)).toMatchObject({ partial: true, hangup: { cause: 'unknown', by: 'unknown' } })
  const numbers = ended.map((event) => Number(callOf(event).from.number?.slice(4)))
  expect(Math.max(...numbers)).toBe(ended.length - 1)
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
