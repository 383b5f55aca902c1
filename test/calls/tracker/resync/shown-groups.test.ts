import { expect, test } from 'bun:test'
import type { ChannelSignal, SnapshotChannel } from '../../../../src/calls/signal.ts'
import { player } from '../../../help/play.ts'

// The PBX shows that a caller's extension rings a group; the connection is lost while it rings.

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000

const caller = { kind: 'extension', number: '104', name: null } as const
const listed: SnapshotChannel = {
  id: 'A',
  linkedId: 'A',
  endpoint: caller,
  dialledNumber: '610',
  callee: false,
  source: null,
  up: true,
  ringing: false,
  bridge: null,
  startedUs: START_US,
}

/** Plays a group that rings 101 and 102 until the connection is lost, and makes it again at 5 s. */
function lostWhileRinging() {
  const { play, rest, events } = player()
  const at = (seconds: number) => ({ atUs: START_US + seconds * SECOND, arrivedUs: START_US + seconds * SECOND })
  const say = (seconds: number, ...signals: ChannelSignal[]) =>
    play(signals.map((signal) => ({ ...signal, ...at(seconds) })))
  const phone = (number: string): ChannelSignal[] => [
    {
      kind: 'dial_begin',
      source: 'A',
      dest: number,
      endpoint: { kind: 'extension', number, name: null },
      shown: '104',
      place: '610',
    },
    { kind: 'ringing', id: number },
  ]
  play([{ kind: 'connected', first: true, boot: 'one', ...at(0) }])
  say(0, {
    kind: 'channel',
    id: 'A',
    linkedId: 'A',
    endpoint: caller,
    dialledNumber: '610',
    originated: false,
    shown: null,
  })
  say(0, { kind: 'group', id: 'A', place: '610' }, ...phone('101'), ...phone('102'))
  play([{ kind: 'disconnected', ...at(2) }])
  play([{ kind: 'connected', first: false, boot: 'one', ...at(5) }])
  return { play, rest, events, at }
}

test.each([
  ['it rings no more', true, ['dial_ended', 'dial_ended', 'dial_ended']],
  ['it may go on to other members', false, ['dial_ended', 'dial_ended']],
])('its caller is still there and %s: the group is over, or not', (_, rungAll, expected) => {
  const { play, rest, events, at } = lostWhileRinging()
  const channels = [{ ...listed, ...(rungAll ? { rungAll } : {}) }]
  for (const seconds of [5, 7]) play([{ kind: 'snapshot', channels, ...at(seconds) }])
  rest(SECOND)
  const ended = events.filter(({ name }) => name === 'dial_ended' || name === 'call_ended')
  expect(ended.map(({ name }) => String(name))).toEqual(expected)
})

test('a party was found to have picked it up: the group is answered and over, and this party is no member (rule 2)', () => {
  const { play, rest, events, at } = lostWhileRinging()
  const picker: SnapshotChannel = {
    ...listed,
    id: 'B',
    endpoint: { kind: 'extension', number: '103', name: null },
    dialledNumber: '*8',
    bridge: 'one',
  }
  for (const seconds of [5, 7])
    play([{ kind: 'snapshot', channels: [{ ...listed, bridge: 'one' }, picker], ...at(seconds) }])
  rest(SECOND)
  const told = events.flatMap(({ name, body: { data } }) =>
    'stage' in data && data.stage !== null && name !== 'dial_started'
      ? `${name} ${data.stage.target} ${data.stage.result} in ${data.stage.parent_id === null ? 'none' : 'a group'}`
      : [],
  )
  expect(told.toSorted()).toEqual([
    'dial_answered 103 null in none',
    'dial_ended 101 other in a group',
    'dial_ended 102 other in a group',
    'dial_ended 610 answered in none',
  ])
})
