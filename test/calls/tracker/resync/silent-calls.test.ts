import { expect, test } from 'bun:test'
import { isAnySilent } from '../../../../src/calls/tracker/resync/missing-channels.ts'
import { player } from '../../../help/play.ts'

// The Hangup of a call never comes, while the connection stands.

const START_US = 1_795_213_000_000_000
const MINUTE = 60_000_000
const caller = { kind: 'external', number: '15551230001', name: null } as const
const at = (minutes: number) => ({ atUs: START_US + minutes * MINUTE, arrivedUs: START_US + minutes * MINUTE })
const row = {
  id: 'a',
  linkedId: 'a',
  endpoint: caller,
  dialledNumber: '100',
  callee: false,
  source: null,
  up: true,
  ringing: false,
  bridge: null,
  startedUs: START_US,
}

function begin() {
  const played = player()
  const { play, rest, events, state } = played
  /** Asks by the clock of the process, on which the signals arrive. */
  const isSilent = (minutes: number) => isAnySilent(state, state.nowUs + at(minutes - 60).arrivedUs - played.nowUs)
  play([{ ...at(0), kind: 'connected', first: true, boot: 'one' }])
  play([{ ...at(0), kind: 'snapshot', channels: [] }])
  expect(isSilent(120)).toBe(false)
  const is = { linkedId: 'a', endpoint: caller, dialledNumber: '100', originated: false, shown: null } as const
  play([{ ...at(0), kind: 'channel', id: 'a', ...is }])
  return { play, rest, events, isSilent }
}

test('after an hour it is looked for, and two lists without it end it once', () => {
  const { play, rest, events, isSilent } = begin()
  expect(isSilent(59)).toBe(false)
  expect(isSilent(61)).toBe(true)
  play([{ ...at(61), kind: 'snapshot', channels: [] }])
  expect(events.map(({ name }) => String(name))).toEqual(['call_started'])
  play([{ ...at(62), kind: 'snapshot', channels: [] }])
  rest(MINUTE)
  expect(events.map(({ name }) => String(name))).toEqual(['call_started', 'call_ended', 'call_missed', 'call_saved'])
  expect(events[1]?.body.data.call).toMatchObject({ partial: true, hangup: { cause: 'unknown', by: 'unknown' } })
  expect(isSilent(180)).toBe(false)
})

test('one that the list has goes on, and is looked for an hour later; a signal counts as well', () => {
  const { play, events, isSilent } = begin()
  play([{ ...at(61), kind: 'snapshot', channels: [row] }])
  expect([isSilent(62), isSilent(120), isSilent(122)]).toEqual([false, false, true])
  play([{ ...at(100), kind: 'up', id: 'a' }])
  expect([isSilent(122), isSilent(161)]).toEqual([false, true])
  expect(events.map(({ name }) => String(name))).toEqual(['call_started'])
})
