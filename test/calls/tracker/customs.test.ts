import { expect, test } from 'bun:test'
import type { Signal } from '../../../src/calls/signal.ts'
import { newTracker, track } from '../../../src/calls/tracker/tracker.ts'

const SURVEY = { name: 'Survey', fields: { digit: '5' } }
const caller = { kind: 'external' as const, number: '15551230001', name: null }
const phone = { kind: 'extension' as const, number: '101', name: null }

/** Plays signals a tenth of a second apart. Returns the name, sequence and custom event of each event. */
function play(...signals: readonly object[]) {
  let made = 0
  const state = newTracker('office', 'default', () => {
    made += 1
    return `id ${String(made).padStart(4, '0')}`
  })
  return signals.flatMap((signal, at) => {
    const atUs = (at + 1) * 100_000
    return track(state, { ...signal, atUs, arrivedUs: atUs } as Signal).events.map(({ name, sequence, body }) =>
      'custom' in body.data ? [name, sequence, body.data.call.from.number, body.data.custom] : [name, sequence],
    )
  })
}

const began = [
  {
    kind: 'channel',
    id: 'a',
    linkedId: 'a',
    endpoint: caller,
    dialledNumber: '15550100106',
    originated: false,
    shown: null,
  },
]
const rings = [
  { kind: 'channel', id: 'b', linkedId: 'a', endpoint: phone, dialledNumber: null, originated: false, shown: null },
  { kind: 'dial_begin', source: 'a', dest: 'b', endpoint: phone, shown: null },
  { kind: 'ringing', id: 'b' },
]
const said = { kind: 'custom', id: 'a', custom: SURVEY }

test('what the dialplan says comes after the start of its call, and repeats the number before it', () => {
  const events = play(...began, said, ...rings, { kind: 'tick' }, said)
  expect(events).toEqual([
    ['call_started', 1],
    ['custom', 1, '15551230001', SURVEY],
    ['dial_started', 2],
    ['custom', 2, '15551230001', SURVEY],
  ])
})

test('what is said in a channel that is unknown, or in none, is no event of a call', () => {
  expect(play(...began, { ...said, id: 'unknown' }, { kind: 'custom_without_call', custom: SURVEY })).toEqual([
    ['call_started', 1],
  ])
})
