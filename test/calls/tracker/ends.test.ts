import { expect, test } from 'bun:test'
import { newEvent } from '../../../src/calls/api/event-records.ts'
import type { Signal, SnapshotChannel } from '../../../src/calls/signal.ts'
import { isAnyMissing } from '../../../src/calls/tracker/resync/missing-channels.ts'
import { liveCallText, readLiveCall, takeOverLiveCalls } from '../../../src/calls/tracker/resync/takeover.ts'
import { takeChanges } from '../../../src/calls/tracker/tracker.ts'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { signedPath } from '../../../src/recordings/link-signature.ts'
import { createLedger, leftover } from '../../help/ledger.ts'
import { player } from '../../help/play.ts'

// Calls end exactly once, whichever events were missed, and for the account that got their start.

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000

const outside = (number: string) => ({ kind: 'external', number, name: null }) as const
const phone = (number: string) => ({ kind: 'extension', number, name: null }) as const
const END = { code: 16, result: 'no_answer', withdrawn: true, mayTransfer: false, forwardedTo: null } as const

type WithoutTime<Timed> = Timed extends Signal ? Omit<Timed, 'atUs' | 'arrivedUs'> : never
type Any = WithoutTime<Signal>
const at = (seconds: number, ...signals: Any[]): Signal[] =>
  signals.map((signal) => ({ atUs: START_US + seconds * SECOND, arrivedUs: START_US + seconds * SECOND, ...signal }))

const comes = (id: string, endpoint: ReturnType<typeof outside> | ReturnType<typeof phone>, dialled: string): Any => ({
  kind: 'channel',
  id,
  linkedId: id,
  endpoint,
  dialledNumber: dialled,
  originated: false,
  shown: null,
})
const rings = (source: string, dest: string, number: string): Any[] => [
  { kind: 'dial_begin', source, dest, endpoint: phone(number), shown: null },
  { kind: 'ringing', id: dest },
]
const answers = (source: string, dest: string, bridge: string): Any[] => [
  { kind: 'up', id: dest },
  { kind: 'dial_end', source, dest, result: 'answered', forwardedTo: null },
  { kind: 'bridged', id: dest, bridge, conference: false, holding: false },
  { kind: 'bridged', id: source, bridge, conference: false, holding: false },
]
const hangsUp = (...ids: string[]): Any[] => ids.map((id) => ({ kind: 'hangup', id, end: END }))
const listed = (id: string, number: string, bridge: string): SnapshotChannel => ({
  id,
  linkedId: 'a',
  endpoint: phone(number),
  dialledNumber: null,
  callee: id !== 'a',
  source: id === 'a' ? null : 'a',
  up: true,
  ringing: false,
  bridge,
  startedUs: null,
})

const TALK = [
  ...at(0, { kind: 'connected', first: true, boot: 'one' }, comes('a', outside('15551230001'), '15550100101')),
  ...at(1, ...rings('a', 'b', '101')),
  ...at(2, ...answers('a', 'b', 'bridge')),
]

/** Returns the emitted names of each call in order, and its last body. */
function checked(events: readonly CallEvent[], exceptions: readonly string[] = []) {
  const ledger = createLedger(exceptions)
  ledger.take(events)
  ledger.finish()
  const last = (name: string) => events.findLast((event) => event.name === name)?.body.data
  return { names: events.map(({ name }) => name), ended: last('call_ended')?.call, last }
}

test('a leg that is in the first list after a reconnect and not in the second is asked about again, and closed', () => {
  const { play, rest, events, state } = player()
  play(TALK)
  play(at(10, { kind: 'disconnected' }, { kind: 'connected', first: false, boot: 'one' }))
  play(at(11, { kind: 'snapshot', channels: [listed('a', '15551230001', 'x'), listed('b', '101', 'x')] }))
  expect(isAnyMissing(state)).toBe(false)
  play(at(13, { kind: 'snapshot', channels: [] }))
  expect(isAnyMissing(state)).toBe(true)
  play(at(18, { kind: 'snapshot', channels: [] }))
  expect(isAnyMissing(state)).toBe(false)
  rest(5 * SECOND)
  expect(checked(events).ended).toMatchObject({ partial: true, hangup: { cause: 'unknown' } })
  expect(leftover(state)).toBeUndefined()
})

test('a restart of the PBX ends the calls of its earlier run, without any list', () => {
  const { play, rest, events, state } = player()
  play(TALK)
  play(at(10, { kind: 'disconnected' }, { kind: 'connected', first: false, boot: 'two' }))
  rest(5 * SECOND)
  expect(checked(events).ended).toMatchObject({ partial: true, hangup: { cause: 'pbx_restart', by: 'unknown' } })
  expect(leftover(state)).toBeUndefined()
})

test('an end that is missed later on the same connection is not the restart', () => {
  const { play, rest, events } = player()
  play(at(0, { kind: 'connected', first: true, boot: 'one' }, { kind: 'connected', first: false, boot: 'two' }))
  play(TALK.slice(1))
  play(at(10, { kind: 'snapshot', channels: [] }))
  play(at(12, { kind: 'snapshot', channels: [] }))
  rest(5 * SECOND)
  expect(checked(events).ended).toMatchObject({ hangup: { cause: 'unknown' } })
})

test.each([
  ['busy', 17, 'busy'],
  ['rejected', 21, 'rejected'],
  ['congestion', 34, 'congestion'],
  ['no_answer', 16, 'normal'],
] as const)('a dialplan that refuses a call as %s (%d) ends it with the cause %s', (result, code, cause) => {
  const { play, rest, events } = player()
  play(at(0, { kind: 'connected', first: true, boot: 'one' }, comes('a', outside('15551230001'), '15550100101')))
  play(at(1, { kind: 'hangup', id: 'a', end: { ...END, code, result } }))
  rest(5 * SECOND)
  expect(checked(events).ended).toMatchObject({ result: 'failed', hangup: { cause, code, by: 'system' } })
})

test('an end whose channel did not come in time ends nothing that a list shows later', () => {
  const { play, events } = player()
  play(at(0, ...hangsUp('a')))
  play(at(4, { kind: 'snapshot', channels: [listed('a', '101', 'x')] }))
  expect(events).toEqual([])
  play(at(6, { kind: 'snapshot', channels: [listed('a', '101', 'x')] }))
  expect(events.map(({ name }) => name)).toEqual(['call_started'])
})

const SENT_ON = [
  ...TALK,
  ...at(20, { kind: 'blind_transfer', transferer: 'b', transferee: 'a', to: '102' }, ...hangsUp('b')),
  ...at(20, ...rings('a', 'c', '102')),
  ...at(21, ...answers('a', 'c', 'other')),
]
const owners = (events: readonly CallEvent[]) => checked(events).ended?.handled_by.map(({ extension }) => extension)

test('who talked when Hookswitch was stopped owns a call that ended meanwhile', () => {
  const before = player()
  before.play(SENT_ON)
  const { play, rest, state, events } = player()
  takeOverLiveCalls(state, takeChanges(before.state).changed)
  play(at(30, { kind: 'connected', first: true, boot: 'one' }, { kind: 'snapshot', channels: [] }))
  rest(5 * SECOND)
  expect(owners([...before.events, ...events])).toEqual(['101', '102'])
})

test('a listed call did not begin after the list, whatever the clock of the PBX says', () => {
  const { play, rest, events } = player()
  const row = { ...listed('a', '101', 'x'), startedUs: START_US + 60 * SECOND, callee: false, source: null }
  play(at(0, { kind: 'connected', first: true, boot: null }, { kind: 'snapshot', channels: [row] }))
  play(at(2, ...hangsUp('a')))
  rest(5 * SECOND)
  const { ended } = checked(events)
  expect(ended?.started_at).toBe('2026-11-20T22:16:40.000000Z')
  expect(ended?.duration).toBe(2)
})

test('two calls that are bridged by command: the one that was left ends, and states where it went on', () => {
  const { play, rest, events, state } = player()
  play(TALK)
  play(at(3, comes('c', outside('15551230002'), '15550100102'), ...rings('c', 'd', '102')))
  play(at(4, ...answers('c', 'd', 'other bridge')))
  play(at(5, { kind: 'bridged', id: 'd', bridge: 'bridge', conference: false, holding: false }))
  play(at(5, { kind: 'linked', id: 'd', linkedId: 'a' }, ...hangsUp('b', 'c')))
  play(at(9, ...hangsUp('a', 'd')))
  rest(5 * SECOND)
  const { last } = checked(events)
  const [first = '', second = ''] = new Set(events.map(({ callId }) => callId))
  const ends = events.filter(({ name }) => name === 'call_ended').map(({ body }) => body.data.call)
  expect(ends.map(({ id, result, merged_into, merged_from }) => [id, result, merged_into, merged_from])).toEqual([
    [second, 'answered', first, []],
    [first, 'answered', null, [second]],
  ])
  expect(ends[0]?.hangup).toEqual({ cause: 'normal', code: null, by: 'system' })
  expect(last('call_saved')?.call.id).toBe(first)
  expect(leftover(state)).toBeUndefined()
})

test('a phone that a list shows in a conference with its caller has answered the call', () => {
  const { play, rest, events } = player()
  const inRoom = (id: string, number: string) => ({
    ...listed(id, number, 'room'),
    activity: { kind: 'conference', conference: '3000' } as const,
  })
  play(at(0, { kind: 'connected', first: true, boot: 'one' }, comes('a', outside('15551230001'), '15550100101')))
  play(at(1, ...rings('a', 'b', '101')))
  play(at(2, { kind: 'disconnected' }))
  const channels = [{ ...inRoom('a', '15551230001'), endpoint: outside('15551230001') }, inRoom('b', '101')]
  play(at(5, { kind: 'connected', first: false, boot: 'one' }, { kind: 'snapshot', channels }))
  play(at(9, ...hangsUp('a', 'b')))
  rest(5 * SECOND)
  const { last } = checked(events)
  expect(last('call_ended')?.call).toMatchObject({ result: 'answered', answered_by: { extension: '101' } })
})

test('a call of another account is never made one with ours', () => {
  const { play, rest, events, state } = player()
  play(TALK)
  for (const call of state.calls.values()) call.account = 'before'
  play(at(3, comes('c', phone('102'), '*8')))
  play(at(20, { kind: 'linked', id: 'c', linkedId: 'a' }))
  play(at(25, ...hangsUp('a', 'b', 'c')))
  rest(5 * SECOND)
  checked(events)
  const ends = events.filter(({ name }) => name === 'call_ended').map(({ body }) => body.data)
  expect(ends.map(({ account, call }) => [account, call.merged_into, call.merged_from])).toEqual([
    ['before', null, []],
    ['default', null, []],
  ])
})

test.each([
  ['talks to an agent', (): Any[] => [...answers('a', 'b', 'bridge')]],
  ['waits for an agent who rings', (): Any[] => []],
])('a caller who left a queue and %s needs no further checks until the next signal', (_, signals) => {
  const ticks: Signal[] = []
  const { play, rest, events } = player({
    onTracked: (_tracked, signal) => void (signal.kind === 'tick' && ticks.push(signal)),
  })
  play(at(0, comes('a', outside('15551230001'), '15550100104'), { kind: 'up', id: 'a' }))
  play(at(0, { kind: 'queue_joined', id: 'a', queue: 'all', position: 1 }, ...rings('a', 'b', '101')))
  play(at(5, ...signals(), { kind: 'queue_left', id: 'a', queue: 'all', result: null, final: false }))
  rest(3_600 * SECOND)
  expect(ticks.length).toBeLessThan(20)
  play(at(3_700, { kind: 'hangup_requested', id: 'a' }, ...hangsUp('a', 'b')))
  rest(5 * SECOND)
  // The member that the queue was left for ends with the call, after the queue.
  const { last } = checked(events, ['members are within their group or queue'])
  expect(last('call_ended')?.name).toBe('call_ended')
})

test('a caller who waits for an hour while twenty are rung again and again: a body of 256 KB at most', () => {
  const { play, rest, events, state } = player()
  const members = Array.from({ length: 20 }, (_, index) => String(101 + index))
  play(at(0, comes('a', outside('15551230001'), '15550100104'), { kind: 'up', id: 'a' }))
  play(at(0, { kind: 'queue_joined', id: 'a', queue: 'all', position: 1 }))
  let stored = 0
  for (let round = 0; round < 180; round++) {
    const legs = members.map((number) => ({ number, id: `${number} in ${round}` }))
    play(at(round * 20, ...legs.flatMap(({ id, number }) => rings('a', id, number))))
    const over: Any[] = legs.map(({ id }) => ({
      kind: 'dial_end',
      source: 'a',
      dest: id,
      result: 'no_answer',
      forwardedTo: null,
    }))
    play(at(round * 20 + 15, ...over, ...hangsUp(...legs.map(({ id }) => id))))
    for (const one of takeChanges(state).changed) stored = Math.max(stored, liveCallText(one).length)
  }
  play(at(3_601, { kind: 'hangup_requested', id: 'a' }, ...hangsUp('a')))
  rest(5 * SECOND)
  // Each ringing is a stage of its own id today.
  const { last } = checked(events)
  const ended = last('call_ended')
  if (ended?.name !== 'call_ended') throw new Error('no call_ended')
  const users = ended.stages.filter(({ kind }) => kind === 'user')
  expect(users.map(({ target, attempt, result }) => [target, attempt, result])).toEqual(
    members.map((number) => [number, 180, 'no_answer']),
  )
  expect(ended.call.stages_omitted).toBe(0)
  expect(events.filter(({ name }) => name === 'dial_ended').length).toBe(20 * 180 + 1)
  expect(Math.max(...events.map(({ body }) => Buffer.byteLength(JSON.stringify(body))))).toBeLessThan(256 * 1024)
  expect(stored).toBeLessThan(256 * 1024)
})

test('a dialplan that tries numbers without end: the oldest that did not answer are left out, and counted', () => {
  const { play, rest, events } = player()
  play(at(0, comes('a', outside('15551230001'), '15550100104')))
  const tries = 1_500
  for (let index = 0; index < tries; index++) {
    const id = `leg ${index}`
    play(at(index, ...rings('a', id, String(1_000 + index))))
    if (index === 5) {
      play(at(index, ...answers('a', id, 'bridge'), ...hangsUp(id)))
      continue
    }
    const over: Any = { kind: 'dial_end', source: 'a', dest: id, result: 'no_answer', forwardedTo: null }
    play(at(index + 0.5, over, ...hangsUp(id)))
  }
  play(at(tries, ...hangsUp('a')))
  rest(5 * SECOND)
  const { last } = checked(events)
  for (const name of ['call_ended', 'call_saved']) {
    const data = last(name)
    if (data?.name !== 'call_ended' && data?.name !== 'call_saved') throw new Error(`no ${name}`)
    expect(Buffer.byteLength(JSON.stringify({ time: '2026-11-20T22:16:40.000000Z', data }))).toBeLessThan(256 * 1024)
    expect(data.stages.length).toBeGreaterThan(400)
    expect(data.call.stages_omitted).toBe(tries - data.stages.length)
    expect(data.stages[0]?.result).toBe('answered')
    expect(data.stages.at(-1)?.target).toBe(String(1_000 + tries - 1))
  }
})

test('a body with a hundred recordings and more stages than fit has at most 256 KB with its links', () => {
  const { play, rest, events } = player()
  play(at(0, comes('a', outside('15551230001'), '15550100104')))
  for (let index = 0; index < 100; index++) {
    const path = `/var/spool/asterisk/monitor/2026/11/20/external-101-15551230001-${index}.wav`
    play(at(index, { kind: 'recording_started', id: 'a', path }))
    play(at(index + 0.5, { kind: 'recording_stopped', id: 'a', path, durationMs: 500, kept: true }))
  }
  for (let index = 0; index < 800; index++) {
    const over: Any = { kind: 'dial_end', source: 'a', dest: `leg ${index}`, result: 'no_answer', forwardedTo: null }
    play(at(100 + index, ...rings('a', `leg ${index}`, String(1_000 + index))))
    play(at(100 + index + 0.5, over, ...hangsUp(`leg ${index}`)))
  }
  play(at(1_700, ...hangsUp('a')))
  rest(5 * SECOND)
  const saved = events.find(({ name }) => name === 'call_saved')
  if (saved?.body.data.name !== 'call_saved') throw new Error('no call_saved')
  // The longest that there can be: the setting has at most 300 characters.
  const link = signedPath(
    'key',
    { callId: saved.callId, recordingId: saved.body.data.recordings[0]?.id ?? '' },
    9_999_999_999,
  )
  const { body } = newEvent(saved, () => 'x'.repeat(300) + link)
  expect(saved.body.data.recordings).toHaveLength(100)
  expect(saved.body.data.stages.length).toBeGreaterThan(400)
  expect(Buffer.byteLength(body)).toBeGreaterThan(Buffer.byteLength(JSON.stringify(saved.body)) + 100 * 300)
  expect(Buffer.byteLength(body)).toBeLessThan(256 * 1024)
})

test.each([
  ['as long as a path may be', (index: number) => `/${index}/${'p'.repeat(4_000)}.wav`, 16],
  ['of characters that take six each', (index: number) => `/${index}/${'\u0001'.repeat(1_000)}.wav`, 10],
  ['that no system opens', (index: number) => `/${index}/${'p'.repeat(1_000_000)}.wav`, 0],
])('a hundred recordings with paths %s: a body of 256 KB at most, and no recording is missing', (_, pathOf, known) => {
  const { play, rest, events } = player()
  play(at(0, comes('a', outside('15551230001'), '15550100104')))
  for (let index = 0; index < 100; index++) {
    play(at(index, { kind: 'recording_started', id: 'a', path: pathOf(index) }))
    play(at(index + 0.5, { kind: 'recording_stopped', id: 'a', path: pathOf(index), durationMs: 500, kept: true }))
  }
  play(at(200, ...hangsUp('a')))
  rest(60 * SECOND)
  const saved = events.find(({ name }) => name === 'call_saved')
  if (saved?.body.data.name !== 'call_saved') throw new Error('no call_saved')
  const { body } = newEvent(saved, () => 'x'.repeat(500))
  expect(Buffer.byteLength(body)).toBeLessThan(256 * 1024)
  const { recordings } = saved.body.data
  expect(recordings).toHaveLength(100)
  expect(recordings.flatMap(({ path }, index) => (path === null ? [] : [path === pathOf(index)]))).toEqual(
    Array.from({ length: known }, () => true),
  )
})

test('a live call that was stored by an earlier version is read back', () => {
  const before = player()
  before.play(TALK)
  const stored = takeChanges(before.state).changed.map((one) => JSON.parse(JSON.stringify(one)))
  for (const { call } of stored) for (const key of ['account', 'mergedInto', 'stagesOmitted']) delete call[key]
  const { play, rest, events, state } = player()
  takeOverLiveCalls(
    state,
    stored.map((one) => readLiveCall(JSON.stringify(one))),
  )
  play(at(5, ...hangsUp('a', 'b')))
  rest(5 * SECOND)
  const ended = events.find(({ name }) => name === 'call_ended')?.body.data
  expect([ended?.account, ended?.call.merged_into, ended?.call.stages_omitted]).toEqual(['default', null, 0])
  expect(leftover(state)).toBeUndefined()
})
