import { expect, test } from 'bun:test'
import type { Signal } from '../../../src/calls/signal.ts'
import { newTracker, track } from '../../../src/calls/tracker/tracker.ts'

// A fault costs at most the signal that caused it, or the events of one call at that moment.

const START_US = 1_795_213_000_000_000
const phone = { kind: 'external', number: '15551230001', name: null } as const
const channel = (id: string, atUs: number): Signal => ({
  kind: 'channel',
  id,
  linkedId: id,
  endpoint: phone,
  dialledNumber: '200',
  originated: false,
  shown: null,
  atUs,
  arrivedUs: START_US,
})

test('an invalid time costs only its own call', () => {
  let ids = 0
  const state = newTracker('pbx', 'default', () => `id-${++ids}`)
  const wrong = track(state, channel('a', Number.NaN))
  expect(wrong.faults.length).toBe(1)
  expect(wrong.events).toEqual([])
  const right = track(state, channel('b', START_US))
  expect(right.faults).toEqual([])
  expect(right.events.map(({ name, body }) => [name, body.data.call.pbx_id, body.data.sequence])).toEqual([
    ['call_started', 'b', 1],
  ])
})
