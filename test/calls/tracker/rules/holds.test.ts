import { describe, expect, test } from 'bun:test'
import { createToE164 } from '../../../../src/calls/e164.ts'
import type { ChannelSignal, Signal } from '../../../../src/calls/signal.ts'
import { newTracker } from '../../../../src/calls/tracker/tracker.ts'
import { lineOf } from '../../../help/expected.ts'
import { countingIds, player } from '../../../help/play.ts'

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000
const at = (seconds: number, ...signals: readonly ChannelSignal[]): Signal[] =>
  signals.map((one) => ({ ...one, atUs: START_US + seconds * SECOND, arrivedUs: START_US + seconds * SECOND }))

const CALLER = { kind: 'external', number: '998712345678', name: null } as const
const PHONE = { kind: 'extension', number: '101', name: 'Anna' } as const
const channel = { kind: 'channel', linkedId: 'a', originated: false, shown: null } as const
const RINGS = at(
  0,
  { ...channel, id: 'a', endpoint: CALLER, dialledNumber: '712000000' },
  { ...channel, id: 'b', endpoint: PHONE, dialledNumber: null },
  { kind: 'dial_begin', source: 'a', dest: 'b', endpoint: PHONE, shown: null },
  { kind: 'ringing', id: 'b' },
)
const bridge = { bridge: 'x', conference: false, holding: false } as const
const TALKS = at(
  1,
  { kind: 'up', id: 'b' },
  { kind: 'dial_end', source: 'a', dest: 'b', result: 'answered', forwardedTo: null },
  { kind: 'bridged', id: 'a', ...bridge },
  { kind: 'bridged', id: 'b', ...bridge },
)
const holds = (id: string, onHold: boolean): ChannelSignal => ({ kind: 'hold', id, onHold })
const end = { code: 16, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null } as const
const ENDS = at(
  9,
  { kind: 'hangup_requested', id: 'a' },
  { kind: 'hangup', id: 'a', end },
  { kind: 'hangup', id: 'b', end },
)

function eventsOf(...signals: readonly Signal[]) {
  const state = { ...newTracker('pbx', 'default', countingIds()), toE164: createToE164('UZ') }
  const { play, rest, events } = player({ state })
  play(signals)
  rest(10 * SECOND)
  return events
}
const holdsIn = (...signals: readonly Signal[]): string[] =>
  eventsOf(...RINGS, ...TALKS, ...signals, ...ENDS)
    .filter(({ name }) => name === 'call_held' || name === 'call_resumed')
    .map(({ body }) => lineOf(body))

test('a hold that waits for an answer wants no tick until then', () => {
  const ticks: (number | null)[] = []
  const { play } = player({ onTracked: ({ tickAtUs }) => ticks.push(tickAtUs) })
  play([...RINGS, ...at(1, holds('b', true))])
  expect(ticks.at(-1)).toBeNull()
})

describe('hold and resume', () => {
  test('come with the party that pressed it, and its stage', () => {
    const events = eventsOf(...RINGS, ...TALKS, ...at(2, holds('b', true)), ...at(4, holds('b', false)), ...ENDS)
    const holdEvents = events.filter(({ body }) => 'by' in body.data)
    expect(holdEvents.map(({ body }) => body.data)).toMatchObject([
      { name: 'call_held', sequence: 3, by: { extension: '101' }, stage: { target: '101', result: null } },
      { name: 'call_resumed', sequence: 3, by: { extension: '101' }, stage: { target: '101', result: null } },
    ])
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 3, 3, 4, 5, 6])
  })

  test.each([
    ['just before its party hangs up', 8.8, ['call_held by 101', 'call_resumed by 101']],
    ['as the PBX hangs up', 8.98, ['call_held by 101']],
  ])('a resume %s', (_, seconds, lines) => {
    const events = eventsOf(...RINGS, ...TALKS, ...at(3, holds('b', true)), ...at(seconds, holds('b', false)), ...ENDS)
    expect(events.filter(({ name }) => /held|resumed/.test(name)).map(({ body }) => lineOf(body))).toEqual(lines)
    const names = events.map(({ name }) => name)
    if (lines.length > 1) expect(names.indexOf('call_resumed')).toBeLessThan(names.indexOf('dial_ended'))
  })

  test('have no stage if the caller pressed them', () => {
    const [holdEvent] = eventsOf(...RINGS, ...TALKS, ...at(2, holds('a', true)), ...ENDS).filter(
      ({ name }) => name === 'call_held',
    )
    expect(holdEvent?.body.data).toMatchObject({ by: { number: '998712345678' }, stage: null })
  })

  test.each([
    ['reported twice', at(2, holds('b', true), holds('b', true)), ['call_held by 101']],
    ['a resume without a hold', at(2, holds('b', false)), []],
    ['again and again', at(2, holds('b', true), holds('b', false), holds('b', true)), 3],
    ['a resume by which the PBX ends the call', [...at(2, holds('b', true)), ...at(9, holds('b', false))], 1],
  ])('%s', (_, signals, expected) => {
    const lines = holdsIn(...signals)
    if (typeof expected === 'number') expect(lines).toHaveLength(expected)
    else expect(lines).toEqual(expected)
  })
})

/** The channels of the call as a snapshot lists them, with whether the phone has the caller on hold. */
const listing = (seconds: number, onHold: boolean): Signal => {
  const row = { linkedId: 'a', callee: false, source: null, up: true, ringing: false, bridge: 'x', startedUs: null }
  return {
    kind: 'snapshot',
    channels: [
      { ...row, id: 'a', endpoint: CALLER, dialledNumber: '712000000' },
      { ...row, id: 'b', endpoint: PHONE, dialledNumber: null, callee: true, source: 'a', onHold },
    ],
    atUs: START_US + seconds * SECOND,
    arrivedUs: START_US + seconds * SECOND,
  }
}

describe('a hold or resume that was missed is found by snapshots', () => {
  const onHold = at(2, holds('b', true))
  test.each([
    ['a resume, by two of them', [...onHold, listing(4, false), listing(6, false)], ['call_held', 'call_resumed']],
    ['not by one: it may be older than the hold', [...onHold, listing(4, false)], ['call_held']],
    [
      'not if a later one has the hold',
      [...onHold, listing(4, false), listing(5, true), listing(7, false)],
      ['call_held'],
    ],
    [
      'not if it was pressed in between',
      [...onHold, listing(4, false), ...at(5, holds('b', true)), listing(6, false)],
      1,
    ],
    ['a hold, by two of them', [listing(4, true), listing(6, true)], ['call_held']],
  ])('%s', (_, signals, expected) => {
    const names = holdsIn(...signals).map((line) => line.split(' ')[0])
    expect(names).toEqual(typeof expected === 'number' ? ['call_held'] : expected)
  })

  test('after it another call of the phone is no consultation', () => {
    const other = at(
      8,
      { ...channel, id: 'c', linkedId: 'c', endpoint: PHONE, dialledNumber: '102' },
      { kind: 'hangup', id: 'c', end },
    )
    const parentIn = (...missed: readonly Signal[]) =>
      eventsOf(...RINGS, ...TALKS, ...onHold, ...missed, ...other, ...ENDS).find(
        ({ name, body }) => name === 'call_started' && body.data.call.from.extension === '101',
      )?.body.data.call.parent_id
    expect(parentIn()).toBeString()
    expect(parentIn(listing(4, false), listing(6, false))).toBeNull()
  })
})

describe('a call that nobody answered', () => {
  test('was missed by the extensions that were tried, directly after its end', () => {
    const events = eventsOf(...RINGS, ...ENDS)
    expect(events.map(({ name, sequence }) => [name, sequence])).toEqual([
      ['call_started', 1],
      ['dial_started', 2],
      ['dial_ended', 3],
      ['call_ended', 4],
      ['call_missed', 4],
      ['call_saved', 5],
    ])
    const [ended, missed] = events.slice(3)
    const { name: _, id: endedId, ...data } = ended?.body.data ?? { name: '', id: '' }
    expect(missed?.body.data).toMatchObject(data)
    expect(missed?.id).not.toBe(endedId)
    expect(data).toMatchObject({
      call: {
        missed: true,
        missed_by: [{ number: '101', name: 'Anna', extension: '101', e164: null, contact: null }],
        from: { number: '998712345678', e164: '+998712345678' },
        to: { number: '712000000', e164: '+998712000000' },
      },
    })
  })

  test('is not known to be missed before its end, and one that was answered was not', () => {
    const missed = eventsOf(...RINGS, ...TALKS, ...ENDS).map(({ name, body }) => [name, body.data.call.missed])
    expect(missed).toEqual([
      ['call_started', null],
      ['dial_started', null],
      ['dial_answered', null],
      ['dial_ended', null],
      ['call_ended', false],
      ['call_saved', false],
    ])
  })
})
